"""Which hints a session was given: each is said once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.survival import oldest

if TYPE_CHECKING:
    from holdfast.project import Project

KEPT = 1_000  # hints per project; the oldest go
TABLE = """
CREATE TABLE IF NOT EXISTS hints (
    project TEXT NOT NULL, session TEXT NOT NULL, topic TEXT NOT NULL, workflow TEXT NOT NULL,
    worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL, told_at TEXT NOT NULL,
    PRIMARY KEY (project, session, topic, workflow));
CREATE INDEX IF NOT EXISTS hints_told_at ON hints (project, told_at)
"""


def told(project: Project, session: str, topic: str, workflow: str = "") -> bool:
    """Tell whether a session was given a hint.

    Args:
        project: where.
        session: the session.
        topic: a short name of the hint.
        workflow: the key of the workflow it is about, if it is about one.
    """
    project.ledger.ensure(TABLE)
    found = project.ledger.one(
        "SELECT 1 FROM hints WHERE project = ? AND session = ? AND topic = ? AND workflow = ?",
        *(project.key, session, topic, workflow),
    )
    return found is not None


def tell(project: Project, session: str, topic: str, workflow: str = "") -> None:
    """Note that a session was given a hint; see `told`."""
    project.ledger.ensure(TABLE)
    project.ledger.run(
        "INSERT INTO hints (project, session, topic, workflow, worktree, host, client, told_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, session, topic, workflow) DO UPDATE SET told_at = excluded.told_at",
        *(project.key, session, topic, workflow, project.worktree, project.host, project.client, clock.stamp()),
    )
    oldest.drop(project, "hints", "told_at", KEPT, key="project, session, topic, workflow")
