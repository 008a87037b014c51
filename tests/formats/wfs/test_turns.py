"""Who may act in `.workflow/` if several clients work there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.errors import TransitionError
from holdfast.formats.wfs import places, store, turns, view
from holdfast.sessions.ownership import owners, sessions
from tests.handmade import ME, OTHER, THIRD

if TYPE_CHECKING:
    from holdfast.formats.wfs.session import Session
    from holdfast.sessions.workspace import Workspace


def given(project: Workspace, session: Session, owner: str) -> None:
    """Give a session of `.workflow/` to a client's session."""
    owners.own(project, view.of_session(project, session), owner)


def leave(project: Workspace, session: Session, asking: str | None = ME) -> None:
    """Let a client's session take a session its turn; a third client's session is live all the while."""
    sessions.note_event(project, THIRD)
    turns.leave(project, [session.name], asking, "--anyway does it")


def test_only_another_live_sessions_turn_is_left_alone(project: Workspace, session: Session) -> None:
    """Nobody's, one's own and a dead session's can be taken, though somebody else is live; a person may in any case."""
    leave(project, session)
    given(project, session, ME)
    leave(project, session)
    given(project, session, OTHER)
    leave(project, session)

    sessions.note_event(project, OTHER)
    with pytest.raises(TransitionError, match=f"session {OTHER}, which is live, works on .*; --anyway does it"):
        leave(project, session)
    leave(project, session, None)
    leave(project, session, OTHER)

    sessions.ended(project, OTHER)
    leave(project, session)


def test_a_turn_of_which_nothing_can_be_read_keeps_nobody_waiting(project: Workspace, session: Session) -> None:
    """Whose it was can be told only from its state."""
    given(project, session, OTHER)
    sessions.note_event(project, OTHER)
    places.state(session.folder).write_text('{"steps": []}')

    leave(project, session)


def test_what_cannot_be_read_lays_no_other_turn_open(project: Workspace, session: Session) -> None:
    """Of several that would be paused each is looked at."""
    other = store.create(project, "Other")
    given(project, other, OTHER)
    sessions.note_event(project, OTHER)
    places.state(session.folder).write_text('{"steps": []}')

    with pytest.raises(TransitionError, match=f"session {OTHER}, which is live, works on {other.name}"):
        turns.leave(project, [session.name, other.name], ME, "--anyway does it")


def test_what_is_over_or_gone_has_no_turn(project: Workspace, session: Session) -> None:
    """Whatever marks it; neither has the session that the others make room for."""
    ended = store.create(project, "Ended")
    store.complete(project, ended.name, anyway=True)
    store.resume(project, session.name)
    for name in (ended.name, "WFS-gone"):
        places.marker(project, name).touch()

    assert turns.active(project) == [session.name]
    assert turns.active(project, but=session.name) == []
