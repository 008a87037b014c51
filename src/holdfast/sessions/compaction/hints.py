"""What a session is told once: hints it was given, and news that it is still to hear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock

if TYPE_CHECKING:
    from holdfast.project import OpenProject

GIVEN = "given"
"""The news that a workflow was given to the session from a terminal."""
GONE = "gone"
"""That the state file of a workflow was removed."""
STALE = "stale plan"
"""A plan in progress that is too old to be saved: its place instead of a workflow's key."""
KEPT = 1_000  # hints per project; the oldest go
UNREAD = "unread"
"""That the file that names a workflow was not read to its end."""


def told(project: OpenProject, session: str, topic: str, workflow: str = "") -> bool:
    """Tell whether a session was given a hint.

    Args:
        project: where.
        session: the session.
        topic: a short name of the hint.
        workflow: the key of the workflow it is about, if it is about one.
    """
    found = project.ledger.one(
        "SELECT 1 FROM hints WHERE project = ? AND session = ? AND topic = ? AND workflow = ? AND told_at IS NOT NULL",
        *(project.key, session, topic, workflow),
    )
    return found is not None


def tell(project: OpenProject, session: str, topic: str, workflow: str = "") -> None:
    """Note that a session was given a hint; see `told`."""
    _note(project, session, topic, workflow, clock.stamp())


def owe(project: OpenProject, session: str, topic: str, workflow: str = "") -> None:
    """Note that a session is still to be told something, also if it was told that before; see `told`."""
    _note(project, session, topic, workflow, None)


def owed(project: OpenProject, session: str, topic: str) -> list[str]:
    """Return the keys of the workflows about which a session is still to be told something, in their order."""
    rows = project.ledger.rows(
        "SELECT workflow FROM hints WHERE project = ? AND session = ? AND topic = ? AND told_at IS NULL"
        " ORDER BY noted_at, workflow",
        *(project.key, session, topic),
    )
    return [str(row["workflow"]) for row in rows]


def take(project: OpenProject, session: str, topic: str) -> list[str]:
    """Return what `owed` does, and note that the session is told."""
    keys = owed(project, session, topic)
    for key in keys:
        tell(project, session, topic, key)
    return keys


def _note(project: OpenProject, session: str, topic: str, workflow: str, told_at: str | None) -> None:
    project.ledger.run(
        "INSERT INTO hints (project, session, topic, workflow, worktree, host, client, noted_at, told_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, session, topic, workflow)"
        " DO UPDATE SET noted_at = excluded.noted_at, told_at = excluded.told_at",
        *(project.key, session, topic, workflow, project.worktree, project.host, project.client),
        *(clock.stamp(), told_at),
    )
    project.ledger.prune(project.key, "hints", "noted_at", KEPT, key="project, session, topic, workflow")
