"""A session's list in the `wfs` format on disk: generated from its tasks, compared with them, never read."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import log
from holdfast.errors import MissingError, StateError
from holdfast.state import atomic, document
from holdfast.state.lock import locked
from holdfast.survival import generations
from holdfast.workflow import statefile
from holdfast.workflow.formats import wfs_index as index
from holdfast.workflow.formats import wfs_places as places
from holdfast.workflow.formats import wfs_session as sessions
from holdfast.workflow.formats import wfs_todo as todo

if TYPE_CHECKING:
    from holdfast.project import Project
    from holdfast.workflow.formats.wfs_board import Board
    from holdfast.workflow.formats.wfs_session import Session


def write(project: Project, session: Session, board: Board, *, before: bytes | None, anyway: bool = False) -> str:
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
    try:
        return insist(project, session, board, before=before, anyway=anyway)
    except StateError as error:  # a view that cannot be written costs no state
        log.write("warning", f"the list of {session.name} was not written: {error}")
        return str(error)


def insist(
    project: Project, session: Session, board: Board, *, before: bytes | None = None, anyway: bool = False
) -> str:
    """Write a session's list as `write` does. Raises StateError when it cannot be written."""
    path = session.folder / places.LIST
    wanted = content(session, board)
    statefile.guard(project.root, path)
    present = _present(session)
    if present == wanted:
        return ""
    if present is not None and not present.startswith(todo.HEADING.encode()) and not anyway:
        return f"{places.inner(project, path)} is no list of ours and stays as it is"
    if present not in (None, before, places.LIST_TEXT.encode()):
        generations.keep(project, path, present or b"", why="before it was generated anew")
    atomic.write(path, wanted)
    return ""


def renew(project: Project, session: Session, *, anyway: bool = False) -> str:
    """Generate a session's list anew; return why it was not written, or nothing (`write`). Raises StateError."""
    with locked(session.folder):
        now = sessions.load(project, session.folder, marked=session.marked)
        now.must_be_open("its list stays as it is")
        return write(project, now, index.board(project, session.folder), before=None, anyway=anyway)


def content(session: Session, board: Board) -> bytes:
    """Return what a session's list is to hold."""
    return todo.generate(session.topic, board, summaries(session)).encode("utf-8", "replace")


def drift(session: Session, board: Board) -> tuple[str, ...]:
    """Return how a session's list differs from its tasks' files, a line each (I002-30); a missing list differs too."""
    try:
        text = _read(session).decode("utf-8", "replace")
    except MissingError:
        return ("it is missing",)
    except StateError as error:
        return (error.reason,)
    return todo.drift(text, content(session, board).decode("utf-8"), board)


def edited(session: Session, board: Board, wanted: bytes) -> str:
    """Return how somebody has edited a list that was to hold `wanted`; empty where nobody has, or it is new."""
    try:
        present = _present(session)
    except StateError:
        return ""
    if present in (None, wanted, places.LIST_TEXT.encode()) or not present.startswith(todo.HEADING.encode()):
        return ""
    lines = todo.drift(present.decode("utf-8", "replace"), wanted.decode("utf-8"), board)
    return f"{lines[0]}{f'; +{len(lines) - 1} more' if len(lines) > 1 else ''}" if lines else ""


def summaries(session: Session) -> frozenset[str]:
    """Return the ids of the tasks of which there is a summary."""
    with suppress(OSError):
        ends = "-summary.md"
        listed = [each.name for each in (session.folder / places.SUMMARIES).iterdir()]
        return frozenset(name.removesuffix(ends) for name in listed if name.endswith(ends))
    return frozenset()


def _read(session: Session) -> bytes:
    """Return what a session's list holds. Raises StateError."""
    return document.read(session.folder / places.LIST, within=session.folder.parent.parent)[0]


def _present(session: Session) -> bytes | None:
    try:
        return _read(session)
    except MissingError:
        return None
