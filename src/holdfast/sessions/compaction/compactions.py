"""Whose compaction an event announces that no client has marked: the main conversation's or a subagent's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions.agents import running_agents
from holdfast.sessions.ownership import sessions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject


def is_an_agents(project: OpenProject, session: str, environ: Mapping[str, str]) -> bool:
    """Tell whether an unmarked compaction event is a subagent's own.

    Clients that name their process to hooks (`CLAUDE_PID`) also mark such events with `agent_id`. On older ones it is
    an agent's while the main thread waits for a foreground agent, or rests after a Stop with an agent still running.
    While the main thread works beside a background agent nothing tells the two apart; then it counts as the main one.
    """
    if environ.get("CLAUDE_PID"):
        return False
    resting = sessions.resting(project, session) and bool(running_agents.running(project, session))
    return resting or in_foreground(project, session)


def whose(project: OpenProject, session: str) -> str | None:
    """Return the agent whose own compaction an unmarked event announces: the one that runs; None where several do.

    To be asked where `is_an_agents` says that it is one's.
    """
    found = {*_waited_for(project, session), *(each.agent_id for each in running_agents.running(project, session))}
    return found.pop() if len(found) == 1 else None


def in_foreground(project: OpenProject, session: str) -> bool:
    """Tell whether the main thread waits for a foreground agent right now.

    Then a compaction can only be the agent's own: clients before the one that marks such events with `agent_id`
    send them unmarked.
    """
    return bool(_waited_for(project, session))


def _waited_for(project: OpenProject, session: str) -> list[str]:
    """Return the agents that may be running in the foreground."""
    rows = project.ledger.rows(
        "SELECT DISTINCT runs.agent_id AS agent_id FROM runs JOIN launches ON launches.project = runs.project"
        " AND launches.session = runs.session AND launches.verdict IS NULL AND launches.agent_id IS NULL"
        " AND launches.launched_at <= runs.started_at"  # an older run was interrupted, which no event tells
        " WHERE runs.project = ? AND runs.session = ? AND runs.state = 'running' AND NOT EXISTS (SELECT 1"
        " FROM launches AS named WHERE named.project = runs.project AND named.session = runs.session"
        " AND named.agent_id = runs.agent_id)",
        *(project.key, session),
    )
    return [str(row["agent_id"]) for row in rows]
