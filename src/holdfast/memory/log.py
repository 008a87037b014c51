"""The log of a project: one row of the ledger for each thing that happened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.memory.store import new_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.project import OpenProject

KEPT = 10_000  # rows per project; the oldest go


def note(project: OpenProject, kind: str, session: str, entries: Iterable[Mapping[str, Any]]) -> None:
    """Append what happened.

    Args:
        project: the project.
        kind: what kind of things they are.
        session: the session in which they happened.
        entries: the data of each, JSON values only.

    Raises:
        LedgerError: the ledger can't be read or written.
    """
    now = clock.stamp()
    with project.ledger.transaction():
        for data in entries:
            project.ledger.run(
                "INSERT INTO events (id, project, worktree, at, kind, conversation, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
                *(new_id(), project.key, project.worktree, now, kind, session, json.dumps(data)),
            )
        project.ledger.prune(project.key, "events", "at", KEPT)


def last_decisions(project: OpenProject) -> dict[str, tuple[str, str]]:
    """Return the kind and the time of each handler's last decision in a project, by handler: `user/guard.py`."""
    rows = project.ledger.rows(
        "SELECT json_extract(data, '$.handler') AS handler, json_extract(data, '$.outcome') AS outcome, MAX(at) AS at"
        " FROM events WHERE project = ? AND kind = 'decision' AND json_extract(data, '$.dropped') = ''"
        " GROUP BY handler",
        project.key,
    )
    return {row["handler"]: (row["outcome"], row["at"]) for row in rows}
