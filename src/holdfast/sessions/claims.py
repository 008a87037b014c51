"""Claim a workflow by hand: for the session that asks, one that is named, or the one whose prompt is its guidance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, command_line
from holdfast.sessions import conversations, messages, owners, selection
from holdfast.workflow import registry
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim did.

    Attributes:
        workflow: the workflow.
        session: the session that owns it now; None for nobody.
        before: the other session that owned it until now, None for none.
        live: whether that other session is live.
        held: whether `session` is live and keeps the workflow.
    """

    workflow: Workflow
    session: str | None
    before: str | None = None
    live: bool = False
    held: bool = False


def give(project: Workspace, workflow: Workflow, conversation: str) -> None:
    """Make a conversation the owner of a workflow from outside; its model is told at its next prompt."""
    owners.own(project, workflow, conversation)
    messages.owe(project, conversation, messages.GIVEN, workflow.key)


def claim(
    project: Workspace, wanted: str | None, session: str | None, *, asked_by: str | None = None, anyway: bool = False
) -> Claim:
    """Make a session the owner of a workflow, however old it is and whoever owned it.

    Args:
        project: the project.
        wanted: its whole id, title or path; None means the current one (`selection.select`).
        session: the new owner. None means nobody yet: attended sessions are told of the workflow, unless a live one
            owns it.
        asked_by: the session that asks; None for a person. If the owner is another session, its model is told.
        anyway: whether to take it even from another live session.

    Raises:
        HoldfastError: there is no such workflow, it could be several, or it is completed.
        TransitionError: it is paused, and another live session works on what would be paused instead.
    """
    workflow = selection.select(project, wanted, session, whole=True, anyway=True)
    if workflow.finished:
        raise HoldfastError(
            f"{quoted(workflow.title)} is completed, so there is nothing to resume; "
            f"`{command_line('status', workflow.id)}` shows it. To open it again: {registry.reopening(workflow)}"
        )
    before = owners.owner(project, workflow)
    live = before in conversations.live_others(project, session or "")
    if workflow.paused and (session is None or anyway or not live):
        workflow = registry.get(workflow.format).resume(project, workflow, asked_by, anyway=anyway)
    if live and (session is None or not anyway):
        return Claim(workflow, before, held=True)
    if session is None:
        owners.release(project, workflow, by_hand=True)
    elif session == asked_by:
        owners.own(project, workflow, session)
    else:
        give(project, workflow, session)
    return Claim(workflow, session, None if before == session else before, live)
