"""Which of a project's workflows an event looks at, however many there are."""

from __future__ import annotations

import hashlib
import heapq
import marshal
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.files import cache, file_memo
from holdfast.formats.skills import file as files
from holdfast.formats.skills import index, places
from holdfast.workflow import manyfiles, statefile

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from holdfast.workflow.records import Records

MOST = 16
"""Last changed workflows that an event reads, besides those that are wanted."""
_FORMAT = 1


def names(project: Records, keys: Collection[str]) -> tuple[list[str], int]:
    """Return the names of the files to read, the wanted ones first, and how many others there are.

    Args:
        project: the project.
        keys: keys of wanted workflows, or their beginning up to the `#`.

    Raises:
        StateError: the folder can't be read, or lies behind a link.
    """
    paths = [key.removeprefix(f"{files.NAME}:").rpartition("#")[0] for key in keys if key.startswith(f"{files.NAME}:")]
    inside = [path for path in paths if path.startswith(f"{places.TOP}/active/") and path.endswith(".json")]
    wanted = [path.rpartition("/")[2].removesuffix(".json") for path in inside]
    lately, count = _lately(project)
    chosen = list(dict.fromkeys([*wanted, *lately]))
    there = [name for name in chosen if os.path.lexists(places.active(project) / f"{name}.json")]
    return there, max(count - len(there), 0)


def newest(project: Records, names: Sequence[str], most: int) -> list[str]:
    """Return those of the unfinished workflows' files that were changed last, the newest first."""
    folder = str(places.active(project))
    return heapq.nlargest(most, names, key=lambda name: _changed(folder, name))


def _lately(project: Records) -> tuple[list[str], int]:
    """Return the last changed workflows, and how many there are.

    Both are kept until a file of the folder is made, replaced or removed, as every program does that saves a state. An
    edit in place is therefore noticed for the workflows that are wanted, and for those that were among the last.
    """
    top = places.active(project)
    statefile.guard(project.root, top)
    try:
        seen = file_memo.stamp(top.stat())
    except OSError:
        return index.names(project), 0
    kept = _kept(top, seen)
    if kept is not None:
        return kept
    there = index.names(project)
    found = there
    if len(there) > MOST:
        folder = str(top)
        changed, _ = manyfiles.newest(top, dict.fromkeys(there, 0), lambda name: _changed(folder, name))
        found = heapq.nlargest(MOST, changed, key=changed.__getitem__)
        if file_memo.settled(seen):
            cache.write(_memo(top), marshal.dumps((_FORMAT, os.fsencode(top), seen, found, len(there))))
    return found, len(there)


def _kept(top: Path, seen: file_memo.Stamp) -> tuple[list[str], int] | None:
    """Return what was found in a folder when it had this stamp; None if nothing was kept."""
    body = cache.read(_memo(top))
    try:
        form, place, stamp, found, count = marshal.loads(body) if body else (None, b"", (), [], 0)
    except (ValueError, EOFError, TypeError):
        return None
    return (found, count) if (form, place, tuple(stamp)) == (_FORMAT, os.fsencode(top), seen) else None


def _memo(top: Path) -> Path:
    return cache.folder() / f"{hashlib.sha256(os.fsencode(top)).hexdigest()[:32]}.skills"


def _changed(folder: str, name: str) -> int:
    with suppress(OSError):
        return os.stat(f"{folder}/{name}.json").st_mtime_ns  # noqa: PTH116 - of each of many; a Path takes twice as long
    return 0
