"""Tell a ledger from an empty database, and create its tables, which `rows` describes."""

from __future__ import annotations

import sqlite3
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_type_hints

from holdfast.memory import SCHEMA_VERSION, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

APPLICATION_ID = 0x486F6C64  # "Hold"; in the file's header, where programs such as `file` see it
_TYPES = {str: "TEXT", int: "INTEGER", bool: "INTEGER", bytes: "BLOB"}


def is_ledger(connection: sqlite3.Connection) -> bool:
    """Return whether a database is a ledger; False for an empty one. Raises sqlite3.Error for another program's."""
    application = int(connection.execute("PRAGMA application_id").fetchone()["application_id"])
    if application not in (0, APPLICATION_ID):
        error = sqlite3.DatabaseError("it is another program's database")
        error.sqlite_errorname = "SQLITE_NOTADB"
        raise error
    return application == APPLICATION_ID


def adopt(connection: sqlite3.Connection) -> None:
    """Make an empty database a ledger, in one transaction. If two processes try, the second finds it done.

    Raises sqlite3.Error if it is locked; also if it can't be written, and then closing the connection undoes all.
    """
    connection.execute("BEGIN IMMEDIATE")
    if not is_ledger(connection):
        create_tables(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


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
