"""Which version of the ledger's schema a file has, and whether it is a ledger of ours at all.

`schema.sql` has the schema as numbered migrations. Two numbers say how far a ledger is. Its table `migrations` lists
those it has. Its `user_version` is the last one that an earlier Holdfast could not live with: such a one leaves the
file alone. A migration that only adds does not raise it, so an earlier copy of Holdfast, such as a server that is still
running or a plugin that is not upgraded yet, goes on writing beside this one.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

APPLICATION_ID = 0x486F6C64  # "Hold"; SQLite keeps it in the file's header, where `file` and others can see it
VERSION = 1  # the last migration that an earlier Holdfast could not live with; 1 is a ledger before the first of them
NEWEST = 3  # the last migration
LOG = "for the log"  # the section of `schema.sql` with the indexes that only the log needs
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


def is_current(connection: sqlite3.Connection, file: Path) -> bool:
    """Tell whether a ledger has all of the schema; False for one that `adopt` brings there, an empty file too.

    Raises:
        RefusedError: it is of a later version, or no ledger of ours.
        sqlite3.Error: it cannot be read.
    """
    return recognize(connection, file) and _newest(connection) >= NEWEST


def recognize(connection: sqlite3.Connection, file: Path) -> bool:
    """Tell whether a ledger is marked as one of this version; False for an empty file and one from before the marks.

    Raises:
        RefusedError: it is of a later version, or no ledger of ours.
        sqlite3.Error: it cannot be read.
    """
    # Neither of the two reads the tables, so they work even where a newer SQLite wrote what ours does not understand.
    application, number = _value(connection, "application_id"), _value(connection, "user_version")
    if application not in (0, APPLICATION_ID):
        whose = f"another program's SQLite database (application_id {application:#010x})"
        raise RefusedError(f"{file} is {whose}, so nothing is remembered until you move it away")
    later = not 0 <= number <= VERSION
    if application == 0 and _is_foreign(connection, later=later):
        if _value(connection, "application_id") != 0:  # between the two looks another process has begun it
            return recognize(connection, file)
        whose = "an SQLite database without any table of Holdfast's"
        raise RefusedError(f"{file} is {whose}, so nothing is remembered until you move it away")
    if later:
        raise RefusedError(
            f"{file} has schema version {number} and this Holdfast knows versions up to {VERSION}, so nothing is "
            "remembered until you upgrade Holdfast",
            later=True,
        )
    return application == APPLICATION_ID and number == VERSION


def adopt(connection: sqlite3.Connection, file: Path) -> None:
    """Bring a ledger to this version in one transaction; of two processes that try, the second finds it done.

    Raises:
        RefusedError: another process has brought it to a later version meanwhile.
        sqlite3.Error: it cannot be written, or is locked.
        OSError: the migrations cannot be read.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not is_current(connection, file):
            complete(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(Exception):  # some failures have already undone everything
            connection.execute("ROLLBACK")
        raise


def complete(connection: sqlite3.Connection) -> None:
    """Run the migrations that a ledger lacks: those of one that is in memory, or inside the transaction of `adopt`.

    Raises:
        sqlite3.Error: it cannot be written.
        OSError: the migrations cannot be read.
    """
    for number in range(_newest(connection) + 1, NEWEST + 1):
        present = columns(connection)
        for statement in statements(f"migration {number}"):
            for lacking in _columns_lacking(statement, present):
                connection.execute(lacking)
            connection.execute(statement)
        connection.execute("INSERT INTO migrations (number) VALUES (?)", (number,))


def statements(section: str) -> list[str]:
    """Return the statements of a section of `schema.sql`: `migration N`, or `LOG`.

    Raises:
        OSError: the file is missing, or lacks the section: an upgrade is replacing the files one by one.
    """
    from pathlib import Path

    file = Path(__file__).with_name("schema.sql")
    _, found, rest = file.read_text("utf-8").partition(f"\n-- {section}: ")
    if not found:
        raise OSError(f"{file} has no {section}")
    lines = rest.partition("\n-- migration ")[0].partition(f"\n-- {LOG}: ")[0].split("\n")[1:]
    sql = "\n".join(line for line in lines if not line.startswith("--"))
    return [each.strip() for each in sql.split(";\n") if each.strip()]


def columns(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the tables of a ledger, each with the names of its columns. Raises sqlite3.Error."""
    names = _rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return {name: [row[1] for row in _rows(connection, f"PRAGMA table_info({name})")] for (name,) in names}


def _columns_lacking(statement: str, present: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield what adds the columns that a table lacks, each with its default or empty, if a statement makes a table."""
    import sqlite3

    table = statement.removeprefix("CREATE TABLE IF NOT EXISTS ").split()[0]  # of an index that is "CREATE"
    if table in present:
        with closing(sqlite3.connect(":memory:")) as scratch:
            scratch.execute(statement)
            for _, name, kind, _, default, _ in _rows(scratch, f"PRAGMA table_info({table})"):
                if name not in present[table]:
                    yield f"ALTER TABLE {table} ADD COLUMN {name} {kind} DEFAULT {default or 'NULL'}"


def _newest(connection: sqlite3.Connection) -> int:
    """Return the last migration that a ledger has; 1 before the first of them."""
    import sqlite3

    try:
        return _rows(connection, "SELECT max(number) FROM migrations")[0][0] or 1
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return 1
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
