"""The ledger that a project used through its `project.id` while its configuration was trusted."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.config import Config
from holdfast.errors import command_line
from holdfast.project import OpenProject, Project

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 0.5  # seconds to wait for a lock; short, because an event waits for the answer
# The tables with an index on `worktree`. Rows of the other tables belong to a session, so their worktrees are in
# `sessions`.
_TABLES = (
    "SELECT DISTINCT tables.name FROM sqlite_master AS tables, pragma_index_list(tables.name) AS indexes,"
    " pragma_index_info(indexes.name) AS columns"
    " WHERE tables.type = 'table' AND columns.seqno = 1 AND columns.name = 'worktree'"
)
# Steps through the index from one worktree to the next, however many rows each has.
_WORKTREES = (
    "WITH RECURSIVE known (checkout) AS (SELECT min(worktree) FROM {table} WHERE project = :project UNION"
    " SELECT (SELECT min(worktree) FROM {table} WHERE project = :project AND worktree > known.checkout)"
    " FROM known WHERE known.checkout IS NOT NULL) SELECT checkout FROM known WHERE checkout > ''"
)


def find(project: OpenProject) -> Path | None:
    """Return the ledger that trusting the project's `holdfast.toml` would bring back; None if there is none.

    A ledger with that id counts only if this very repository has used it: a clone could name any id.
    """
    file = project.untrusted_ledger
    if file is None:
        return None
    with suppress(sqlite3.Error), closing(_reader(file)) as connection:
        for each in _worktrees(connection, file.stem):
            if Project(Path(each), Config()).location == project.location:
                return file
    return None


def notice(project: OpenProject) -> str:
    """Return what to tell the user about that ledger, with the command that brings it back; empty without one."""
    file = find(project)
    if file is None:
        return ""
    place = paths.project_config(project.root)
    return (
        f"project.id in {place} doesn't count until you trust that file. What Holdfast knew of this project is in "
        f"{file}. To use it again, read the file, then run: {command(project)}"
    )


def command(project: OpenProject) -> str:
    """Return the command that trusts the project's `holdfast.toml`."""
    place = paths.project_config(project.root)
    return command_line("handlers", "trust", "--project", str(project.root), str(place))


def _worktrees(connection: sqlite3.Connection, project: str) -> Iterator[str]:
    """Yield the checkouts that a ledger knows from sessions and from commands in a terminal. Raises sqlite3.Error."""
    seen = set[str]()
    for (table,) in connection.execute(_TABLES).fetchall():
        found = {str(row[0]) for row in connection.execute(_WORKTREES.format(table=table), {"project": project})}
        yield from found - seen
        seen |= found


def _reader(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", timeout=PATIENCE_S, uri=True)
