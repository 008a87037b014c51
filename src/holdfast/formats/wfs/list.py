"""The list of a `wfs` session on disk: generated from its tasks and compared with them, but never read back."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import log
from holdfast.errors import LedgerError, MissingError, StateError
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.formats.wfs import index, places, todo
from holdfast.formats.wfs import session as sessions
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.records import Records


_BEFORE = "before it was generated anew"
_LEFT = "left as it is"
_TOLD = 3  # differences of a list that a message names
STAYS = "it stays as it is; `holdfast wfs todo --anyway` replaces it"
OWN = f"has lines of somebody's own, so {STAYS}"


def write(project: Records, session: Session, board: Board, *, before: bytes | None, anyway: bool = False) -> str:
    """Write a session's list if it differs; return why it was not written, else an empty text.

    A list that was edited is kept as a generation first. A list with lines of somebody's own stays, except with
    `anyway`.

    Args:
        project: the project.
        session: the session.
        board: its tasks.
        before: the list as it was generated before the tasks changed; any other content was edited.
        anyway: whether to replace a list with lines of somebody's own, too.
    """
    try:
        return insist(project, session, board, before=before, anyway=anyway)
    except StateError as error:  # a failed view must not fail the state
        log.write("warning", f"the list of {session.name} wasn't written: {error}")
        return str(error)


def insist(
    project: Records, session: Session, board: Board, *, before: bytes | None = None, anyway: bool = False
) -> str:
    """Write a session's list as `write` does. Raises StateError if it can't be written."""
    path = session.folder / places.LIST
    wanted = content(session, board)
    statefile.guard(project.root, path)
    present = _present(session)
    if present == wanted:
        return ""
    if present and present not in (before, places.LIST_TEXT.encode()):
        own = not todo.is_generated(_text(present))
        if own and not anyway:
            return f"{places.inner(project, path)} {OWN}"
        project.keep(path, present, why=_BEFORE)
        if own:
            statefile.keep_aside(project, path, present)
    atomic.write(path, wanted, durable=False)
    return ""


def renew(project: Records, session: Session, *, anyway: bool = False) -> str:
    """Regenerate a session's list; return why it was not written, else an empty text (`write`). Raises StateError."""
    with locked(session.folder):
        now = sessions.load(project, session.folder, marked=session.marked)
        now.must_be_open("its list stays as it is")
        return write(project, now, index.board(project, session.folder), before=None, anyway=anyway)


def content(session: Session, board: Board) -> bytes:
    """Return the generated list of a session."""
    return todo.generate(session.topic, board, places.summarised(session.folder)).encode("utf-8", "replace")


def drift(session: Session, board: Board) -> tuple[str, ...]:
    """Return how a session's list differs from its tasks, a line each (I002-30); a missing list differs too."""
    try:
        present = _read(session)
    except MissingError:
        return ("it is missing",)
    except StateError as error:
        return (error.reason,)
    return _drift(session, board, present, content(session, board))


def stays(session: Session, board: Board) -> bool:
    """Return whether a list isn't regenerated unasked: it has lines of somebody's own, or ticks an unfinished task."""
    if board.ticked_early:
        return True
    with suppress(StateError):
        return not todo.is_generated(_text(_read(session)))
    return False


def news(project: Records, session: Session, board: Board, wanted: bytes) -> str:
    """Return what to say about a list that should be `wanted` and isn't; empty if that was said before.

    That a list stays as it is, is said once. Its differences are said once for each content.
    """
    try:
        present = _read(session)
    except StateError:
        return ""
    if present in (wanted, places.LIST_TEXT.encode()):
        return ""
    lines = _drift(session, board, present, wanted)
    told = "; ".join(lines[:_TOLD]) + (f"; +{len(lines) - _TOLD} more" if len(lines) > _TOLD else "")
    path, own = session.folder / places.LIST, not todo.is_generated(_text(present))
    said = [f"{places.LIST} {OWN}"] if own and not _was_left(project, path) else []
    if told and not project.holds(path, present):
        said.append(f"{places.LIST} was edited by hand ({told}); it is never read back, and the log keeps what it said")
    project.keep(path, present, why=_LEFT if own else _BEFORE)
    return "; ".join(said)


def _was_left(project: Records, path: Path) -> bool:
    """Return whether a list with lines of somebody's own was left as it is before."""
    with suppress(LedgerError):
        return any(each.why == _LEFT for each in project.versions(path))
    return False


def _drift(session: Session, board: Board, present: bytes, wanted: bytes) -> tuple[str, ...]:
    named = "" if session.marked else session.name
    return todo.drift(_text(present), _text(wanted), board, named)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _read(session: Session) -> bytes:
    """Return the content of a session's list. Raises StateError."""
    return document.read(session.folder / places.LIST, within=session.folder.parent.parent)[0]


def _present(session: Session) -> bytes | None:
    try:
        return _read(session)
    except MissingError:
        return None
