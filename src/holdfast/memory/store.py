"""The ledger as an open database: its tables, transactions, and the fallback to memory."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import uuid
from contextlib import closing, contextmanager, suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from holdfast.errors import LedgerError
from holdfast.memory import connection as connecting
from holdfast.memory import schema
from holdfast.memory.patience import Patience
from holdfast.memory.rows import Row, SessionId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

_CHECKPOINT_TIMEOUT_S = 5.0  # seconds to wait for readers until the write-ahead log can be emptied
_PAUSE_S = 0.05  # seconds between two attempts at that
_COPY_LIMIT_BYTES = 256 * 1024 * 1024  # bytes of a ledger that is copied to memory, which takes 0.3 s

PRUNED = 50  # rows that go at once: more than an event adds, and so few that none waits long for it
ANY = "IN (SELECT value FROM json_each(?))"  # whether a column has one of many values (`any_of`)
R = TypeVar("R", bound=Row)


class Ledger:
    """One open ledger.

    `file` is its path, None in memory. `problem` is None, or a sentence that says why it is in memory; everything then
    works for this run, but nothing is stored beyond it. `whole` tells whether it has all stored content: in memory it
    starts with what could be read of the file. Statements commit by themselves unless inside `transaction()`. SQL stays
    portable: TEXT, INTEGER, BLOB, `INSERT … ON CONFLICT`, no AUTOINCREMENT, rowid or REPLACE; ids come from `new_id()`.
    """

    def __init__(
        self, connection: sqlite3.Connection, file: Path | None, patience: Patience, tell: Callable[[str], None]
    ) -> None:
        self.file = file
        self.problem: str | None = None
        self.whole = True
        self._connection = connection
        self._patience = patience
        self._tell = tell
        self._depth = 0
        self._tables: dict[Any, Any] = {}
        self._guard = threading.RLock()

    @classmethod
    def open(
        cls, file: Path | None, patience: Patience | None = None, tell: Callable[[str], None] = lambda problem: None
    ) -> Ledger:
        """Open the ledger at `file`, or create it (0600 in a 0700 folder). Never raises for an unusable file.

        If there is no file, or it is damaged, locked for too long, read-only, or its disk is full, the
        ledger is in memory and `problem` is set. That may also happen later.

        Args:
            file: its path; None for a ledger in memory.
            patience: how long to wait for other processes; by default as long as an event may.
            tell: called with the problem if there is one.
        """
        patience = patience or Patience()
        if file is None:
            opened = cls(_stand_in(None), None, patience, tell)
            opened.problem = "the ledger has no file, so nothing is remembered after this run"
            return opened
        try:
            return cls(connecting.connect(file, patience), file, patience, tell)
        except (sqlite3.Error, OSError) as error:
            opened = cls(connecting.memory(), file, patience, tell)
            opened._give_up(file, error)
            return opened

    def table(self, row: type[R]) -> Table[R]:
        """Return the table of a class of `memory.rows`."""
        if row not in self._tables:
            self._tables[row] = Table(self, row)
        return cast("Table[R]", self._tables[row])

    def conversation(self, session: str) -> str:
        """Return the id of the conversation that goes on under a session id. Raises LedgerError."""
        row = self.table(SessionId).one(id=session)
        return row.conversation if row else session

    def run(self, sql: str, *values: object) -> int:
        """Execute a statement with its `?` values and return how many rows it changed. Raises LedgerError."""
        return self._execute(sql, values)[1]

    def rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        """Execute a statement and return all rows as dictionaries by column name. Raises LedgerError."""
        return self._execute(sql, values)[0]

    def one(self, sql: str, *values: object) -> dict[str, Any] | None:
        """Execute a statement and return the first row, None if there is none. Raises LedgerError."""
        return next(iter(self.rows(sql, *values)), None)

    def scrub(self) -> bool:
        """Rewrite the file without what was deleted from it, and empty its write-ahead log.

        Returns:
            Whether the file and its log are certainly free of it; False while another process keeps reading.

        Raises:
            LedgerError: it is locked for too long, or its disk is full.
        """
        self.run("VACUUM")
        deadline = time.monotonic() + _CHECKPOINT_TIMEOUT_S
        while (row := self.one("PRAGMA wal_checkpoint(TRUNCATE)")) and row["busy"]:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_S)
        return True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Apply all statements of the block or none; an exception undoes them and is raised again.

        The outermost block takes the write lock at once, so that what it reads stays true. An inner block undoes only
        itself. Raises LedgerError.
        """
        with self._guard:
            begin, commit, undo = _verbs(self._depth)
            self._execute(begin)
            self._depth += 1
            try:
                yield
                self._execute(commit)
            except BaseException:
                for statement in undo:
                    with suppress(LedgerError):  # some failures have already undone everything
                        self._execute(statement)
                raise
            finally:
                self._depth -= 1

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._connection.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _execute(self, sql: str, values: tuple[object, ...] = ()) -> tuple[list[dict[str, Any]], int]:
        with self._guard:
            try:
                try:
                    return self._patience.insist(lambda: self._attempt(sql, values), connecting.is_busy, self.file)
                except sqlite3.Error as error:
                    if not self._mended(error):
                        raise
                return self._attempt(sql, values)
            except sqlite3.Error as error:
                raise LedgerError(f"{self.file or 'the ledger in memory'}: {error}") from error

    def _attempt(self, sql: str, values: tuple[object, ...]) -> tuple[list[dict[str, Any]], int]:
        with closing(self._connection.execute(sql, tuple(map(storable, values)))) as cursor:
            return cursor.fetchall(), cursor.rowcount

    def _mended(self, error: sqlite3.Error) -> bool:
        """Fall back to memory if the file is lost; return whether to try the statement again."""
        if self.file is None or not connecting.fault(error):
            return False
        self._give_up(self.file, error)
        for depth in range(self._depth):
            self._attempt(_verbs(depth)[0], ())
        return True

    def _give_up(self, file: Path, error: Exception) -> None:
        """Go on in memory with what can be read of the file, and report it."""
        with suppress(sqlite3.Error):
            self._connection.close()  # undoes open changes and releases the locks
        copied = None
        with suppress(OSError):
            if file.is_file() and file.stat().st_size <= _COPY_LIMIT_BYTES:
                copied = connecting.copy(file, self._patience)
        self.file = None
        self.problem = _unusable(file, error)
        self.whole = copied is not None or not os.path.lexists(file)
        self._connection = _stand_in(copied)
        self._tell(self.problem)


class Table(Generic[R]):
    """One table (`Ledger.table`). Each verb raises LedgerError if the ledger can't be read or written."""

    def __init__(self, ledger: Ledger, row: type[R]) -> None:
        self._ledger, self._row = ledger, row
        self._names = [each.name for each in fields(row)]
        self._flags = [each.name for each in fields(row) if each.type in ("bool", "bool | None")]
        self._columns = ", ".join(self._names)
        changed = [name for name in self._names if name not in row.KEY]
        changes = ", ".join(f"{name} = excluded.{name}" for name in changed)
        marks = ", ".join("?" * len(self._names))
        self._insert = f"INSERT INTO {row.TABLE} ({self._columns}) VALUES ({marks}) ON CONFLICT ({', '.join(row.KEY)})"
        self._upsert = f"DO UPDATE SET {changes}" if changed else "DO NOTHING"

    def where(self, sql: str = "", *values: object, order: str = "", limit: int = -1, **equal: object) -> list[R]:
        """Return rows: `agents.where("changed_at > ?", since, conversation=id, order="launched_at")`.

        Args:
            sql: a condition with `?` for its values; empty for none.
            values: its values.
            order: the columns to order by.
            limit: the most rows; negative for all.
            equal: what columns must be equal to; None matches NULL.
        """
        condition, all_values = self._condition(sql, values, equal)
        ordered = f" ORDER BY {order}" if order else ""
        text = f"SELECT {self._columns} FROM {self._row.TABLE} WHERE {condition}{ordered} LIMIT {limit}"
        return [self._row(**self._typed(each)) for each in self._ledger.rows(text, *all_values)]

    def one(self, sql: str = "", *values: object, order: str = "", **equal: object) -> R | None:
        """Return the first row of `where`, or None."""
        return next(iter(self.where(sql, *values, order=order, limit=1, **equal)), None)

    def by(self, column: str, wanted: Iterable[str], **equal: Any) -> dict[str, R]:
        """Return the rows that have one of many values in a column, by that value; at most one has each."""
        names = {storable(each): each for each in wanted}
        return {names[getattr(row, column)]: row for row in self.where(f"{column} {ANY}", any_of(names), **equal)}

    def count(self, sql: str = "", *values: object, **equal: object) -> int:
        """Return how many rows there are that `where` would return."""
        condition, all_values = self._condition(sql, values, equal)
        row = self._ledger.one(f"SELECT COUNT(*) AS number FROM {self._row.TABLE} WHERE {condition}", *all_values)
        return int(row["number"]) if row else 0

    def put(self, row: R) -> R:
        """Insert a row, or replace the one with its key, and delete the oldest rows beyond the table's retention."""
        self._ledger.run(f"{self._insert} {self._upsert}", *self._values(row))
        if self._row.RETENTION:
            self.prune(*self._row.RETENTION)
        return row

    def add(self, row: R) -> bool:
        """Insert a row unless there is one with its key; return whether it was inserted."""
        return self._ledger.run(f"{self._insert} DO NOTHING", *self._values(row)) == 1

    def amend(self, place: R, **values: object) -> None:
        """Set columns of the row with this one's key, which is added if it is new."""
        with self._ledger.transaction():
            self.put(replace(self.one(**key(place)) or place, **values))

    def change(self, row: R, **values: object) -> bool:
        """Change columns of a row if they are still as in `row`; of several processes that try, one gets True."""
        return self.update(values, **key(row), **{name: getattr(row, name) for name in values}) == 1

    def update(self, values: dict[str, Any], sql: str = "", *parameters: object, **equal: object) -> int:
        """Set columns in all rows that a condition selects (`where`); return how many there were."""
        condition, all_values = self._condition(sql, parameters, equal)
        changes = ", ".join(f"{name} = ?" for name in values)
        return self._ledger.run(
            f"UPDATE {self._row.TABLE} SET {changes} WHERE {condition}", *values.values(), *all_values
        )

    def drop(self, sql: str = "", *values: object, **equal: object) -> int:
        """Delete the rows that a condition selects (`where`); return how many there were."""
        condition, all_values = self._condition(sql, values, equal)
        return self._ledger.run(f"DELETE FROM {self._row.TABLE} WHERE {condition}", *all_values)

    def prune(self, at: str, most: int, **equal: object) -> None:
        """Delete the oldest rows beyond `most`, a few at a time.

        Args:
            at: the column of the time; it needs an index, after the columns in `equal`.
            most: how many rows stay.
            equal: what columns must be equal to, so that only these rows count.
        """
        table, key = self._row.TABLE, ", ".join(self._row.KEY)
        condition, values = self._condition(f"{at} >= ''", (), equal)  # which makes SQLite search the index
        oldest = f"FROM {table} WHERE {condition} ORDER BY {at} DESC LIMIT ? OFFSET ?"
        # Nearly always there is nothing to delete, and the index alone tells that in a fifth of the time.
        if self._ledger.one(f"SELECT 1 {oldest}", *values, 1, most):
            self._ledger.run(f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} {oldest})", *values, PRUNED, most)

    def _values(self, row: R) -> list[object]:
        return [getattr(row, name) for name in self._names]

    def _typed(self, row: dict[str, Any]) -> dict[str, Any]:
        for name in self._flags:
            row[name] = None if row[name] is None else bool(row[name])
        return row

    def _condition(self, sql: str, values: tuple[object, ...], equal: dict[str, object]) -> tuple[str, list[object]]:
        terms = [f"({sql})"] if sql else []
        terms += [f"{name} IS ?" for name in equal]
        return " AND ".join(terms) or "1", [*values, *equal.values()]


def key(row: Row) -> dict[str, Any]:
    """Return the columns that make up a row's key, with their values."""
    return {name: getattr(row, name) for name in row.KEY}


def any_of(values: Iterable[object]) -> str:
    """Return many values as the one that `ANY` takes: a statement takes only so many."""
    return json.dumps([storable(each) for each in values])


def storable(value: Any) -> Any:
    """Return a value for SQLite. File names that aren't UTF-8, which Linux allows, get escapes."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def _stand_in(copied: sqlite3.Connection | None) -> sqlite3.Connection:
    """Return a ledger in memory with all tables, and with the content copied from a file, if any."""
    held = copied or connecting.memory()
    with suppress(sqlite3.Error, OSError):  # the copy need not be a ledger, and an upgrade may be going on
        schema.create_tables(held)
    return held


def _unusable(file: Path, error: Exception) -> str:
    if connecting.is_busy(error):
        return f"{file}: another process has locked the ledger, so nothing of this run is remembered"
    remedy = "`holdfast doctor` says how to repair it"
    if connecting.fault(error) == "damaged":
        remedy = "`holdfast doctor --fix` sets it aside, and a new one is begun"
    return f"{file}: the ledger cannot be used ({error}), so nothing is remembered after this run; {remedy}"


def new_id(after: str = "") -> str:
    """Return an id that is unique across machines, greater than `after` and those before: 32 hexadecimal digits."""
    return f"{max(time.time_ns(), int(after[:16] or '0', 16) + 1):016x}{uuid.uuid4().hex[:16]}"


def _verbs(depth: int) -> tuple[str, str, tuple[str, ...]]:
    if depth == 0:
        return "BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",)
    name = f"inner_{depth}"
    return f"SAVEPOINT {name}", f"RELEASE {name}", (f"ROLLBACK TO {name}", f"RELEASE {name}")
