"""Recognise a ledger, and create its tables, which `rows` describes."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_type_hints

from holdfast.memory import SCHEMA_VERSION, rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

APPLICATION_ID = 0x486F6C64  # "Hold"; in the file's header, where programs such as `file` see it
_TYPES = {str: "TEXT", int: "INTEGER", bool: "INTEGER", bytes: "BLOB"}


class RefusedError(Exception):
    """A file that isn't a ledger, which Holdfast must not use; the text is a sentence for people."""


def recognize(connection: sqlite3.Connection, file: Path) -> bool:
    """Return whether a database is a ledger; False for an empty one.

    Raises:
        RefusedError: it is another program's.
        sqlite3.Error: it can't be read.
    """
    application = _value(connection, "application_id")
    if application not in (0, APPLICATION_ID):
        whose = f"another program's SQLite database (application_id {application:#010x})"
        raise RefusedError(f"{file} is {whose}, so nothing is remembered until you move it away")
    if application == 0 and _query(connection, "SELECT 1 FROM sqlite_master WHERE type = 'table' LIMIT 1"):
        if _value(connection, "application_id") != 0:  # another process has created it in between
            return recognize(connection, file)
        whose = "an SQLite database that isn't Holdfast's"
        raise RefusedError(f"{file} is {whose}, so nothing is remembered until you move it away")
    return application == APPLICATION_ID


def adopt(connection: sqlite3.Connection, file: Path) -> None:
    """Make an empty database a ledger, in one transaction. If two processes try, the second finds it done.

    Raises:
        RefusedError: another program has made it its own meanwhile.
        sqlite3.Error: it can't be written, or is locked.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not recognize(connection, file):
            create_tables(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(Exception):  # some failures have already undone everything
            connection.execute("ROLLBACK")
        raise


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables and indexes that a ledger lacks. Raises sqlite3.Error."""
    for statement in statements():
        connection.execute(statement)


def statements() -> Iterator[str]:
    """Yield the statements that create all tables and their indexes."""
    for row in rows.TABLES:
        listed = ", ".join(f"{name} {kind}" for name, kind in columns(row).items())
        yield f"CREATE TABLE IF NOT EXISTS {row.TABLE} ({listed}, PRIMARY KEY ({', '.join(row.KEY)}))"
        for index in row.INDEXES:
            name = "_".join((row.TABLE, *index))
            yield f"CREATE INDEX IF NOT EXISTS {name} ON {row.TABLE} ({', '.join(index)})"


def columns(row: type[rows.Row]) -> dict[str, str]:
    """Return the type of each column of a table, as SQL says it."""
    hints = get_type_hints(row)
    return {each.name: _column(hints[each.name]) for each in fields(row)}


def _column(hint: Any) -> str:
    optional = type(None) in getattr(hint, "__args__", ())
    kind = next(each for each in getattr(hint, "__args__", (hint,)) if each is not type(None))
    return _TYPES[kind] if optional else f"{_TYPES[kind]} NOT NULL"


def _value(connection: sqlite3.Connection, pragma: str) -> int:
    return int(_query(connection, f"PRAGMA {pragma}")[0][0])


def _query(connection: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query as tuples, whatever the connection's row factory."""
    with closing(connection.execute(sql)) as cursor:
        cursor.row_factory = None
        return cursor.fetchall()
