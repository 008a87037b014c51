"""Dropping a table's oldest rows, found by an index and a few at a time, so that no event waits for many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.project import Project

MOST = 200  # rows that go at once; each event that adds one drops more than it adds


def drop(project: Project, table: str, at: str, kept: int, *, key: str = "id") -> None:
    """Drop rows of a project beyond the newest that are kept; an index on project and moment is to be there.

    Args:
        project: whose.
        table: the table's name.
        at: the column of the moment by which rows are old.
        kept: how many stay.
        key: the columns of its primary key.

    Raises:
        LedgerError: the ledger refuses.
    """
    project.ledger.run(
        f"DELETE FROM {table} WHERE ({key}) IN"
        f" (SELECT {key} FROM {table} WHERE project = ? ORDER BY {at} DESC LIMIT ? OFFSET ?)",
        *(project.key, MOST, kept),
    )
