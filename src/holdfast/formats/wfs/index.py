"""Read a `wfs` session's tasks; if there are many, only the files that changed since they were last read."""

from __future__ import annotations

import marshal
import os
import stat
from contextlib import suppress
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
"""Task files beyond which their briefs are cached, so that an event doesn't read a thousand files."""
_FEW = 8  # changed files from which the cache is rewritten; reading fewer each time is faster than writing it
_PORTION = 2_000  # files after which the cache is written in any case
_FORMAT = 2
_NAME = regex(r"[A-Za-z]+-[0-9][^/]*\.json")  # any numbered name: a wrong one is reported, not ignored

Kept = dict[str, tuple[Stamp, Brief]]


class _Last(NamedTuple):
    """What this process last read of a session, because an event asks for its tasks several times."""

    kept: Kept
    tasks: list[Brief]
    board: Board
    found: dict[str, Stamp] | None


_last: dict[Path, _Last] = {}


def board(project: Records, folder: Path, room: Room | None = None) -> Board:
    """Return the tasks of the session in a folder; their JSON files are the only source (R002-01).

    A file that can't be read is among the problems, and its last generation counts, if there is one. If more files must
    be read than there is `room` for, raises LargeError and reads none.
    """
    found, problems = _files(folder / places.TASKS)
    last = _last.get(folder)
    if last and not problems and last.found == found:
        return last.board
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
            continue  # it was removed meanwhile
        except StateError as error:
            problems.append(Problem(path, error.reason))
            continue
        brief = briefs.of(path.stem, data)
        tasks.append(brief)
        if broken:
            problems.append(Problem(path, broken))
        elif fit:
            fresh[name] = (seen, brief)
            read += 1
            portion += seen[1]
            if read % _PORTION == 0 or portion > statefile.BUDGET_BYTES:
                portion = 0
                _keep(folder, {**kept, **fresh})  # if this event runs out of time, the next has less to read
    changed = max((seen[2] for seen in found.values()), default=0) / 1e9
    told = tuple(sorted(problems))
    same = last and (last.board.problems, last.board.changed, last.tasks) == (told, changed, tasks)
    board = last.board if last and same else Board(tuple(_in_order(tasks)), told, changed)
    if last and board == last.board:
        board = last.board  # it has its computed properties already
    elif many and (read > _FEW or sum(unread) > statefile.LIMIT_BYTES):
        _keep(folder, fresh)
    # Only if nothing has to be read again next time.
    _last[folder] = _Last(fresh, tasks, board, found if len(fresh) == len(found) else None)
    return board


def with_task(folder: Path, board: Board, name: str, data: Mapping[str, Any]) -> Board:
    """Return a session's tasks after one of their files was written, without looking at the others.

    Args:
        folder: the session's folder.
        board: the tasks before that.
        name: the name of the task's file without `.json`.
        data: what was written.
    """
    task = briefs.of(name, data)
    others = [each for each in board.tasks if each.name != name]
    changed = board.changed
    with suppress(OSError):  # somebody removed it just now
        changed = max(changed, places.task(folder, name).stat().st_mtime_ns / 1e9)
    now = Board(tuple(_in_order([*others, task])), board.problems, changed)
    if (last := _last.get(folder)) and last.board is board:  # so that the next look at the files finds this board
        tasks = [task if each.name == name else each for each in last.tasks]
        _last[folder] = last._replace(tasks=tasks, board=now, found=None)
    return now


def _said(project: Records, path: Path) -> tuple[Mapping[str, Any], str]:
    """Return a task file's content and "", or its last generation and what is wrong with it. Raises StateError."""
    try:
        return document.load(path, limit=statefile.LIMIT_BYTES, within=project.root).data, ""
    except MissingError:
        raise
    except StateError:
        file = statefile.read(project, path)
        return file.data, f"{file.broken}{statefile.KEPT_IS_USED}{statefile.DOCTOR_SAYS_HOW}" if file.broken else ""


def _in_order(tasks: Iterable[Brief]) -> list[Brief]:
    """Return tasks in the order of their numbers, not of their texts (I002-2)."""
    return sorted(tasks, key=_place)


def _place(task: Brief) -> tuple[bool, tuple[int, ...], str]:
    key = task.key
    return key is None, key or (), task.name


def _files(folder: Path) -> tuple[dict[str, Stamp], list[Problem]]:
    """Return the stamps of the task files in a folder by name, and the problems with other files."""
    found: dict[str, Stamp] = {}
    problems: list[Problem] = []
    matches = _NAME.fullmatch
    if folder.is_symlink():
        return found, [Problem(folder, "is a symbolic link, which is not followed")]
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return found, problems
    try:
        with os.scandir(top) as entries:  # of a descriptor, so that no path is followed for each of a thousand files
            listed = list(entries)
        for entry in listed:
            name = entry.name
            if not matches(name):
                continue
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError as error:
                problems.append(Problem(folder / name, f"cannot be read: {error.strerror or error}"))
                continue
            if stat.S_ISLNK(info.st_mode):
                problems.append(Problem(folder / name, "is a symbolic link, which is not followed"))
            else:
                found[name] = stamp(info)
    except OSError:
        return {}, problems
    finally:
        os.close(top)
    return found, problems


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
