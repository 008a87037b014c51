"""The compaction's own summary, kept from its SubagentStop until the guidance is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.files.redact import beginning

if TYPE_CHECKING:
    from holdfast.project import OpenProject

LONGEST = 200_000  # characters of a summary that are kept; real ones have some ten thousand


def note(project: OpenProject, session: str, text: str) -> None:
    """Keep what a session's summary says, without secrets, in place of an earlier one that nobody took."""
    project.ledger.run(
        "INSERT INTO summaries (project, session, said, said_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (project, session) DO UPDATE SET said = excluded.said, said_at = excluded.said_at",
        *(project.key, session, beginning(text, LONGEST), clock.stamp()),
    )


def take(project: OpenProject, session: str) -> str:
    """Return what a session's summary says and forget it; empty if nobody noted one."""
    with project.ledger.transaction():
        row = project.ledger.one("SELECT said FROM summaries WHERE project = ? AND session = ?", project.key, session)
        project.ledger.run("DELETE FROM summaries WHERE project = ? AND session = ?", project.key, session)
    return str(row["said"]) if row else ""
