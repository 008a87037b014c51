"""Which version of the ledger's schema a file has, and whether it is a ledger of ours at all.

Every module makes its own tables (`Ledger.ensure`), and columns that are added later come by themselves. A change that
an earlier Holdfast could not live with gets a number: append a function to `MIGRATIONS`.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

APPLICATION_ID = 0x486F6C64  # "Hold"; SQLite keeps it in the file's header, where `file` and others can see it
# Each takes a ledger to the next version, the first one from 1 to 2, inside the transaction that opens it. A table that
# nothing has needed yet is not there.
MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = ()
# The tables of ledgers that were made before files had a version; all of them have a column `project`.
_UNNUMBERED = frozenset(
    (
        *("agent_heirs", "archive", "attempts", "costs", "deliveries", "extracts", "generations", "launches"),
        *("losses", "owners", "ownings", "phases_seen", "readers", "reads", "runs", "seals", "sessions"),
        *("step_runs", "summaries", "todo_lists", "todo_tasks", "tombstones"),
    )
)


class RefusedError(Exception):
    """A file that this Holdfast must not use; the text is the sentence a person needs.

    `later` tells a ledger of a later version from what is no ledger of ours.
    """

    def __init__(self, text: str, *, later: bool = False) -> None:
        super().__init__(text)
        self.later = later


def version() -> int:
    """Return the version that this Holdfast writes; 1 is the first that was numbered."""
    return 1 + len(MIGRATIONS)


def is_current(connection: sqlite3.Connection, file: Path) -> bool:
    """Tell whether a ledger is of this version; False for one that `adopt` brings there, an empty file too.

    Raises:
        RefusedError: it is of a later version, or no ledger of ours.
        sqlite3.Error: it cannot be read.
    """
    # Neither of the two reads the tables, so they work even where a newer SQLite wrote what ours does not understand.
    application, number = _value(connection, "application_id"), _value(connection, "user_version")
    if application not in (0, APPLICATION_ID):
        whose = f"another program's SQLite database (application_id {application:#010x})"
        raise RefusedError(f"{file} is {whose}, so nothing is remembered until you move it away")
    later = not 0 <= number <= version()
    if application == 0 and _is_foreign(connection, later=later):
        if _value(connection, "application_id") != 0:  # between the two looks another process has begun it
            return is_current(connection, file)
        whose = "an SQLite database without any table of Holdfast's"
        raise RefusedError(f"{file} is {whose}, so nothing is remembered until you move it away")
    if later:
        raise RefusedError(
            f"{file} has schema version {number} and this Holdfast knows versions up to {version()}, so nothing is "
            "remembered until you upgrade Holdfast",
            later=True,
        )
    return application == APPLICATION_ID and number == version()


def adopt(connection: sqlite3.Connection, file: Path) -> None:
    """Bring a ledger to this version in one transaction; of two processes that try, the second finds it done.

    Raises:
        RefusedError: another process has brought it to a later version meanwhile.
        sqlite3.Error: it cannot be written, or is locked.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not is_current(connection, file):
            for migrate in MIGRATIONS[max(_value(connection, "user_version"), 1) - 1 :]:
                migrate(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version()}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(Exception):  # some failures have already undone everything
            connection.execute("ROLLBACK")
        raise


def _value(connection: sqlite3.Connection, pragma: str) -> int:
    return int(_rows(connection, f"PRAGMA {pragma}")[0][0])


def _rows(connection: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query as tuples, however the connection gives them."""
    with closing(connection.execute(sql)) as cursor:
        cursor.row_factory = None
        return cursor.fetchall()


def _is_foreign(connection: sqlite3.Connection, *, later: bool) -> bool:
    """Tell whether a database without an application id has tables, and none that an unnumbered ledger has."""
    import sqlite3

    try:
        names = {name for (name,) in _rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        if later:  # its tables need not be known to our SQLite
            return False
        raise
    return bool(names) and not any(
        any(column[1] == "project" for column in _rows(connection, f"PRAGMA table_info({name})"))
        for name in names & _UNNUMBERED
    )
