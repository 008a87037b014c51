"""Which of a project's workflows an event looks at, however many there are."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import marshal
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.files import cache, file_memo
from holdfast.formats.skills import file as files
from holdfast.formats.skills import folder, places
from holdfast.workflow import manyfiles, statefile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from holdfast.workflow.records import Records

MOST = 16
"""Last changed workflows that an event reads, besides those that are wanted."""
_LOOKED = 1_024
"""Files that an event looks at after a change in a known folder, besides those that are new or replaced."""
_LAST = 64
"""Last changed files that are always among them."""
_TRUSTED_S = 600.0
"""Seconds for which a list of the last changed is used whose folder was only changed by Holdfast since."""
_FORMAT = 2


def names(project: Records, keys: Collection[str]) -> tuple[list[str], int]:
    """Return the names of the files to read, the wanted ones first, and how many others there are.

    Args:
        project: the project.
        keys: keys of wanted workflows, or their beginning up to the `#`.

    Raises:
        StateError: the folder can't be read, or lies behind a link.
    """
    lately, count = _lately(project)
    there = list(dict.fromkeys([*wanted(project, keys), *_there(project, lately)]))
    return there, max(count - len(there), 0)


def wanted(project: Records, keys: Collection[str]) -> list[str]:
    """Return the names of the files that there are of workflows with some keys; see `names`."""
    paths = [key.removeprefix(f"{files.NAME}:").rpartition("#")[0] for key in keys if key.startswith(f"{files.NAME}:")]
    inside = [path for path in paths if path.startswith(f"{places.TOP}/active/") and path.endswith(".json")]
    return _there(project, [path.rpartition("/")[2].removesuffix(".json") for path in inside])


def _there(project: Records, names: list[str]) -> list[str]:
    top = places.active(project)
    return [name for name in names if os.path.lexists(f"{top}/{name}.json")]


@contextmanager
def replacing(project: Records, path: Path) -> Iterator[None]:
    """Replace a workflow's file in the block, and keep what is known of the folder true: the next event lists nothing.

    Hold the lock on the top folder. If another program makes or removes a file during the block, an event may notice
    that up to `_TRUSTED_S` seconds later.
    """
    top = places.active(project)
    before = _stamp(top)
    yield
    after = _stamp(top)
    if before is None or after is None or after == before or not (known := _kept(top, "skills", before)):
        return
    names, count, since = known
    if path.exists():
        names = [path.stem, *(name for name in names if name != path.stem)][:MOST]
        _keep(top, "skills", after, names, count, since or time.time())


def _lately(project: Records) -> tuple[list[str], int]:
    """Return the last changed workflows, and how many there are.

    Both are kept until another program makes, replaces or removes a file of the folder, as all do that save a state. An
    edit in place is therefore noticed for the workflows that are wanted, and for those that were among the last.
    Holdfast's own writes are followed (`replacing`).

    After a change, of more than `_LOOKED` files only those are looked at that were the last, those that are new or
    replaced, and so many others. A replaced file has another inode, unless it was replaced twice between two looks and
    got its first one back; then it is found as one of the others, some changes later.
    """
    top = places.active(project)
    statefile.guard(project.root, top)
    seen = _stamp(top)
    if seen is None:
        return folder.names(project), 0
    if known := _kept(top, "skills", seen):
        newest, count, since = known
        if not since or 0 <= time.time() - since < _TRUSTED_S:
            return newest, count
    there = folder.inodes(project)
    if len(there) <= MOST:
        return sorted(there), len(there)
    changed = _changed_lately(top, there, seen)
    found = heapq.nlargest(MOST, changed, key=changed.__getitem__)
    if file_memo.settled(seen) and not manyfiles.out_of_time():
        _keep(top, "skills", seen, found, len(there), 0.0)
    return found, len(there)


def _changed_lately(top: Path, there: dict[str, int], seen: file_memo.Stamp) -> dict[str, int]:
    """Return when files of a folder that has changed were changed last, among them the `MOST` last changed.

    Args:
        top: the folder.
        there: the inode of each file by its name.
        seen: the folder's stamp.
    """
    where, many = str(top), len(there) > _LOOKED
    if many and (known := _kept(top, "inodes")):
        last, oldest, inodes = known
        replaced = [name for name, inode in there.items() if inodes.get(name) != inode]
        begin = seen[2] % len(there)
        others = itertools.islice(itertools.cycle(there), begin, begin + _LOOKED)
        chosen = dict.fromkeys([*(name for name in last if name in there), *replaced, *others])
        looked = ((name, folder.changed(where, name)) for name in chosen)
        changed = {name: at for name, at in looked if at >= oldest}  # an older one may have younger ones beside it
        if len(changed) >= MOST:
            if file_memo.settled(seen) or len(replaced) > _LOOKED:
                _keep(top, "inodes", heapq.nlargest(_LAST, changed, key=changed.__getitem__), oldest, there)
            return changed
    changed, left = manyfiles.newest(there, lambda name: folder.changed(where, name))
    if many and not left:
        last = heapq.nlargest(_LAST, changed, key=changed.__getitem__)
        _keep(top, "inodes", last, changed[last[-1]], there)
    return changed


def _kept(top: Path, ending: str, *expected: object) -> list[Any] | None:
    """Return what is kept of a folder, without what it has to begin with; None if nothing is kept that does."""
    body = cache.read(_memo(top, ending))
    begins = [_FORMAT, os.fsencode(top), *expected]
    try:
        found = list(marshal.loads(body)) if body else []
    except (ValueError, EOFError, TypeError):
        return None
    return found[len(begins) :] if found[: len(begins)] == begins else None


def _stamp(top: Path) -> file_memo.Stamp | None:
    try:
        return file_memo.stamp(top.stat())
    except OSError:
        return None


def _keep(top: Path, ending: str, *found: Any) -> None:
    cache.write(_memo(top, ending), marshal.dumps((_FORMAT, os.fsencode(top), *found)))


def _memo(top: Path, ending: str) -> Path:
    return cache.folder() / f"{hashlib.sha256(os.fsencode(top)).hexdigest()[:32]}.{ending}"
