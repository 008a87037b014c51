"""An event of the timeline, as read from one table of the ledger."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One thing that happened.

    Attributes:
        at: when (UTC stamp).
        kind: `session`, `compaction`, `delivery`, `loss`, `owner`, `phase`, `agent`, `decision`, `generation` or
            `archive`.
        what: what happened, in a few fixed words.
        session: the session's id; empty if unknown.
        workflow: the workflow's key; empty for none.
        title: the workflow's title; empty if the table doesn't hold it.
        phase: the phase's id; empty for none.
        detail: further details in words; may be empty.
        worktree: the checkout of the project.
        data: the details as JSON values.
    """

    at: str
    kind: str
    what: str
    session: str = ""
    workflow: str = ""
    title: str = ""
    phase: str = ""
    detail: str = ""
    worktree: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


class Asked(NamedTuple):
    """Which events are asked for; an empty value is no condition.

    Attributes:
        limit: how many of each kind, the newest first.
        since: the earliest UTC stamp.
        session: only this session; leaves out what belongs to none.
        workflow: only the workflow with this key; leaves out what belongs to none.
        path: the path of that workflow's file, relative to the root.
        worktree: that workflow's checkout.
        folder: the folder that belongs to that workflow alone, relative to the root, with `/` at the end; empty for
            none.
    """

    limit: int
    since: str = ""
    session: str = ""
    workflow: str = ""
    path: str = ""
    worktree: str = ""
    folder: str = ""


def newest(
    project: OpenProject,
    asked: Asked,
    *,
    table: str,
    at: str,
    where: str = "",
    session: str = "session",
    workflow: str = "workflow",
    path: str = "",
    columns: str = "*",
) -> list[dict[str, Any]]:
    """Return the newest rows of a table that are asked for, the oldest of them first. An index finds them.

    Only the module that owns the table may call this, or `timeline` in its place.

    Args:
        project: the project.
        asked: the conditions.
        table: the table's name.
        at: the column of the time; rows without a time are left out.
        where: a further SQL condition.
        session: the column of the session; empty for none.
        workflow: the column of the workflow's key; empty for none.
        path: the column of the file's path, for tables that have this in place of a key.
        columns: what to select.

    Raises:
        LedgerError: the ledger can't be read or written.
    """
    conditions = [f"{at} >= ?"]
    values: list[str | int] = [asked.since]
    for column, wanted in ((session, asked.session), (path or workflow, asked.path if path else asked.workflow)):
        if wanted and not column:
            return []
        if wanted and column == path and asked.folder:
            conditions.append(f"({column} = ? OR substr({column}, 1, ?) = ?)")
            values += [wanted, len(asked.folder), asked.folder]
        elif wanted:
            conditions.append(f"{column} = ?")
            values.append(wanted)
    if asked.workflow:
        conditions.append("worktree = ?")
        values.append(asked.worktree)
    conditions += [where] if where else []
    rows = project.ledger.rows(
        f"SELECT {columns} FROM {table} WHERE {' AND '.join(conditions)} ORDER BY {at} DESC LIMIT ?",
        *(*values, asked.limit),
    )
    return rows[::-1]


def of_row(row: Mapping[str, Any]) -> TimelineEvent:
    """Return an event of the log as one of the timeline."""
    return TimelineEvent(
        row["at"],
        row["kind"],
        row["what"],
        row["conversation"],
        row["workflow"],
        row["title"],
        row["phase"],
        worktree=row["worktree"],
        data=json.loads(row["data"]),
    )
