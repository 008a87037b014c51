"""The log of a project: one row of the ledger for each thing that happened, appended where it happens."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.memory.rows import Event
from holdfast.memory.store import new_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject

LIMIT = 10_000  # events of each kind in a project; the oldest go
PRUNE_INTERVAL = 16  # of so many events one makes the oldest go, because finding them reads `LIMIT` entries of an index


def note(
    project: OpenProject,
    kind: str,
    what: str,
    *,
    conversation: str = "",
    workflow: str = "",
    title: str = "",
    phase: str = "",
    at: str = "",
    data: Mapping[str, Any] | None = None,
    id: str = "",
) -> None:
    """Append what happened (`memory.rows.Event`). Mask secrets before.

    Args:
        project: the project.
        kind: what kind of thing happened.
        what: what happened, in the fixed words of its kind.
        conversation: the conversation in which it happened; empty for none.
        workflow: the key of the workflow it is about; empty for none.
        title: that workflow's title.
        phase: the id of the phase it is about; empty for none.
        at: when (UTC stamp); by default now.
        data: the details, JSON values only.
        id: what names the event, if a later report of the same thing replaces it; empty if none does.

    Raises:
        LedgerError: the ledger can't be read or written.
    """
    about = (conversation, workflow, title, phase, what, json.dumps(dict(data or {})))
    table = project.ledger.table(Event)
    with project.ledger.transaction():
        # Ids grow in the order of rows, even if the clock was set back: telemetry goes on after the last one it sent.
        last = project.ledger.rows("SELECT COALESCE(MAX(id), '') AS id FROM events")[0]["id"]
        table.put(Event(id or new_id(last), at or clock.stamp(), kind, project.worktree, *about))
        if random.randrange(PRUNE_INTERVAL) == 0:
            table.prune("at", LIMIT, kind=kind)


def last_decisions(project: OpenProject) -> dict[str, tuple[str, str]]:
    """Return the kind and the time of each handler's last decision in a project, by handler: `user/guard.py`."""
    rows = project.ledger.rows(
        "SELECT json_extract(data, '$.handler') AS handler, what, MAX(at) AS at FROM events"
        " WHERE kind = 'decision' AND json_extract(data, '$.dropped') = '' GROUP BY handler"
    )
    return {row["handler"]: (row["what"], row["at"]) for row in rows}
