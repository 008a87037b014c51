"""One thing that happened, as a table of the ledger tells it to the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """What happened.

    Attributes:
        at: when (UTC stamp).
        kind: `session`, `compaction`, `delivery`, `loss`, `owner`, `phase`, `agent`, `generation` or `archive`.
        what: in a few words, the same for all of its sort.
        session: in which session; empty where that is not known.
        workflow: the workflow's key; empty where it is about none.
        title: the workflow's title; empty where the table does not say.
        phase: the phase's id; empty where it is about none.
        detail: what else there is to say of this one; may be empty.
        worktree: in which checkout of the project.
        data: the same for programs.
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
    """Which happenings are asked for: at most `limit` of each sort, the newest; empty is no condition.

    Attributes:
        limit: how many.
        since: not before this UTC stamp.
        session: only of this session; what belongs to no session is left out then.
        workflow: only of the workflow with this key; what belongs to none is left out then.
        path: where that workflow's file lies, relative to the root.
        worktree: that workflow's checkout.
        folder: the folder with a `/` at its end that is all that workflow's own, relative to the root, if one is.
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
    """Return the newest of a table's rows that are asked for, in their order, found by an index.

    Only to be called by the module that owns the table, or that tells of it in the owner's place (`timeline`).

    Args:
        project: whose.
        asked: which.
        table: its name.
        at: the column of the moment; rows without one are left out.
        where: a further condition.
        session: the column of the session; empty where there is none.
        workflow: the column of the workflow's key; empty where there is none.
        path: the column of its file, where the table has that in place of a key.
        columns: what to select.

    Raises:
        LedgerError: the ledger refuses.
    """
    conditions = [f"project = ? AND {at} >= ?"]
    values: list[str | int] = [project.key, asked.since]
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
