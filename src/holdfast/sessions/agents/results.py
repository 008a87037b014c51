"""Launches whose results are in: those that have not been judged, or were judged too well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast.sessions.agents import launch_runs, launches, runs

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.agents.launches import Launch

_COLUMNS = f"SELECT {launches.COLUMNS}, runs.state AS state, runs.words AS words"
_SELECT = f"{_COLUMNS} FROM {launch_runs.BOTH}"


class Due(NamedTuple):
    """A launch whose result is in: how the run ended and its last words."""

    launch: Launch
    state: Literal["completed", "failed"]
    words: str


def due(project: OpenProject, session: str) -> list[Due]:
    """Return the launches whose results are in and have not been judged.

    Only to be asked at a main-thread event, after that event's own signal was kept: there a bare SubagentStop
    with no contrary signal counts as completed.
    """
    rows = project.ledger.rows(
        f"{_SELECT} WHERE launches.project = ? AND launches.session = ? AND {launches.OPEN}"
        " AND runs.state <> 'running' ORDER BY runs.changed_at, launches.tool_use_id",
        *(project.key, session),
    )
    return [
        Due(launches.of_row(row), "failed", row["words"] or runs.MISSING)
        if row["state"] in ("failed", "missing")
        else Due(launches.of_row(row), "completed", row["words"])
        for row in rows
    ]


def disputed(project: OpenProject, session: str) -> list[Due]:
    """Return, once each, the launches that were judged completed and whose run reported a failure only afterwards."""
    rows = project.ledger.rows(
        f"{_COLUMNS} FROM runs CROSS JOIN launches WHERE runs.project = ? AND runs.session = ?"  # failures are few
        f" AND runs.state = 'failed' AND {launch_runs.ON} AND launches.verdict = 'completed'"
        " AND launches.phase IS NOT NULL",
        *(project.key, session),
    )
    return [
        Due(launches.of_row(row), "failed", row["words"])
        for row in rows
        if launches.dispute(project, session, row["tool_use_id"])
    ]
