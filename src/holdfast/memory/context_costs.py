"""Context costs: what replies put into the model's context, with one row of the ledger per handler and reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.memory.store import new_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject

UNITS_PER_TOKEN = 4  # UTF-16 units that count as a token; about right for English prose and code
RULE = (
    f"characters are UTF-16 units, as the client counts; tokens are estimated: characters / {UNITS_PER_TOKEN}, "
    "rounded up"
)
KEPT = 100_000  # rows per project; the oldest go
_OFTEN = "00"  # an id that begins with these digits, one in 256, makes the oldest rows go
_MOST = 2_000  # rows that go at once, more than are added in between


@dataclass(frozen=True, slots=True)
class Cost:
    """What one handler put into the context at one kind of event of a session.

    Attributes:
        session: the session.
        event: the event whose replies carried it.
        handler: `place/name` of the handler's file.
        agent: whether it was a subagent's context, not the main conversation's.
        units: UTF-16 units in all.
        replies: the number of replies.
        last_at: the time of the last reply (UTC stamp).
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
        """The estimated number of tokens (`RULE`)."""
        return tokens(self.units)


def tokens(units: int) -> int:
    """Return the estimated number of tokens of a number of UTF-16 units (`RULE`)."""
    return -(-units // UNITS_PER_TOKEN)


def note(project: OpenProject, session: str, event: str, units: Mapping[str, int], *, agent: bool) -> None:
    """Store what a written reply put into the context.

    Args:
        project: the project.
        session: the session.
        event: the event that was answered.
        units: the number of UTF-16 units by `place/name` of the handler's file.
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
                *(new_id(), project.key, project.worktree, project.host, project.client.NAME, session, reply, event),
                *(handler, int(agent), count, now),
            )
        if reply.startswith(_OFTEN):
            drop_oldest(project)


def drop_oldest(project: OpenProject) -> None:
    """Drop the oldest rows beyond `KEPT`, up to `_MOST` at once. Raises LedgerError."""
    project.ledger.run(
        "DELETE FROM costs WHERE id IN (SELECT id FROM costs WHERE project = ? AND at <"
        " (SELECT at FROM costs WHERE project = ? ORDER BY at DESC LIMIT 1 OFFSET ?) ORDER BY at LIMIT ?)",
        *(project.key, project.key, KEPT - 1, _MOST),
    )


def totals(project: OpenProject, *, session: str = "", since: str = "") -> list[Cost]:
    """Return the costs: the session that was active last first, and its largest cost first.

    Args:
        project: the project.
        session: only sessions whose id begins with this; empty for all.
        since: the earliest UTC stamp; empty for no limit.

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
