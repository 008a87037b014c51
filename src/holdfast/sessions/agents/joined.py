"""Launches beside the runs they started, as rows out of both tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.sessions.agents import launches, runs

if TYPE_CHECKING:
    from holdfast.project import Project

ON = "runs.project = launches.project AND runs.session = launches.session AND runs.agent_id = launches.agent_id"
BOTH = f"launches JOIN runs ON {ON}"
ALL = f"launches LEFT JOIN runs ON {ON}"  # those too of whose run nothing is known


def rows(project: Project, sql: str, *values: object) -> list[dict[str, Any]]:
    """Return the rows of a query over launches and runs. Raises LedgerError."""
    ensure(project)
    return project.ledger.rows(sql, *values)


def ensure(project: Project) -> None:
    """Make sure that both tables are there. Raises LedgerError."""
    project.ledger.ensure(launches.TABLE)
    project.ledger.ensure(runs.TABLE)
