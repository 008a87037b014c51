"""The folder of unfinished workflows: the names of its files, and which of very many a command reads."""

from __future__ import annotations

import heapq
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import StateError
from holdfast.formats.skills import places
from holdfast.workflow import names as file_names
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from holdfast.workflow.records import Records

MOST = 5_000
"""State files that a command reads; 100,000 take a minute and a half."""
CLEANUP = "holdfast skills cleanup"


def names(project: Records) -> list[str]:
    """Return the names of all files without their ending, in alphabetical order.

    Raises StateError if the folder can't be read.
    """
    return sorted(inodes(project))


def inodes(project: Records) -> dict[str, int]:
    """Return the inode of each file by its name without the ending. Raises as `names` does."""
    folder = places.active(project)
    statefile.guard(project.root, folder)
    try:
        with os.scandir(folder) as found:
            files = (each for each in found if each.name.endswith(".json") and not file_names.is_copy(each.name))
            return {each.name.removesuffix(".json"): each.inode() for each in files}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise StateError(folder, f"cannot be read: {error.strerror or error}") from error


def readable(project: Records) -> tuple[list[str], int]:
    """Return the names of the files that a command reads, and how many others there are.

    It reads all of them, or the last changed of very many. Raises as `names` does.
    """
    there = names(project)
    if len(there) <= MOST:
        return there, 0
    top = str(places.active(project))
    return heapq.nlargest(MOST, there, key=lambda name: changed(top, name)), len(there) - MOST


def left_out(total: int, left: int) -> str:
    """Say that only some of very many files were read."""
    return f"{total} state files are too many; {left} were not read"


def changed(folder: str, name: str) -> int:
    """Return when a file of a folder was changed last, in nanoseconds since 1970; 0 if that can't be seen."""
    with suppress(OSError):
        return os.stat(f"{folder}/{name}.json").st_mtime_ns  # noqa: PTH116 - of each of many; a Path takes twice as long
    return 0
