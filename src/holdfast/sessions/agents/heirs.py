"""In which session the agents of another one go on, once that has another id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock

if TYPE_CHECKING:
    from holdfast.project import OpenProject


def of(project: OpenProject, session: str) -> str | None:
    """Return the session that has another one's agents by now, or None where they were never handed on."""
    row = project.ledger.one("SELECT heir FROM agent_heirs WHERE project = ? AND session = ?", project.key, session)
    return str(row["heir"]) if row else None


def succeed(project: OpenProject, before: str, session: str) -> None:
    """Note that a session has the agents of another one, and of those that one had them of."""
    ledger = project.ledger
    ledger.run("UPDATE agent_heirs SET heir = ? WHERE project = ? AND heir = ?", *(session, project.key, before))
    ledger.run(
        "INSERT INTO agent_heirs (project, session, worktree, host, client, heir, since) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, session) DO UPDATE SET heir = excluded.heir, since = excluded.since",
        *(project.key, before, project.worktree, project.host, project.client, session, clock.stamp()),
    )
    ledger.run("DELETE FROM agent_heirs WHERE project = ? AND session = heir", project.key)
