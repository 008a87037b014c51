"""Change the tasks of a `wfs` session under its folder's lock, then update its state and its list."""

from __future__ import annotations

import copy
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from holdfast.errors import MissingError, StateError
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.formats.wfs import choice, index, places
from holdfast.formats.wfs import list as lists
from holdfast.formats.wfs import session as sessions
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile


@contextmanager
def changing(project: Records, session: Session, *, why: str) -> Iterator[Change]:
    """Change tasks of a session in a block, after which the session's state and list are updated.

    Raises:
        TransitionError: the session is completed; a late change must not revive it.
        StateError: its folder is gone or can't be written.
    """
    statefile.guard(project.root, places.state(session.folder))
    if not session.folder.is_dir():
        raise StateError(session.folder, "has been moved or removed, so nothing is written there")
    with locked(session.folder):
        now = sessions.load(project, session.folder, marked=session.marked)
        now.must_be_open(f"`holdfast wfs resume {now.name}` opens it again")
        change = Change(project, now, why)
        try:
            yield change
        finally:
            if change.written or sys.exc_info()[0] is None:  # also after half a change
                change.close()


class Change:
    """A change of a session's tasks, while its folder is locked."""

    def __init__(self, project: Records, session: Session, why: str) -> None:
        self._project = project
        self._why = why
        self.session = session
        self.written = False
        self.notes: list[str] = []
        self._before = self.session, index.board(self._project, session.folder)
        self._board: Board | None = self._before[1]
        self._listed = lists.content(session, self.board)

    @property
    def board(self) -> Board:
        """The session's tasks as they are now, as far as this process changed them."""
        if self._board is None:
            self._board = index.board(self._project, self.session.folder)
        return self._board

    def exists(self, path: str) -> bool:
        """Return whether a path, relative to the project, exists."""
        return (self._project.root / path).exists()

    def read(self, name: str) -> dict[str, Any]:
        """Return the JSON object in a task's file. Raises StateError."""
        return statefile.read(self._project, places.task(self.session.folder, name)).data

    def edit(self, name: str, change: Callable[[dict[str, Any]], None]) -> bool:
        """Change a task's file and return whether it was written. All else in it stays. Raises StateError."""
        path = places.task(self.session.folder, name)

        def apply(file: StateFile) -> dict[str, Any]:
            data = copy.deepcopy(file.data)
            change(data)
            return data

        file, written = statefile.rewrite(self._project, path, apply, why=self._why)
        if written:
            self._note_written(name, file.data)
        return written

    def create(self, name: str, data: dict[str, Any]) -> None:
        """Write the file of a new task. Raises StateError if there is one already."""
        path = places.task(self.session.folder, name)
        if os.path.lexists(path):
            raise StateError(path, "is there already")
        statefile.write(self._project, path, data, None, why=self._why)
        self._note_written(name, data)

    def _note_written(self, name: str, data: Mapping[str, Any]) -> None:
        """Note that this process wrote a task, so only that one has changed: the folder is locked."""
        self.written, board = True, self.board
        self._board = None if board.problems else index.with_task(self.session.folder, board, name, data)

    def summarise(self, name: str, text: str) -> None:
        """Write a task's summary; an earlier one is kept as a generation. Raises StateError."""
        path = places.summary(self.session.folder, name)
        with suppress(MissingError):
            self._project.keep(path, document.read(path, within=self._project.root)[0], why=f"before {self._why}")
        atomic.write(path, text.encode("utf-8", "replace"))

    def close(self) -> None:
        """Update the session's state (R002-46, I002-24) and its list (R002-45, I002-3) from the tasks."""
        self.session = follow(self._project, self.session, self.board, why=self._why)
        if news := lists.news(self._project, *self._before, self._listed):
            self.notes.append(news)
        if not (self._before[1].ticked_early and self.board.ticked_early):  # a tick may be all that shows the work
            lists.write(self._project, self.session, self.board, before=self._listed)


def follow(project: Records, session: Session, board: Board, *, why: str) -> Session:
    """Write into a session's state what follows from its tasks. Hold its folder's lock. Raises StateError."""

    def apply(file: StateFile) -> dict[str, Any]:
        return followed(file.data, board)

    file, _ = statefile.rewrite(project, places.state(session.folder), apply, why=why, repair=True)
    return sessions.view(file, session.folder, marked=session.marked)


def followed(said: Mapping[str, Any], board: Board) -> dict[str, Any]:
    """Return the state `said` with what follows from these tasks (R002-46, I002-24)."""
    data = copy.deepcopy(dict(said))
    progress = data.get("progress")
    data["progress"] = progress = dict(progress) if isinstance(progress, dict) else {}
    progress["completed_phases"] = list(sessions.completed_phases(said))
    progress["current_tasks"] = [each.id for each in board.current]
    data["type"] = choice.upgraded(str(data.get("type") or ""), len(board.leaves))
    _step_back(data, board)
    for phase, following in _passed(board):
        if data.get("current_phase") in (phase, None, ""):
            data["current_phase"] = following
        if phase not in progress["completed_phases"]:
            progress["completed_phases"].append(phase)
    return data


def _step_back(data: dict[str, Any], board: Board) -> None:
    """Go back from REVIEW to IMPLEMENT if a task was reopened or added."""
    _, implement, review = sessions.PHASES
    if data.get("current_phase") == review and board.leaves and not board.finished:
        data["current_phase"] = implement
        done = data["progress"]["completed_phases"]
        data["progress"]["completed_phases"] = [each for each in done if each not in (implement, review)]


def _passed(board: Board) -> Iterator[tuple[str, str]]:
    """Yield the phases that a session has passed according to its tasks, each with the following phase."""
    plan, implement, review = sessions.PHASES
    if any(each.status != "pending" for each in board.leaves):
        yield plan, implement
    if board.finished:
        yield implement, review
