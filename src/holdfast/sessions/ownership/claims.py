"""Claim a workflow by hand: for the session that asks, the only live session, or the next session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, command_line
from holdfast.formats import RECORDS
from holdfast.frozen import frozen
from holdfast.sessions.compaction import hints
from holdfast.sessions.ownership import owners, selection, sessions
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


@frozen
class Claim:
    """What a claim did.

    Attributes:
        workflow: the workflow.
        session: the session that owns it now; None if no session is live here, so that the next one that is alone gets
            it.
        before: the other session that owned it until now, None for none.
        live: whether that other session is live.
    """

    workflow: Workflow
    session: str | None
    before: str | None
    live: bool


def give(project: Workspace, workflow: Workflow, session: str) -> None:
    """Make a session the owner of a workflow from outside; its model is told at its next prompt."""
    owners.own(project, workflow, session)
    hints.owe(project, session, hints.GIVEN, workflow.key)


def claim(
    project: Workspace, wanted: str | None, session: str | None, *, asked_by: str | None = None, anyway: bool = False
) -> Claim:
    """Make a session the owner of a workflow, however old it is and whoever owned it.

    Args:
        project: the project.
        wanted: its whole id, title or path; None means the current one (`selection.select`).
        session: the new owner; None means the only session that is live here.
        asked_by: the session that asks; None for a person. If the owner is another session, its model is told.
        anyway: whether to take it even from another live session.

    Raises:
        HoldfastError: there is no such workflow, or it is completed; it belongs to another live session; several
            sessions are live and none is named.
    """
    workflow = selection.select(project, wanted, session, whole=True, anyway=anyway)
    if workflow.finished:
        reopening = RECORDS[workflow.format].REOPENING.format(id=workflow.id)
        raise HoldfastError(
            f"{quoted(workflow.title)} is completed, so there is nothing to resume; "
            f"`{command_line('show', workflow.id)}` shows it, and {reopening}"
        )
    if workflow.paused:
        resume = command_line(workflow.format, "resume", workflow.id)
        raise HoldfastError(f"{quoted(workflow.title)} is paused; `{resume}` continues it")
    live = sessions.live_others(project, session or "")
    before = owners.owner(project, workflow)
    if session is None:
        session = _only(live)
    if before == session:
        before = None
    if before in live and not anyway:
        raise HoldfastError(
            f"{quoted(workflow.title)} belongs to session {before}, which is live; add --anyway to take it from there"
        )
    if session is None:
        owners.release(project, workflow, by_hand=True)
    elif session == asked_by:
        owners.own(project, workflow, session)
    else:
        give(project, workflow, session)
    return Claim(workflow, session, before, before in live)


def _only(live: set[str]) -> str | None:
    if len(live) > 1:
        raise HoldfastError(
            f"{len(live)} sessions are live here; name the one that continues with --session: {', '.join(sorted(live))}"
        )
    return next(iter(live), None)
