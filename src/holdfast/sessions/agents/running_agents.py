"""Agents in flight: launched, without a report of their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.sessions.agents import launch_runs, launches

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.project import OpenProject
    from holdfast.sessions.agents.launches import Launch

# A launch whose agent has not reported its end, beside its run if there is one; or one that was started again.
_AT_WORK = "(runs.resumed = 1 OR (launches.verdict IS NULL AND (runs.state IS NULL OR runs.state = 'running')))"


class Flight(NamedTuple):
    """An agent that was launched and has not reported its end.

    Attributes:
        session: the main session that launched it.
        agent_type: the agent's name.
        agent_id: the run; None while the client has not named it and several could be meant.
        phase: the id of the phase it works for, if any.
        since: when it was launched (UTC stamp).
        background: whether the main conversation goes on meanwhile.
    """

    session: str
    agent_type: str
    agent_id: str | None
    phase: str | None
    since: str
    background: bool


def running(project: OpenProject, session: str) -> list[Launch]:
    """Return the launches whose agents have been started and have not reported an end."""
    rows = project.ledger.rows(
        f"SELECT {launches.COLUMNS} FROM {launch_runs.ALL}"
        f" WHERE launches.project = ? AND launches.session = ? AND COALESCE(launches.agent_id, '') <> ''"
        f" AND {_AT_WORK} AND (launches.verdict IS NULL OR launches.agent_id IN"  # no other, but an index finds them
        " (SELECT agent_id FROM runs WHERE project = ? AND session = ? AND resumed = 1))"
        " ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, session, project.key, session),
    )
    return [launches.of_row(row) for row in rows]


def at_work(project: OpenProject, session: str) -> list[Launch]:
    """Return a session's launches for a phase that nobody has judged yet, of the foreground too."""
    rows = project.ledger.rows(
        f"SELECT {launches.COLUMNS} FROM {launch_runs.ALL}"
        " WHERE launches.project = ? AND launches.session = ? AND launches.verdict IS NULL"
        " AND launches.phase IS NOT NULL AND (runs.state IS NULL OR runs.state = 'running')"
        " ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, session),
    )
    return [launches.of_row(row) for row in rows]


def in_flight(project: OpenProject, workflow: str, free: Callable[[str], bool]) -> list[Flight]:
    """Return the agents of all sessions of this worktree that work for a workflow, the first launched first.

    A launch that names its run before it has ended runs in the background: the client names a foreground agent only
    when it returns (client fact §3.4).

    Args:
        project: where.
        workflow: the workflow's key.
        free: whether a session's agents for no workflow in particular count too.
    """
    rows = project.ledger.rows(
        f"SELECT launches.* FROM {launch_runs.ALL}"
        f" WHERE launches.project = ? AND launches.worktree = ? AND {_AT_WORK}"
        " AND (launches.workflow = ? OR launches.workflow IS NULL)"
        " ORDER BY launches.launched_at, launches.tool_use_id",
        *(project.key, project.worktree, workflow),
    )
    rows = [row for row in rows if row["workflow"] or free(row["session"])]
    waited_for = [_whose(row) for row in rows if row["agent_id"] is None]
    return [
        Flight(
            session=row["session"],
            agent_type=row["agent_type"],
            agent_id=row["agent_id"] or (_unnamed(project, row) if waited_for.count(_whose(row)) == 1 else None),
            phase=row["phase"],
            since=row["launched_at"],
            background=row["agent_id"] is not None,
        )
        for row in rows
    ]


def _whose(row: dict[str, Any]) -> tuple[str, str]:
    return row["session"], row["agent_type"]


def _unnamed(project: OpenProject, launch: dict[str, Any]) -> str | None:
    """Return the one run that a launch whose run nobody has named can only have started."""
    rows = project.ledger.rows(
        "SELECT agent_id FROM runs WHERE project = ? AND session = ? AND agent_type = ? AND state = 'running'"
        " AND started_at >= ? AND agent_id NOT IN"
        " (SELECT agent_id FROM launches WHERE project = ? AND session = ? AND agent_id IS NOT NULL)",
        *(project.key, *_whose(launch), launch["launched_at"], project.key, launch["session"]),
    )
    return str(rows[0]["agent_id"]) if len(rows) == 1 else None
