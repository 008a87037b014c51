"""What the log tells of agents: which were launched, which reported an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.sessions.agents import launch_runs
from holdfast.sessions.history import timeline_event
from holdfast.sessions.history.timeline_event import TimelineEvent
from holdfast.workflow.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject
    from holdfast.sessions.history.timeline_event import Asked

_ENDED = {
    "missing": "agent is gone",
    "stopped": "agent stopped",
    "completed": "agent completed",
    "failed": "agent failed",
}


def happened(project: OpenProject, asked: Asked) -> list[TimelineEvent]:
    """Return which agents were launched, and which reported an end: those asked for."""
    begun = timeline_event.newest(project, asked, table="launches", at="launched_at")
    return [
        *(_happening(row, row["launched_at"], "agent launched", "") for row in begun),
        *(_happening(row, row["changed_at"], _ENDED[row["state"]], row["words"]) for row in _ended(project, asked)),
    ]


def _ended(project: OpenProject, asked: Asked) -> list[dict[str, Any]]:
    if not asked.workflow:
        named = ", ".join(
            f"(SELECT MAX(launches.{each}) FROM launches WHERE {launch_runs.ON}) AS {each}"
            for each in ("workflow", "phase")
        )
        return timeline_event.newest(
            *(project, asked),
            table="runs",
            at="changed_at",
            where="state <> 'running'",
            columns=f"session, agent_id, agent_type, state, words, changed_at, worktree, {named}",
        )
    rows = project.ledger.rows(
        "SELECT runs.session AS session, runs.agent_id AS agent_id, runs.agent_type AS agent_type, state, words,"
        f" changed_at, runs.worktree AS worktree, workflow, phase FROM {launch_runs.BOTH}"
        " WHERE launches.project = ? AND workflow = ? AND launches.worktree = ? AND state <> 'running'"
        " AND changed_at >= ? AND (? = '' OR runs.session = ?) ORDER BY changed_at DESC LIMIT ?",
        *(project.key, asked.workflow, asked.worktree, asked.since, asked.session, asked.session, asked.limit),
    )
    return rows[::-1]


def _happening(row: Mapping[str, Any], at: str, what: str, words: str) -> TimelineEvent:
    said = one_line(words, 120)
    return TimelineEvent(
        *(at, "agent", what, row["session"], row["workflow"] or "", "", row["phase"] or ""),
        detail=": ".join(filter(None, (row["agent_type"] or row["agent_id"] or "", said))),
        worktree=row["worktree"],
        data={"agent_id": row["agent_id"], "agent_type": row["agent_type"], "words": words},
    )
