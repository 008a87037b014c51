"""Move agents to their session's new id after a compaction or a fork changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.sessions.agents import lifecycle
from holdfast.sessions.ownership import sessions

if TYPE_CHECKING:
    from holdfast.project import OpenProject


def inherit(project: OpenProject, before: str, session: str) -> None:
    """Give a session the agents that it launched under an earlier id, with everything known about them.

    Their later reports count for the session too, whichever of the two ids they carry.

    Args:
        project: the project.
        before: the earlier id.
        session: the id it goes on under.
    """
    if before == session:
        return
    if sessions.process_gone(project, before):  # the agents ended with the process
        lifecycle.still_there(project, before, ())
    with project.ledger.transaction():
        _launches(project, before, session)
        _runs(project, before, session)
        _succeed(project, before, session)


def _launches(project: OpenProject, before: str, session: str) -> None:
    """Move the launches. For a call that both ids know, the earlier row stays and takes the later one's run id.

    A call that was noted again after the change lacks only what it was for.
    """
    ledger, both = project.ledger, (project.key, session, project.key, before)
    for row in ledger.rows(
        "SELECT tool_use_id, agent_id, output FROM launches WHERE project = ? AND session = ? AND tool_use_id IN"
        " (SELECT tool_use_id FROM launches WHERE project = ? AND session = ?)",
        *both,
    ):
        ledger.run(
            "UPDATE launches SET agent_id = COALESCE(agent_id, ?), output = CASE WHEN output = '' THEN ? ELSE output"
            " END WHERE project = ? AND session = ? AND tool_use_id = ?",
            *(row["agent_id"], row["output"] or "", project.key, before, row["tool_use_id"]),
        )
    ledger.run(
        "DELETE FROM launches WHERE project = ? AND session = ? AND tool_use_id IN"
        " (SELECT tool_use_id FROM launches WHERE project = ? AND session = ?)",
        *both,
    )
    ledger.run("UPDATE launches SET session = ? WHERE project = ? AND session = ?", *(session, project.key, before))


def _runs(project: OpenProject, before: str, session: str) -> None:
    """Move the runs. For a run that both ids know, the stronger signal counts, as if both had come under one id."""
    ledger, both = project.ledger, (project.key, before, project.key, session)
    known = ledger.rows(
        "SELECT agent_id, agent_type, state, words, transcript, consumed_at FROM runs"
        " WHERE project = ? AND session = ? AND agent_id IN"
        " (SELECT agent_id FROM runs WHERE project = ? AND session = ?)",
        *both,
    )
    for row in known:
        if row["state"] != "running":  # that it runs is known under the new id already
            lifecycle.reported(
                project,
                session,
                row["agent_id"],
                row["agent_type"],
                row["state"],
                row["words"],
                transcript=row["transcript"] or "",
                used=row["consumed_at"] is not None,
            )
        ledger.run(
            "DELETE FROM runs WHERE project = ? AND session = ? AND agent_id = ?",
            *(project.key, before, row["agent_id"]),
        )
    ledger.run("UPDATE runs SET session = ? WHERE project = ? AND session = ?", *(session, project.key, before))


def _succeed(project: OpenProject, before: str, session: str) -> None:
    """Note that a session inherits the agents of an earlier id, and whatever that had inherited itself."""
    ledger = project.ledger
    ledger.run("UPDATE agent_heirs SET heir = ? WHERE project = ? AND heir = ?", *(session, project.key, before))
    ledger.run(
        "INSERT INTO agent_heirs (project, session, worktree, host, client, heir, since) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, session) DO UPDATE SET heir = excluded.heir, since = excluded.since",
        *(project.key, before, project.worktree, project.host, project.client.NAME, session, clock.stamp()),
    )
