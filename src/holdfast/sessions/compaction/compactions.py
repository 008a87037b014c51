"""Whose compaction an event announces that no client has marked: the main conversation's or a subagent's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions.agents import agent_status
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
    resting = sessions.resting(project, session) and bool(agent_status.running(project, session))
    return resting or in_foreground(project, session)


def whose(project: OpenProject, session: str) -> str | None:
    """Return the agent whose own compaction an unmarked event announces: the one that runs; None where several do.

    To be asked where `is_an_agents` says that it is one's.
    """
    found = {*_waited_for(project, session), *(each.agent_id for each in agent_status.running(project, session))}
    return found.pop() if len(found) == 1 else None


def in_foreground(project: OpenProject, session: str) -> bool:
    """Tell whether the main thread waits for a foreground agent right now.

    Then a compaction can only be the agent's own: clients before the one that marks such events with `agent_id`
    send them unmarked.
    """
    return bool(_waited_for(project, session))


def _waited_for(project: OpenProject, session: str) -> list[str]:
    """Return the agents that may be running in the foreground."""
    launches = agent_status.unanswered(project, session)
    return [
        run.agent_id
        for run in (agent_status.unnamed(project, session) if launches else ())
        if any(run.started_at >= each.launched_at for each in launches)  # an older one was interrupted, untold
    ]
