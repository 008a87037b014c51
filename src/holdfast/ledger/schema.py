"""The schema of a ledger: recognise a ledger's version, and run the migrations that it lacks.

`schema.sql` holds the schema as numbered migrations. Two numbers describe a ledger. Its table `migrations` lists those
that it has. Its `user_version` is the last migration that earlier versions of Holdfast can't work with, so that they
leave the file alone. A migration that only adds doesn't raise it, so an earlier Holdfast, such as a running server or a
plugin that isn't upgraded yet, can go on writing beside this one.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

APPLICATION_ID = 0x486F6C64  # "Hold"; in the file's header, where programs such as `file` see it
VERSION = 1  # the last migration that earlier versions can't work with; 1 is a ledger before any such migration
NEWEST = 7  # the last migration
LOG = "for the log"  # the section of `schema.sql` with the indexes that only the log needs


class RefusedError(Exception):
    """A file that this Holdfast must not use; the text is a sentence for people.

    `later` is True for a ledger of a later version, and False for a file that is no ledger.
    """

    def __init__(self, text: str, *, later: bool = False) -> None:
        super().__init__(text)
        self.later = later


def is_current(connection: sqlite3.Connection, file: Path) -> bool:
    """Return whether a ledger has the whole schema; False if it needs `adopt`, as an empty file does.

    Raises:
        RefusedError: it has a later version or is no ledger.
        sqlite3.Error: it can't be read.
    """
    return recognize(connection, file) and _newest(connection) >= NEWEST


def stays_current(connection: sqlite3.Connection) -> bool:
    """Return whether a ledger, whose file was of this version, has the whole schema; False also if that can't be told.

    The write-ahead log may know better than the file, but nobody changes the application id there.
    """
    try:
        return _value(connection, "user_version") == VERSION and _newest(connection) == NEWEST
    except sqlite3.Error:  # `is_current` says what is wrong
        return False


def recognize(connection: sqlite3.Connection, file: Path) -> bool:
    """Return whether a ledger is marked with this version; False for an empty file.

    Raises:
        RefusedError: it has a later version or is no ledger.
        sqlite3.Error: it can't be read.
    """
    # Neither reads the tables, so both work even if a newer SQLite wrote something that this one doesn't understand.
    application, number = _value(connection, "application_id"), _value(connection, "user_version")
    if application not in (0, APPLICATION_ID):
        whose = f"another program's SQLite database (application_id {application:#010x})"
        raise RefusedError(f"{file} is {whose}, so nothing is remembered until you move it away")
    later = not 0 <= number <= VERSION
    if application == 0 and _is_foreign(connection, later=later):
        if _value(connection, "application_id") != 0:  # another process has created it in between
            return recognize(connection, file)
        whose = "an SQLite database that isn't Holdfast's"
        raise RefusedError(f"{file} is {whose}, so nothing is remembered until you move it away")
    if later:
        raise RefusedError(
            f"{file} has schema version {number} and this Holdfast knows versions up to {VERSION}, so nothing is "
            "remembered until you upgrade Holdfast",
            later=True,
        )
    return application == APPLICATION_ID and number == VERSION


def adopt(connection: sqlite3.Connection, file: Path) -> None:
    """Bring a ledger to this version in one transaction. If two processes try, the second finds it done.

    Raises:
        RefusedError: another process has brought it to a later version meanwhile.
        sqlite3.Error: it can't be written, or is locked.
        OSError: the migrations can't be read.
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
    """Run the migrations that a ledger lacks. Use it for a ledger in memory, or inside the transaction of `adopt`.

    Raises:
        sqlite3.Error: it can't be written.
        OSError: the migrations can't be read.
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
        OSError: the file is missing or lacks the section, because an upgrade is replacing the files one by one.
    """
    file = Path(__file__).with_name("schema.sql")
    _, found, rest = file.read_text("utf-8").partition(f"\n-- {section}: ")
    if not found:
        raise OSError(f"{file} has no {section}")
    lines = rest.partition("\n-- migration ")[0].partition(f"\n-- {LOG}: ")[0].split("\n")[1:]
    sql = "\n".join(line for line in lines if not line.startswith("--"))
    return [each.strip() for each in sql.split(";\n") if each.strip()]


def columns(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the names of each table's columns, by table. Raises sqlite3.Error."""
    names = _rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return {name: [row[1] for row in _rows(connection, f"PRAGMA table_info({name})")] for (name,) in names}


def _columns_lacking(statement: str, present: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield statements that add the missing columns, with their defaults, of the table that a statement creates."""
    table = statement.removeprefix("CREATE TABLE IF NOT EXISTS ").split()[0]  # "CREATE" for the statement of an index
    if table in present:
        with closing(sqlite3.connect(":memory:")) as scratch:
            scratch.execute(statement)
            for _, name, kind, _, default, _ in _rows(scratch, f"PRAGMA table_info({table})"):
                if name not in present[table]:
                    yield f"ALTER TABLE {table} ADD COLUMN {name} {kind} DEFAULT {default or 'NULL'}"


def _newest(connection: sqlite3.Connection) -> int:
    """Return the last migration that a ledger has; 1 before the first."""
    try:
        return _rows(connection, "SELECT max(number) FROM migrations")[0][0] or 1
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return 1
        raise


def _value(connection: sqlite3.Connection, pragma: str) -> int:
    return int(_rows(connection, f"PRAGMA {pragma}")[0][0])


def _rows(connection: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query as tuples, whatever the connection's row factory."""
    with closing(connection.execute(sql)) as cursor:
        cursor.row_factory = None
        return cursor.fetchall()


def _is_foreign(connection: sqlite3.Connection, *, later: bool) -> bool:
    """Return whether a database without an application id has tables."""
    try:
        return bool(_rows(connection, "SELECT 1 FROM sqlite_master WHERE type = 'table' LIMIT 1"))
    except sqlite3.Error:
        if later:  # this SQLite need not understand its tables
            return False
        raise
