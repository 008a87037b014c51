"""Sessions of the `wfs` format on disk: found, made, and changed under the lock of their folder."""

from __future__ import annotations

import copy
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from holdfast import clock, log
from holdfast.errors import HoldfastError, MissingError, StateError, TransitionError
from holdfast.state import atomic, document
from holdfast.state.lock import locked
from holdfast.survival import generations
from holdfast.workflow import statefile
from holdfast.workflow.formats import wfs_choice as choice
from holdfast.workflow.formats import wfs_index as index
from holdfast.workflow.formats import wfs_markers as markers
from holdfast.workflow.formats import wfs_names as names
from holdfast.workflow.formats import wfs_places as places
from holdfast.workflow.formats import wfs_session as sessions
from holdfast.workflow.formats import wfs_todo as todo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.project import Project
    from holdfast.workflow.formats.wfs_board import Board
    from holdfast.workflow.formats.wfs_session import Session
    from holdfast.workflow.statefile import StateFile

_LIST_TEXT = "# Tasks\n"


def folders(project: Project) -> list[Path]:
    """Return the folders of all sessions, by name."""
    with suppress(OSError), os.scandir(places.top(project)) as entries:
        found = [entry.name for entry in entries if places.is_name(entry.name) and entry.is_dir(follow_symlinks=False)]
        return [places.top(project) / name for name in sorted(found)]
    return []


def get(project: Project, name: str) -> Session:
    """Return the session with a name; `WFS-` in front may be left out.

    Raises:
        HoldfastError: there is none of that name.
        StateError: its state file cannot be read.
    """
    wanted = name if name.startswith(names.PREFIX) else f"{names.PREFIX}{name}"
    folder = places.top(project) / wanted
    if not places.is_name(wanted) or not folder.is_dir():
        known = ", ".join(each.name for each in folders(project)) or "none"
        raise HoldfastError(f"there is no session {name!r} in {places.TOP}/; there are: {known}")
    return sessions.load(project, folder, marked=wanted in markers.active(project))


def current(project: Project, name: str | None = None) -> Session:
    """Return the session that is meant: the named one, else the one that is marked as active.

    Raises:
        HoldfastError: none is marked, or several are (R002-05).
        StateError: its state file cannot be read.
    """
    if name:
        return get(project, name)
    marked = markers.active(project)
    if len(marked) == 1:
        return get(project, marked[0])
    how = (
        "holdfast wfs start TOPIC begins one, holdfast wfs switch NAME marks one"
        if not marked
        else "give --session NAME"
    )
    raise HoldfastError(f"{markers.detected(marked)}; {how}")


def create(project: Project, topic: str, kind: str = "") -> Session:
    """Make a session with the least that it needs, and mark it as the active one (R002-09, R002-07).

    Args:
        project: where.
        topic: what it is about.
        kind: simple, medium or complex; simple by default, for it has no tasks yet.

    Raises:
        HoldfastError: the topic says nothing.
        StateError: it cannot be written.
    """
    if not topic.strip():
        raise HoldfastError("a session needs a topic")
    top = places.top(project)
    statefile.guard(project.root, top / "x")
    with locked(top):
        there = {each.name.casefold() for each in top.iterdir()}
        name = names.session(topic, lambda each: each.casefold() in there)
        folder = top / name
        (folder / places.TASKS).mkdir(parents=True)
        atomic.write(folder / places.PLAN, places.PLAN_TEXT.encode())
        atomic.write(folder / places.LIST, _LIST_TEXT.encode())
        data = sessions.fresh(name, topic, kind or choice.COMPLEXITIES[0])
        file = statefile.write(project, places.state(folder), data, None, why="wfs start")
        _pause_marked(project, except_for=name)
        markers.put(project, name)
        return sessions.view(file, folder, marked=True)


def switch(project: Project, name: str) -> Session:
    """Make a session the active one, and say so in both files (R002-07, I002-14). Raises HoldfastError, StateError."""
    session = get(project, name)
    _refuse_completed(session, "holdfast wfs resume opens it again")
    with locked(places.top(project)):
        _pause_marked(project, except_for=session.name)
        changed = _say(project, session, "active", "resumed_at" if session.said == "paused" else "")
        markers.put(project, session.name)
        return sessions.view(changed, session.folder, marked=True)


def pause(project: Project, session: Session) -> Session:
    """Mark a session no longer, and say that it is paused (I002-13). Raises TransitionError, StateError."""
    _refuse_completed(session, "there is nothing to pause")
    with locked(places.top(project)):
        changed = _say(project, session, "paused", "paused_at")
        markers.take(project, session.name)
        return sessions.view(changed, session.folder, marked=False)


def resume(project: Project, session: Session) -> Session:
    """Go on with a session that is paused or completed; another one that is marked is paused (I002-13)."""
    with locked(places.top(project)):
        _pause_marked(project, except_for=session.name)
        changed = _say(project, session, "active", "resumed_at")
        markers.put(project, session.name)
        return sessions.view(changed, session.folder, marked=True)


def complete(project: Project, session: Session, *, anyway: bool = False) -> Session:
    """End a session: its marker goes, its status is completed, nothing in it is written any more (I002-13, D002-7).

    Raises:
        TransitionError: tasks are left, and it is not to be ended `anyway`.
        StateError: it cannot be written.
    """
    with locked(places.top(project)), locked(session.folder):
        board = index.board(session.folder)
        left = [each.id for each in board.leaves if each.status != "completed"]
        left += [f"{problem.path.name}, which cannot be read" for problem in board.problems]
        if left and not anyway:
            named = ", ".join(left[:5]) + (", …" if len(left) > 5 else "")
            raise TransitionError(
                f"{session.name} has {len(left)} {'task' if len(left) == 1 else 'tasks'} that "
                f"{'is' if len(left) == 1 else 'are'} not completed ({named}); --anyway ends it as it is"
            )
        phases = sessions.PHASES if board.finished else None
        changed = _say(project, session, "completed", "completed_at", phases=phases)
        markers.take(project, session.name)
        return sessions.view(changed, session.folder, marked=False)


def say_standing(project: Project, session: Session) -> None:
    """Write into a session's file what its marker says of it (I002-14). Raises StateError."""
    with locked(places.top(project)):
        _say(project, session, session.standing)


@contextmanager
def changing(project: Project, session: Session, *, why: str) -> Iterator[Change]:
    """Change tasks of a session: what is done in the block is followed by the session's state and its list.

    Raises:
        TransitionError: the session is completed, so that nobody who comes late brings it back (D002-7).
        StateError: its folder has gone, or cannot be written.
    """
    statefile.guard(project.root, places.state(session.folder))
    if not session.folder.is_dir():
        raise StateError(session.folder, "has been moved or removed, so nothing is written there")
    with locked(session.folder):
        now = sessions.load(project, session.folder, marked=session.marked)
        _refuse_completed(now, f"its tasks stay as they are; `holdfast wfs resume {now.name}` opens it again")
        change = Change(project, now, why)
        try:
            yield change
        finally:
            if change.written or sys.exc_info()[0] is None:  # also after half of a change: what was written is followed
                change.close()


class Change:
    """A change of a session's tasks, while its folder is locked."""

    def __init__(self, project: Project, session: Session, why: str) -> None:
        self._project = project
        self._why = why
        self.session = session
        self.written = False
        self.board = index.board(session.folder)
        self._listed = list_of(session, self.board)

    def read(self, name: str) -> dict[str, Any]:
        """Return what a task's file holds. Raises StateError."""
        return statefile.read(self._project, places.task(self.session.folder, name)).data

    def edit(self, name: str, change: Callable[[dict[str, Any]], None]) -> bool:
        """Change a task's file, all else in it unchanged; tell whether it was written. Raises StateError."""
        path = places.task(self.session.folder, name)

        def apply(file: StateFile) -> dict[str, Any]:
            data = copy.deepcopy(file.data)
            change(data)
            return data

        written = statefile.rewrite(self._project, path, apply, why=self._why)[1]
        self.written = self.written or written
        self.board = index.board(self.session.folder)
        return written

    def create(self, name: str, data: dict[str, Any]) -> None:
        """Write the file of a new task. Raises StateError where there is one already."""
        path = places.task(self.session.folder, name)
        if os.path.lexists(path):
            raise StateError(path, "is there already")
        statefile.write(self._project, path, data, None, why=self._why)
        self.written = True
        self.board = index.board(self.session.folder)

    def summarise(self, name: str, text: str) -> None:
        """Write what came of a task; an earlier text is kept as a generation. Raises StateError."""
        path = places.summary(self.session.folder, name)
        with suppress(MissingError):
            generations.keep(self._project, path, document.read(path)[0], why=f"before {self._why}")
        atomic.write(path, text.encode("utf-8", "replace"))

    def close(self) -> None:
        """Bring the session's state and its list in step with the tasks (R002-46, I002-24)."""
        self.session = follow(self._project, self.session, self.board, why=self._why)
        write_list(self._project, self.session, self.board, before=self._listed)


def follow(project: Project, session: Session, board: Board, *, why: str) -> Session:
    """Write into a session's state what follows from its tasks; hold its folder's lock. Raises StateError."""

    def apply(file: StateFile) -> dict[str, Any]:
        data = copy.deepcopy(file.data)
        progress = data.get("progress")
        data["progress"] = progress = dict(progress) if isinstance(progress, dict) else {}
        progress["completed_phases"] = list(sessions.completed_phases(file.data))
        progress["current_tasks"] = [each.id for each in board.current()]
        data["type"] = choice.upgraded(str(data.get("type") or ""), len(board.leaves))
        _step_back(data, board)
        for phase, following in _passed(board):
            if data.get("current_phase") in (phase, None, ""):
                data["current_phase"] = following
            if phase not in progress["completed_phases"]:
                progress["completed_phases"].append(phase)
        return data

    file, _ = statefile.rewrite(project, places.state(session.folder), apply, why=why)
    return sessions.view(file, session.folder, marked=session.marked)


def write_list(project: Project, session: Session, board: Board, *, before: bytes | None, anyway: bool = False) -> str:
    """Write a session's list, if it differs; return why it was not written, or nothing.

    What somebody has written into it is kept as a generation first. A file that is no list of ours stays, unless it is
    to be written `anyway`.

    Args:
        project: where.
        session: whose.
        board: its tasks.
        before: what the list would have been before they changed; another content is somebody's own.
        anyway: whether a file of somebody's own gives way.
    """
    path = session.folder / places.LIST
    wanted = list_of(session, board)
    try:
        statefile.guard(project.root, path)
        present = _present(path)
        if present == wanted:
            return ""
        if present is not None and not present.startswith(todo.HEADING.encode()) and not anyway:
            return f"{places.inner(project, path)} is no list of ours and stays as it is"
        if present not in (None, before, _LIST_TEXT.encode()):
            generations.keep(project, path, present or b"", why="before it was generated anew")
        atomic.write(path, wanted)
    except StateError as error:  # a view that cannot be written costs no state
        log.write("warning", f"the list of {session.name} was not written: {error}")
        return str(error)
    return ""


def relist(project: Project, session: Session, *, anyway: bool = False) -> str:
    """Generate a session's list anew; return why it was not written, or nothing (`write_list`). Raises StateError."""
    with locked(session.folder):
        now = sessions.load(project, session.folder, marked=session.marked)
        _refuse_completed(now, "its list stays as it is")
        return write_list(project, now, index.board(session.folder), before=None, anyway=anyway)


def list_of(session: Session, board: Board) -> bytes:
    """Return what a session's list is to hold."""
    return todo.generate(session.topic, board, summaries(session)).encode("utf-8", "replace")


def summaries(session: Session) -> frozenset[str]:
    """Return the ids of the tasks of which there is a summary."""
    with suppress(OSError):
        ends = "-summary.md"
        listed = [each.name for each in (session.folder / places.SUMMARIES).iterdir()]
        return frozenset(name.removesuffix(ends) for name in listed if name.endswith(ends))
    return frozenset()


def _step_back(data: dict[str, Any], board: Board) -> None:
    """Take back that the work is done where a task was opened again, or another one made."""
    _, implement, review = sessions.PHASES
    if data.get("current_phase") == review and board.leaves and not board.finished:
        data["current_phase"] = implement
        done = data["progress"]["completed_phases"]
        data["progress"]["completed_phases"] = [each for each in done if each not in (implement, review)]


def _passed(board: Board) -> Iterator[tuple[str, str]]:
    """Return the phases that are behind a session because of its tasks, each with the one that follows it."""
    plan, implement, review = sessions.PHASES
    if any(each.status != "pending" for each in board.leaves):
        yield plan, implement
    if board.finished:
        yield implement, review


def _pause_marked(project: Project, *, except_for: str) -> None:
    """Say of sessions that lose their marker that they are paused; one that cannot be read only loses it."""
    for name in markers.active(project):
        if name == except_for:
            continue
        with suppress(StateError, HoldfastError):
            session = get(project, name)
            if session.standing == "active":
                _say(project, session, "paused", "paused_at")


def _say(
    project: Project, session: Session, status: str, moment: str = "", phases: tuple[str, ...] | None = None
) -> StateFile:
    """Write a session's status and when it changed. Raises StateError."""

    def apply(file: StateFile) -> dict[str, Any]:
        data = copy.deepcopy(file.data)
        if data.get("status") == status and phases is None:
            return data
        data["status"] = status
        if moment:
            data[moment] = clock.stamp()
        if phases is not None and isinstance(data.get("progress"), dict):
            done = sessions.completed_phases(data)
            data["progress"]["completed_phases"] = [*done, *(each for each in phases if each not in done)]
            data["progress"]["current_tasks"] = []
        return data

    with locked(session.folder):  # who changes its tasks does so under this lock
        return statefile.rewrite(project, places.state(session.folder), apply, why=f"wfs {status}")[0]


def _refuse_completed(session: Session, remedy: str) -> None:
    if session.standing == "completed":
        raise TransitionError(f"{session.name} is completed: {remedy}")


def _present(path: Path) -> bytes | None:
    try:
        return document.read(path)[0]
    except MissingError:
        return None
