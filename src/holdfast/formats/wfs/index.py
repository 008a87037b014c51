"""Read a `wfs` session's tasks; if there are many, only the files that changed since they were last read."""

from __future__ import annotations

import hashlib
import marshal
import os
import re
import stat
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import LargeError, MissingError, StateError
from holdfast.files import cache, document
from holdfast.files.file_memo import Stamp, settled, stamp
from holdfast.formats.wfs import brief as briefs
from holdfast.formats.wfs import places, todo
from holdfast.formats.wfs.board import Board, in_order
from holdfast.formats.wfs.brief import Brief
from holdfast.workflow import names, statefile
from holdfast.workflow.model import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.formats.wfs.ids import Key
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import Room

MANY = 32
"""Task files beyond which their briefs are cached, so that an event doesn't read a thousand files."""
_FEW = 8  # changed files from which the cache is rewritten; reading fewer each time is faster than writing it
_PORTION = 2_000  # files after which the cache is written in any case
_FORMAT = 6
_NAME = re.compile(r"[A-Za-z]+-[0-9][^/]*\.json")  # any numbered name: a wrong one is reported, not ignored


class _Read(NamedTuple):
    """What was read of a session's tasks, by this process or an earlier one.

    Attributes:
        seen: the stamps of the files that need not be read again while these are the same, by name.
        tasks: what the files said, by name without `.json`; one without a stamp is read again, if it is still there.
        board: the tasks as a board.
    """

    seen: dict[str, Stamp]
    tasks: dict[str, Brief]
    board: Board


_NOTHING = _Read({}, {}, Board())
_last: dict[Path, _Read] = {}  # because an event asks for a session's tasks several times


def board(project: Records, folder: Path, room: Room | None = None) -> Board:
    """Return the tasks of the session in a folder; their JSON files are the only source (R002-01).

    A file that can't be read is among the problems, and its last generation counts, if there is one. If more files must
    be read than there is `room` for, raises LargeError and reads none.
    """
    found, problems = _files(folder / places.TASKS)
    many = len(found) > MANY or sum([seen[1] for seen in found.values()]) > statefile.LIMIT_BYTES
    last = _last.get(folder) or (_kept(folder) if many else None) or _NOTHING
    shown = _shown(folder)
    same = last.seen == found and (last.board.ticked, last.board.summarised) == shown
    if not problems and same and len(last.tasks) == len(found):
        _last[folder] = last
        return last.board
    fresh = {name: seen for name, seen in found.items() if last.seen.get(name) == seen}
    unread = [name for name in found if name not in fresh]
    sizes = [found[name][1] for name in unread]
    if room is not None and not room.take(sizes):
        raise LargeError(folder, "has more tasks than there is time to read")
    tasks = {stem: last.tasks[stem] for stem in [name.removesuffix(".json") for name in fresh]}
    read = portion = 0
    for name in unread:
        seen, path = found[name], folder / places.TASKS / name
        fit = settled(seen)
        try:
            data, broken = _said(project, path)
        except MissingError:
            continue  # it was removed meanwhile
        except StateError as error:
            problems.append(Problem(path, error.reason))
            continue
        tasks[path.stem] = briefs.of(path.stem, data)
        if broken:
            problems.append(Problem(path, broken))
        elif fit:
            fresh[name] = seen
            read += 1
            portion += seen[1]
            if read % _PORTION == 0 or portion > statefile.BUDGET_BYTES:
                portion = 0
                # If this event runs out of time, the next has less to read.
                _keep(folder, {**last.seen, **fresh}, Board(in_order({**last.tasks, **tasks}.values())))
    changed = max([seen[2] for seen in found.values()], default=0) / 1e9
    now = Board(in_order(tasks.values()), tuple(sorted(problems)), changed, *shown)
    if now == last.board:
        now = last.board  # it has its computed properties already
    elif many and (read > _FEW or sum(sizes) > statefile.LIMIT_BYTES):
        _keep(folder, fresh, now)
    _last[folder] = _Read(fresh, tasks, now)
    return now


def with_task(folder: Path, board: Board, name: str, data: Mapping[str, Any]) -> Board:
    """Return a session's tasks after one of their files was written, without looking at the others.

    Args:
        folder: the session's folder.
        board: the tasks before that.
        name: the name of the task's file without `.json`.
        data: what was written.
    """
    tasks = {each.name: each for each in board.tasks} | {name: briefs.of(name, data)}
    changed = board.changed
    with suppress(OSError):  # somebody removed it just now
        changed = max(changed, places.task(folder, name).stat().st_mtime_ns / 1e9)
    now = replace(board, tasks=in_order(tasks.values()), changed=changed)
    if (last := _last.get(folder)) and last.board is board:  # so that the next look at the files finds this board
        _last[folder] = last._replace(tasks=tasks, board=now)
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


def _shown(folder: Path) -> tuple[frozenset[Key | None], frozenset[str]]:
    """Return the tasks that a session's list ticks, and the ids of those that have a summary."""
    try:
        raw, _ = document.read(folder / places.LIST, within=folder.parent.parent)
    except StateError:
        raw = b""
    ticks = todo.ticks(raw.decode("utf-8", "replace"))
    return frozenset(key for key, (_, ticked) in ticks.items() if ticked), places.summarised(folder)


def _files(folder: Path) -> tuple[dict[str, Stamp], list[Problem]]:
    """Return the stamps of the task files in a folder by name, and the problems with other files."""
    found: dict[str, Stamp] = {}
    problems: list[Problem] = []
    if folder.is_symlink():
        return found, [Problem(folder, "is a symbolic link, which is not followed")]
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return found, problems
    try:
        for name in os.listdir(top):  # noqa: PTH208 - of a descriptor: no path is followed for each of a thousand files
            if not _NAME.fullmatch(name) or names.is_copy(name):
                continue
            try:
                info = os.stat(name, dir_fd=top, follow_symlinks=False)
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


def _kept(folder: Path) -> _Read | None:
    body = cache.read(_file(folder))
    if body is None:
        return None
    try:
        form, name, stamps, columns, changed = marshal.loads(body)
        if (form, name) != (_FORMAT, str(folder)):
            return None
        tasks = tuple(map(Brief._make, zip(*columns, strict=True)))
        return _Read(dict(stamps), dict(zip(columns[0], tasks, strict=True)), Board(tasks, (), changed))
    except (ValueError, EOFError, TypeError):
        return None


def _keep(folder: Path, seen: Mapping[str, Stamp], board: Board) -> None:
    """Keep what was read for the processes of later events: by column, which is the fastest to load.

    What several tasks say is loaded once: a task's id is its file's name, and others depend on it.
    """
    if not board.tasks:
        return
    one: dict[Any, Any] = {}
    columns = [[one.setdefault(value, value) for value in column] for column in zip(*board.tasks, strict=True)]
    columns[-1] = [tuple([one.setdefault(id_, id_) for id_ in depends_on]) for depends_on in columns[-1]]
    cache.write(_file(folder), marshal.dumps((_FORMAT, str(folder), dict(seen), columns, board.changed)))


def _file(folder: Path) -> Path:
    return cache.folder() / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]}.wfs"
