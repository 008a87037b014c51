"""Reading a session's tasks in the `wfs` format; of many, only those files that have changed since they were read."""

from __future__ import annotations

import marshal
import os
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import LargeError, MissingError, StateError
from holdfast.files import cache, document
from holdfast.files.file_memo import Stamp, settled, stamp
from holdfast.formats.wfs import brief as briefs
from holdfast.formats.wfs import places
from holdfast.formats.wfs.board import Board
from holdfast.formats.wfs.brief import Brief
from holdfast.patterns import regex
from holdfast.workflow import statefile
from holdfast.workflow.model import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import Room

MANY = 32
"""Task files from which on what they say is kept, so that an event does not read a thousand of them."""
_FEW = 8  # files that are read each time before what is kept is written again: that takes as long as reading so many
_PORTION = 2_000  # files after which what was read is written down in any case
_FORMAT = 1
_NAME = regex(r"[A-Za-z]+-[0-9][^/]*\.json")  # whatever is numbered counts: a wrong name is told, and not left out

Kept = dict[str, tuple[Stamp, Brief]]


class _Last(NamedTuple):
    """What this process has read of a session: an event asks for its tasks several times."""

    kept: Kept
    board: Board


_last: dict[Path, _Last] = {}


def board(project: Records, folder: Path, room: Room | None = None) -> Board:
    """Return the tasks of the session in a folder, as their JSON files say and nothing else does (R002-01).

    A file that cannot be read is among the problems; its last generation counts, where there is one. Raises LargeError,
    and reads nothing, where more of them must be read than there is `room` for.
    """
    found, problems = _files(folder / places.TASKS)
    last = _last.get(folder)
    many = len(found) > MANY or sum(seen[1] for seen in found.values()) > statefile.LIMIT_BYTES
    kept = last.kept if last else _kept(folder) if many else {}
    unread = [seen[1] for name, seen in found.items() if name not in kept or kept[name][0] != seen]
    if room is not None and not room.take(unread):
        raise LargeError(folder, "has more tasks than there is time to read")
    fresh: Kept = {}
    tasks = list[Brief]()
    read = portion = 0
    for name, seen in found.items():
        known = kept.get(name)
        if known and known[0] == seen:
            fresh[name] = known
            tasks.append(known[1])
            continue
        fit = settled(seen)
        path = folder / places.TASKS / name
        try:
            data, broken = _said(project, path)
        except MissingError:
            continue  # it has gone meanwhile
        except StateError as error:
            problems.append(Problem(path, error.reason))
            continue
        brief = briefs.of(path.stem, data)
        tasks.append(brief)
        if broken:
            problems.append(Problem(path, f"{broken}; its last generation is used"))
        elif fit:
            fresh[name] = (seen, brief)
            read += 1
            portion += seen[1]
            if read % _PORTION == 0 or portion > statefile.BUDGET_BYTES:
                portion = 0
                _keep(folder, {**kept, **fresh})  # an event that runs out of time leaves the next one less to read
    changed = max((seen[2] for seen in found.values()), default=0) / 1e9
    board = Board(tuple(_in_order(tasks)), tuple(sorted(problems)), changed)
    if last and last.board == board:
        board = last.board  # with all that was found out about it
    elif many and (len(fresh.keys() - kept.keys()) > _FEW or sum(unread) > statefile.LIMIT_BYTES):
        _keep(folder, fresh)
    _last[folder] = _Last(fresh, board)
    return board


def _said(project: Records, path: Path) -> tuple[Mapping[str, Any], str]:
    """Return what a task's file says, or its last generation with what is wrong with the file. Raises StateError."""
    try:
        return document.load(path, limit=statefile.LIMIT_BYTES, within=project.root).data, ""
    except MissingError:
        raise
    except StateError:
        file = statefile.read(project, path)
        return file.data, file.broken


def _in_order(tasks: Iterable[Brief]) -> list[Brief]:
    """Return tasks in the order of their numbers, which is not that of the text (I002-2)."""
    return sorted(tasks, key=lambda each: (each.key is None, each.key or (), each.name))


def _files(folder: Path) -> tuple[dict[str, Stamp], list[Problem]]:
    """Return the task files in a folder by name, with what tells whether they have changed, and those that are none."""
    found: dict[str, Stamp] = {}
    problems: list[Problem] = []
    if folder.is_symlink():
        return found, [Problem(folder, "is a symbolic link, which is not followed")]
    for entry in _inside(folder):
        if not _NAME.fullmatch(entry.name):
            continue
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError as error:
            problems.append(Problem(folder / entry.name, f"cannot be read: {error.strerror or error}"))
            continue
        if stat.S_ISLNK(info.st_mode):
            problems.append(Problem(folder / entry.name, "is a symbolic link, which is not followed"))
        else:
            found[entry.name] = stamp(info)
    return found, problems


def _inside(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _kept(folder: Path) -> Kept:
    body = cache.read(_file(folder))
    if body is None:
        return {}
    try:
        form, name, kept = marshal.loads(body)
    except (ValueError, EOFError, TypeError):
        return {}
    if (form, name) != (_FORMAT, str(folder)):
        return {}
    return {file: (seen, Brief(*said)) for file, (seen, said) in kept.items()}


def _keep(folder: Path, kept: Kept) -> None:
    plain = {file: (seen, tuple(brief)) for file, (seen, brief) in kept.items()}
    cache.write(_file(folder), marshal.dumps((_FORMAT, str(folder), plain)))


def _file(folder: Path) -> Path:
    import hashlib

    return cache.folder() / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]}.wfs"
