"""The ledger: Holdfast's own memory of a project, in SQLite."""

from __future__ import annotations

import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from holdfast.errors import LedgerError
from holdfast.state.connection import connect, is_lost, memory

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

_PATIENCE = 5.0  # seconds to wait for another process
_PAUSE = 0.05  # seconds between two tries to empty the write-ahead log
_ROOM = 1024 * 1024  # bytes that must be free on the disk, or the next write fails half way through an event


class Ledger:
    """One open ledger.

    `file` is where it lies, None in memory. `problem` is None, or the sentence that says why it is in memory; then
    everything works for this run, beginning with what could still be read of the file, and nothing is kept.
    Statements commit by themselves unless inside `transaction()`. SQL stays portable: TEXT, INTEGER, BLOB,
    `INSERT … ON CONFLICT`, no AUTOINCREMENT, rowid or REPLACE; ids come from `new_id()`.
    """

    def __init__(self, connection: sqlite3.Connection, file: Path | None, problem: str | None) -> None:
        self.file = file
        self.problem = problem
        self._connection = connection
        self._ensured: set[str] = set()
        self._tables: dict[str, None] = {}  # all DDL that was asked for, in its order
        self._depth = 0
        self._guard = threading.RLock()

    @classmethod
    def open(cls, file: Path | None) -> Ledger:
        """Open (or create, 0600 in a 0700 folder) the ledger at `file`; never raises for a file that cannot be used.

        Where there is no file, or it is damaged, read-only or its disk full, the ledger is in memory and `problem` set.
        """
        import sqlite3

        if file is None:
            return cls(memory(), None, "the ledger has no file, so nothing is remembered after this run")
        try:
            return cls(connect(file), file, None)
        except (sqlite3.Error, OSError) as error:
            return cls(memory(file), None, _unusable(file, error))

    def ensure(self, ddl: str) -> None:
        """Run `CREATE … IF NOT EXISTS` statements, separated by semicolons, once per connection. Raises LedgerError."""
        if ddl in self._ensured:
            return
        self._tables[ddl] = None
        for statement in ddl.split(";"):
            if statement.strip():
                self.run(statement)
        if not self._depth:  # a rollback would undo it
            self._ensured.add(ddl)

    def upgrade(self, ddl: str) -> int:
        """Add the columns that an earlier version's tables lack; return how many. Raises LedgerError."""
        import sqlite3

        with self._guard:
            try:
                return self._add_columns(ddl)
            except sqlite3.Error as error:
                raise LedgerError(f"{self.file or 'the ledger in memory'}: {error}") from error

    def run(self, sql: str, *values: object) -> int:
        """Execute one statement with its `?` values and return how many rows it changed. Raises LedgerError."""
        return self._execute(sql, values)[1]

    def rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        """Execute one statement and return all its rows, each by column name. Raises LedgerError."""
        return self._execute(sql, values)[0]

    def one(self, sql: str, *values: object) -> dict[str, Any] | None:
        """Execute one statement and return its first row, or None if there is none. Raises LedgerError."""
        return next(iter(self.rows(sql, *values)), None)

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the tables there are, each with the names of its columns. Raises LedgerError."""
        names = self.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return {
            str(row["name"]): tuple(column["name"] for column in self.rows(f"PRAGMA table_info({row['name']})"))
            for row in names
        }

    def overwrite(self) -> None:
        """Have everything that is deleted from now on overwritten with zeros. Raises LedgerError."""
        self.rows("PRAGMA secure_delete = ON")

    def scrub(self) -> bool:
        """Write the file anew without what was deleted from it, and empty its write-ahead log.

        Returns:
            Whether nothing of it can be left in the file or its log; not while another process goes on reading.

        Raises:
            LedgerError: it is locked for too long, or its disk is full.
        """
        self.run("VACUUM")
        deadline = time.monotonic() + _PATIENCE
        while (row := self.one("PRAGMA wal_checkpoint(TRUNCATE)")) and row["busy"]:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE)
        return True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the statements of the block happen all or none; an exception undoes them and goes on.

        The outermost block takes the write lock at once, so that what it reads stays true; an inner block undoes
        only itself. Raises LedgerError.
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
        import sqlite3

        with self._guard:
            try:
                return self._attempt(sql, values)
            except sqlite3.Error as error:
                if not self._mended(error):
                    raise LedgerError(f"{self.file or 'the ledger in memory'}: {error}") from error
            try:
                return self._attempt(sql, values)
            except sqlite3.Error as error:
                raise LedgerError(f"{self.file or 'the ledger in memory'}: {error}") from error

    def _attempt(self, sql: str, values: tuple[object, ...]) -> tuple[list[dict[str, Any]], int]:
        with closing(self._connection.execute(sql, values)) as cursor:
            return cursor.fetchall(), cursor.rowcount

    def _mended(self, error: sqlite3.Error) -> bool:
        """Bring an older table up to date, or give up a file that can no longer be used; tell whether to try again."""
        import sqlite3

        if "no such column" in str(error) or "has no column" in str(error):
            return sum(self._add_columns(ddl) for ddl in self._tables) > 0
        if self.file is None or not is_lost(error):
            return False
        self.problem = _unusable(self.file, error)
        with suppress(sqlite3.Error):
            self._connection.close()  # undoes what was begun, and lets go of its locks
        self._connection = memory(self.file)
        self.file = None
        for depth in range(self._depth):
            self._attempt(_verbs(depth)[0], ())
        for ddl in self._tables:
            for statement in filter(str.strip, ddl.split(";")):
                self._attempt(statement, ())
        return True

    def _add_columns(self, ddl: str) -> int:
        """Add what an earlier version's tables lack, each with its default or empty; return how many there were."""
        with closing(memory()) as wanted:
            for statement in filter(str.strip, ddl.split(";")):
                wanted.execute(statement)
            names = [row["name"] for row in wanted.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            columns = {name: wanted.execute(f"PRAGMA table_info({name})").fetchall() for name in names}
        added = 0
        for name in names:
            known = {row["name"] for row in self._attempt(f"PRAGMA table_info({name})", ())[0]}
            for column in (row for row in columns[name] if row["name"] not in known):
                kind = f"{column['name']} {column['type']} DEFAULT {column['dflt_value'] or 'NULL'}"
                self._attempt(f"ALTER TABLE {name} ADD COLUMN {kind}", ())
                added += 1
        return added


def _unusable(file: Path | None, error: Exception) -> str:
    advice = "nothing is remembered after this run; once it is moved away a new one is begun"
    return f"{file}: the ledger cannot be used ({error}): {advice}"


def new_id() -> str:
    """Return an id that is unique across machines: 32 hexadecimal digits."""
    import uuid

    return uuid.uuid4().hex


def _verbs(depth: int) -> tuple[str, str, tuple[str, ...]]:
    if depth == 0:
        return "BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",)
    name = f"inner_{depth}"
    return f"SAVEPOINT {name}", f"RELEASE {name}", (f"ROLLBACK TO {name}", f"RELEASE {name}")
