"""Repair inconsistencies in `.workflow/`: markers, states, hierarchies, lists (R002-10)."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import BrokenError, ChangedError, MissingError, SchemaMismatch, StateError
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.formats.wfs import brief as briefs
from holdfast.formats.wfs import change as changes
from holdfast.formats.wfs import choice, ids, index, markers, places, store
from holdfast.formats.wfs import list as lists
from holdfast.formats.wfs import session as sessions
from holdfast.formats.wfs import task as tasks
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.records import Records

_TOPIC = re.compile(r"(?m)^# (?:Tasks: |Implementation Plan: )(\S.*)$")


class Repair(NamedTuple):
    """One repair.

    Attributes:
        what: what is wrong and what the repair does, in a sentence.
        do: does it. Raises HoldfastError.
        unread: whether it is about a file that cannot be read.
    """

    what: str
    do: Callable[[], None]
    unread: bool = False


def repairs(project: Records) -> Iterator[Repair]:
    """Yield the repairs in the order in which to do them; each is looked for after the previous one was yielded.

    A caller that only wants to know doesn't call `do` and gets what can be seen so far. Files that can't be read for
    lack of permission are left alone: `check` reports them. Raises StateError if the folder of all sessions is behind a
    link.
    """
    statefile.guard(project.root, places.top(project))
    yield from _orphans(project)
    yield from _too_many(project)
    for folder in store.folders(project):
        yield from _state(project, folder)
        if sessions.is_over(project, folder):
            continue  # nothing is written in a completed session
        yield from _broken(project, folder)
        yield from _hierarchy(project, folder)
        yield from _behind(project, folder)
        yield from _list(project, folder)
    yield from _drifted(project)


def _orphans(project: Records) -> Iterator[Repair]:
    beside = {each.name for each in places.elsewhere(project)}
    for name in markers.active(project):
        if not places.has(project, name) and name not in beside and not (places.top(project) / name).is_symlink():
            what = f"{places.TOP}/{places.MARKER}{name} marks a session that is not there: the marker is removed"
            yield Repair(what, partial(markers.take, project, name))


def _too_many(project: Records) -> Iterator[Repair]:
    """Keep the newest of several markers (I002-11)."""
    there = [name for name in sessions.active(project) if places.has(project, name)]
    newest, *others = markers.newest_first(project, there) or [""]
    for name in others:
        what = f"{places.TOP}/{places.MARKER}{name}: several sessions are marked; {newest} was marked last and stays"
        yield Repair(what, partial(markers.take, project, name))


def _state(project: Records, folder: Path) -> Iterator[Repair]:
    path = places.state(folder)
    try:
        file = statefile.read(project, path)
        sessions.view(file, folder, marked=False)
    except StateError as error:
        if isinstance(error, SchemaMismatch) and not (folder / places.TASKS).is_dir():
            return  # another tool's folder
        if not isinstance(error, MissingError | BrokenError | SchemaMismatch):
            return  # it can't be read, so it need not be broken
        gone = isinstance(error, MissingError)
        if (data := _earlier(project, path)) is not None:
            aside = "" if gone else ", and this one kept beside it"
            what = f"{places.inner(project, path)}: {error.reason}: its last content is put back{aside}"
            yield Repair(what, partial(_bring_back, project, path, data), unread=True)
            return
        what = f"{places.inner(project, path)}: {error.reason}: it is made anew from the template and the tasks"
        kept = "" if gone else f", and what it held is kept beside it as {path.name}.corrupt-…"
        yield Repair(f"{what}{kept}", partial(_remake, project, folder, keep=not gone), unread=True)
        return
    if file.repairable:
        what = (
            f"{places.inner(project, path)}: {file.broken}: its last content is put back, and this one kept beside it"
        )
        yield Repair(what, partial(_put_back, project, path), unread=True)


def _put_back(project: Records, path: Path) -> None:
    """Restore a broken file's last content, after setting the present file aside."""
    with locked(path.parent):
        file = statefile.read(project, path)
        if file.repairable:
            _set_aside(project, path)
            statefile.write(project, path, dict(file.data), None, why="wfs repair")


def _earlier(project: Records, path: Path) -> dict[str, Any] | None:
    """Return the last kept content of a state file that is a session's, or None."""
    for version in project.versions(path):
        raw = project.content(path, version.number) or b""
        try:
            data = document.parse(path, raw, 0.0).data
        except StateError:
            continue
        if sessions.is_session(data):
            return data
    return None


def _bring_back(project: Records, path: Path, data: dict[str, Any]) -> None:
    with locked(path.parent):
        if os.path.lexists(path):
            _set_aside(project, path)
        statefile.write(project, path, data, None, why="wfs repair")


def _remake(project: Records, folder: Path, *, keep: bool) -> None:
    """Rebuild a session's state from its tasks' progress; the old file stays beside it (I002-23)."""
    with locked(folder):
        if keep:
            _set_aside(project, places.state(folder))
        board = index.board(project, folder)
        kind = choice.complexity(len(board.leaves))
        data = sessions.fresh(folder.name, _topic(folder), kind)
        marked = folder.name in markers.active(project)
        data["status"] = "active" if marked else "paused"
        file = statefile.write(project, places.state(folder), data, None, why="wfs repair")
        changes.follow(project, sessions.view(file, folder, marked=marked), board, why="wfs repair")


def _set_aside(project: Records, path: Path) -> None:
    """Rename an invalid state file out of the way; one that is being saved is left alone. Raises StateError."""
    try:
        statefile.set_aside(project, path)
    except SchemaMismatch:
        document.set_aside(path)
    except ChangedError:
        if sessions.is_session(document.load(path, within=project.root).data):
            raise
        document.set_aside(path)  # it is valid JSON, but no session


def _topic(folder: Path) -> str:
    """Return a session's topic from its list or plan, else its name."""
    for name in (places.LIST, places.PLAN):
        try:
            text = document.read(folder / name, within=folder.parent.parent)[0].decode("utf-8", "replace")
        except StateError:
            continue
        if match := _TOPIC.search(text):
            return match[1].strip()
    return folder.name


def _broken(project: Records, folder: Path) -> Iterator[Repair]:
    """Yield repairs that restore the last kept content of broken task files."""
    for problem in index.board(project, folder).problems:
        try:
            file = statefile.read(project, problem.path)
        except StateError:
            continue  # no content was kept; `check` reports it
        if file.repairable:
            what = f"{places.inner(project, problem.path)}: {file.broken}: its last content is put back, and this one"
            yield Repair(f"{what} kept beside it", partial(_put_back, project, problem.path), unread=True)


def _hierarchy(project: Records, folder: Path) -> Iterator[Repair]:
    board = index.board(project, folder)
    unreadable = {ids.key(problem.path.stem) for problem in board.problems}
    missing: dict[str, list[str]] = {}
    for each in board.tasks:
        if (own := board.parent_id(each)) and board.get(own) is None and each.id == each.name:
            missing.setdefault(own, []).append(each.id)
    for id_, below in missing.items():
        if ids.key(id_) not in unreadable:
            has = "have" if len(below) > 1 else "has"
            what = f"{folder.name}: {', '.join(below)} {has} no parent: {id_} is made as a container"
            yield Repair(what, partial(_make_parent, project, folder, id_))
    for task in board.tasks:
        with suppress(StateError):  # reported elsewhere
            _, wanted = _mended(task, statefile.read(project, places.task(folder, task.name)).data, board)
            if wanted:
                what = f"{folder.name}/{places.TASKS}/{task.name}.json: {', '.join(wanted)}"
                yield Repair(what, partial(_mend, project, folder, task))


def _mended(task: Brief, data: Mapping[str, Any], board: Board) -> tuple[dict[str, Any], list[str]]:
    """Return a task's content with a valid status and the parent that the board gives it; and each change in words."""
    mended, said = dict(data), list[str]()
    if board.children(task) and not task.is_container:
        mended["status"] = "container"
        said.append(f"it has subtasks: its status {task.raw_status or 'nothing'} becomes container")
    elif task.raw_status and task.raw_status not in briefs.STATUSES:
        mended["status"] = task.status
        said.append(f"its status {task.raw_status} becomes {task.status}")
    own = board.parent_id(task) if ids.key(task.id) == ids.key(task.name) else ""  # else either may be right
    context = data.get("context")
    if own and ids.key(task.parent) != ids.key(own) and isinstance(context, dict | None):
        mended["context"] = (context or {}) | {"parent": own}
        said.append(f"its parent {f'{task.parent} ' if task.parent else ''}becomes {own}")
    return mended, said


def _make_parent(project: Records, folder: Path, id_: str) -> None:
    """Create a missing parent as a container (I002-22)."""
    with locked(folder):
        statefile.write(
            project, places.task(folder, id_), tasks.container(id_, f"Tasks of {id_}"), None, why="wfs repair"
        )


def _mend(project: Records, folder: Path, task: Brief) -> None:
    def apply(file: statefile.StateFile) -> dict[str, Any]:
        return _mended(briefs.of(task.name, file.data), file.data, index.board(project, folder))[0]

    with locked(folder):
        statefile.rewrite(project, places.task(folder, task.name), apply, why="wfs repair")


def _behind(project: Records, folder: Path) -> Iterator[Repair]:
    """Yield the repair of a state that doesn't follow from its tasks, because a process was killed in between."""
    try:
        session = sessions.load(project, folder, marked=folder.name in markers.active(project))
    except StateError:
        return
    board = index.board(project, folder)
    if changes.followed(session.file.data, board) != session.file.data:
        what = f"{folder.name}/{places.SESSION}: it does not say what follows from its tasks: it is brought in step"
        yield Repair(what, partial(_follow, project, session))


def _follow(project: Records, session: Session) -> None:
    with changes.changing(project, session, why="wfs repair"):
        pass  # what follows from the tasks is written at the end


def _list(project: Records, folder: Path) -> Iterator[Repair]:
    try:
        session = sessions.load(project, folder, marked=folder.name in markers.active(project))
    except StateError:
        return
    board = index.board(project, folder)
    lines = lists.drift(session, board)
    if lines and session.standing != "completed" and not lists.stays(session, board):
        what = f"{folder.name}/{places.LIST}: {lines[0]}{f' (+{len(lines) - 1} more)' if len(lines) > 1 else ''}"
        yield Repair(
            f"{what}: it is generated anew, and what it says is kept as a generation",
            partial(_relisted, project, session),
        )


def _relisted(project: Records, session: Session) -> None:
    refused = lists.renew(project, session)
    if refused:
        raise StateError(session.folder / places.LIST, refused)


def _drifted(project: Records) -> Iterator[Repair]:
    marked = markers.active(project)
    for folder in store.folders(project):
        try:
            session = sessions.load(project, folder, marked=folder.name in marked)
        except StateError:
            continue
        if session.drift and session.standing == "completed":
            what = f"{session.name}: {session.drift}: the marker is removed"
            yield Repair(what, partial(markers.take, project, session.name))
        elif session.drift:
            what = f"{session.name}: {session.drift}: its status becomes {session.standing}"
            yield Repair(what, partial(store.say_standing, project, session.name))
