"""Claiming a workflow by hand: for the session that asks, the one that is live, or the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS
from holdfast.sessions.compaction import hints
from holdfast.sessions.ownership import owners, selection, sessions

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Claim:
    """What came of it.

    Attributes:
        workflow: what was claimed.
        session: whose it is now; None while no session is live here, and the next one that is alone gets it.
        before: the other session that had it, if any; `live` tells whether it still runs.
        live: see `before`.
    """

    workflow: Workflow
    session: str | None
    before: str | None
    live: bool


def give(project: Workspace, workflow: Workflow, session: str) -> None:
    """Make a workflow a session's own from outside, and let its model hear of it at its next prompt."""
    owners.own(project, workflow, session)
    hints.owe(project, session, hints.GIVEN, workflow.key)


def claim(
    project: Workspace, wanted: str | None, session: str | None, *, asked_by: str | None = None, anyway: bool = False
) -> Claim:
    """Make a workflow a session's own, however old it is and whoever had it.

    Args:
        project: where.
        wanted: its id, title or path, whole; None is the one it must mean (`selection.select`).
        session: whose it is to be; None is the one session that is live here.
        asked_by: the session that asks; None is a person. Another session's model hears of its new workflow.
        anyway: also take it from another session that is live.

    Raises:
        HoldfastError: there is no such workflow, or it is completed; it belongs to another live session; several
            sessions are live and none is named.
    """
    workflow = selection.select(project, wanted, session, whole=True, anyway=anyway)
    if workflow.finished:
        reopening = RECORDS[workflow.format].REOPENING.format(id=workflow.id)
        raise HoldfastError(
            f"{workflow.title[:60]!r} is completed, so there is nothing to resume; `holdfast show {workflow.id}` shows "
            f"it, and {reopening}"
        )
    if workflow.paused:
        raise HoldfastError(
            f"{workflow.title[:60]!r} is paused; `holdfast {workflow.format} resume {workflow.id}` goes on with it"
        )
    live = sessions.live_others(project, session or "")
    before = owners.owner(project, workflow)
    if session is None:
        session = _only(live)
    if before == session:
        before = None
    if before in live and not anyway:
        raise HoldfastError(
            f"{workflow.title[:60]!r} belongs to session {before}, which is live; give --anyway to take it from there"
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
            f"{len(live)} sessions are live here ({', '.join(sorted(live))}); name the one that goes on with --session"
        )
    return next(iter(live), None)
