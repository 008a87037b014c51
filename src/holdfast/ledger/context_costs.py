"""What was put into the model's context, a row of the ledger for each handler's part of a reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.ledger.database import new_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject

UNITS_PER_TOKEN = 4  # UTF-16 units that are taken for a token; English prose and code have about so many
RULE = (
    f"characters are UTF-16 units, as the client counts; tokens are estimated: characters / {UNITS_PER_TOKEN}, "
    "rounded up"
)
KEPT = 100_000  # rows of a project; the oldest go
_OFTEN = "00"  # with which digits an id begins that has the oldest rows looked for: one in 256
_MOST = 2_000  # rows that go at once, more than come meanwhile


@dataclass(frozen=True, slots=True)
class Cost:
    """What one handler put into the context at one sort of event of a session.

    Attributes:
        session: whose.
        event: with which event's replies.
        handler: `place/name` of its file.
        agent: whether it was a subagent's context, not the main conversation's.
        units: how many UTF-16 units.
        replies: in how many replies.
        last_at: when it last did (UTC stamp).
    """

    session: str
    event: str
    handler: str
    agent: bool
    units: int
    replies: int
    last_at: str

    @property
    def tokens(self) -> int:
        """How many tokens that may be (`RULE`)."""
        return tokens(self.units)


def tokens(units: int) -> int:
    """Return how many tokens a number of UTF-16 units may be (`RULE`)."""
    return -(-units // UNITS_PER_TOKEN)


def note(project: OpenProject, session: str, event: str, units: Mapping[str, int], *, agent: bool) -> None:
    """Note what a reply that was written has put into the context.

    Args:
        project: the project.
        session: whose.
        event: which event was answered.
        units: how many UTF-16 units are whose; by `place/name` of the handler's file.
        agent: whether it went to a subagent.

    Raises:
        LedgerError: the ledger can't be read or written.
    """
    reply, now = new_id(), clock.stamp()
    with project.ledger.transaction():
        for handler, count in units.items():
            project.ledger.run(
                "INSERT INTO costs (id, project, worktree, host, client, session, reply, event, handler, agent, units,"
                " at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(new_id(), project.key, project.worktree, project.host, project.client, session, reply, event),
                *(handler, int(agent), count, now),
            )
        if reply.startswith(_OFTEN):
            drop_oldest(project)


def drop_oldest(project: OpenProject) -> None:
    """Drop the rows beyond those that are kept. Raises LedgerError."""
    project.ledger.run(
        "DELETE FROM costs WHERE id IN (SELECT id FROM costs WHERE project = ? AND at <"
        " (SELECT at FROM costs WHERE project = ? ORDER BY at DESC LIMIT 1 OFFSET ?) ORDER BY at LIMIT ?)",
        *(project.key, project.key, KEPT - 1, _MOST),
    )


def totals(project: OpenProject, *, session: str = "", since: str = "") -> list[Cost]:
    """Return what was put into the context, the session that was active last first, the largest part of it first.

    Args:
        project: the project.
        session: only of sessions whose id begins so; empty is of all.
        since: not before this UTC stamp; empty is from the beginning.

    Raises:
        LedgerError: the ledger can't be read or written.
    """
    rows = project.ledger.rows(
        "SELECT session, event, handler, agent, SUM(units) AS units, COUNT(*) AS replies, MAX(at) AS last_at"
        " FROM costs WHERE project = ? AND at >= ? AND session >= ? AND session < ?"
        " GROUP BY session, event, handler, agent",
        *(project.key, since, session, f"{session}\U0010ffff"),
    )
    latest: dict[str, str] = {}
    for row in rows:
        latest[row["session"]] = max(latest.get(row["session"], ""), row["last_at"])
    rows.sort(key=lambda row: (row["units"], row["last_at"], row["event"], row["handler"]), reverse=True)
    rows.sort(key=lambda row: (latest[row["session"]], row["session"]), reverse=True)
    return [Cost(**row | {"agent": bool(row["agent"])}) for row in rows]
