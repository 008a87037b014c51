"""Choose which state files of the `compaction` format an event reads if there are many."""

from __future__ import annotations

import heapq
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.workflow import manyfiles, names, statefile

if TYPE_CHECKING:
    from collections.abc import Collection

MOST = 16  # last changed files that an event reads; older ones are read only by commands
SEARCHED = 512  # last changed files that are searched for a given workflow if it isn't among those


class _Listed(NamedTuple):
    """A state file: when it was last changed (nanoseconds since 1970), its name and its path."""

    changed: int
    name: str
    path: str


def places(top: Path, wanted: Collection[Path] = (), folder: str = "", *, most: int = 0) -> tuple[list[Path], int]:
    """Return the wanted state files, then the last changed ones, with the number of all others.

    The first file is always among them, the others as far as `statefile.BUDGET_BYTES` goes.

    Args:
        top: the folder of all state files; it need not exist.
        wanted: files that count however old they are.
        folder: the name of a folder whose last changed files count however old they are.
        most: how many last changed files to return, instead of `MOST`.

    Returns:
        The files and the number.
    """
    found, total = _look(top)
    near = {str(path): None for path in wanted if path.parent.parent == top and path.exists()}
    if folder:
        near |= {each.path: None for each in heapq.nlargest(SEARCHED, _listed(top, folder))}
    near |= {each.path: None for each in heapq.nlargest(most or MOST, found)}
    room = statefile.Room()
    chosen = [Path(path) for path in near if room.take([_size(path)])]
    return chosen, max(total - len(chosen), 0)


def _size(path: str) -> int:
    with suppress(OSError):
        return os.stat(path).st_size  # noqa: PTH116 - called for many files per event
    return 0


def _look(top: Path) -> tuple[list[_Listed], int]:
    """Return the state files in the folders of `top`, with the number of all state files.

    Once the search is out of time, no more folders are looked into, and each of the others counts as one file.
    """
    folders = {entry.name: entry.inode() for entry in _inside(str(top))}
    found: list[_Listed] = []

    def changed(folder: str) -> int:
        inner = _listed(top, folder)
        found.extend(inner)
        return max((each.changed for each in inner), default=0)

    _, left = manyfiles.newest(folders, changed)
    return found, len(found) + left


def _listed(top: Path, folder: str) -> list[_Listed]:
    """Return the state files in a folder, as far as there is time. A file whose time can't be read counts as oldest."""
    inner = (each for each in _inside(f"{top}/{folder}") if each.name.startswith("state-"))
    entries = {each.name: each for each in inner if each.name.endswith(".json") and not names.is_copy(each.name)}

    def changed(name: str) -> int:
        with suppress(OSError):
            return entries[name].stat().st_mtime_ns
        return 0

    inodes = {name: each.inode() for name, each in entries.items()}
    found, _ = manyfiles.newest(inodes, changed)
    return [_Listed(moment, name, entries[name].path) for name, moment in found.items()]


def _inside(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
