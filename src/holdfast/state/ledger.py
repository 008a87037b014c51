"""The ledger: Holdfast's own memory of a project, in SQLite."""

from __future__ import annotations

import os
import stat
import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from holdfast.errors import LedgerError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

_PATIENCE = 5.0  # seconds to wait for another process
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
        self._depth = 0
        self._guard = threading.RLock()

    @classmethod
    def open(cls, file: Path | None) -> Ledger:
        """Open (or create, 0600 in a 0700 folder) the ledger at `file`; never raises for a file that cannot be used.

        Where there is no file, or it is damaged, read-only or its disk full, the ledger is in memory and `problem` set.
        """
        import sqlite3

        if file is None:
            return cls(_memory(), None, "the ledger has no file, so nothing is remembered after this run")
        try:
            return cls(_connect(file), file, None)
        except (sqlite3.Error, OSError) as error:
            advice = "nothing is remembered after this run; `holdfast doctor` says more"
            return cls(_memory(file), None, f"{file}: the ledger cannot be used ({error}): {advice}")

    def ensure(self, ddl: str) -> None:
        """Run `CREATE … IF NOT EXISTS` statements, separated by semicolons, once per connection. Raises LedgerError."""
        if ddl in self._ensured:
            return
        for statement in ddl.split(";"):
            if statement.strip():
                self.run(statement)
        if not self._depth:  # a rollback would undo it
            self._ensured.add(ddl)

    def run(self, sql: str, *values: object) -> int:
        """Execute one statement with its `?` values and return how many rows it changed. Raises LedgerError."""
        return self._execute(sql, values)[1]

    def rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        """Execute one statement and return all its rows, each by column name. Raises LedgerError."""
        return self._execute(sql, values)[0]

    def one(self, sql: str, *values: object) -> dict[str, Any] | None:
        """Execute one statement and return its first row, or None if there is none. Raises LedgerError."""
        return next(iter(self.rows(sql, *values)), None)

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

        try:
            with self._guard, closing(self._connection.execute(sql, values)) as cursor:
                return cursor.fetchall(), cursor.rowcount
        except sqlite3.Error as error:
            raise LedgerError(f"{self.file or 'the ledger in memory'}: {error}") from error


def new_id() -> str:
    """Return an id that is unique across machines: 32 hexadecimal digits."""
    import uuid

    return uuid.uuid4().hex


def _row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}


def _verbs(depth: int) -> tuple[str, str, tuple[str, ...]]:
    if depth == 0:
        return "BEGIN IMMEDIATE", "COMMIT", ("ROLLBACK",)
    name = f"inner_{depth}"
    return f"SAVEPOINT {name}", f"RELEASE {name}", (f"ROLLBACK TO {name}", f"RELEASE {name}")


def _connect(file: Path) -> sqlite3.Connection:
    """Return a connection to a ledger that can be written. Raises OSError or sqlite3.Error."""
    _prepare(file)
    deadline = time.monotonic() + _PATIENCE
    while True:
        connection = _dial(str(file))
        try:
            _configure(connection)
        except BaseException as error:
            connection.close()
            if not _busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return connection


def _dial(name: str, *, uri: bool = False) -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, uri=uri)
    connection.row_factory = _row
    return connection


def _prepare(file: Path) -> None:
    """Make sure that the file exists, is private and can be written. Raises OSError."""
    from holdfast.paths import ensure_private

    folder = ensure_private(file.parent)
    # An existing file is not opened: closing it again would end the locks that SQLite holds on it in this process.
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    info = file.stat()
    if not stat.S_ISREG(info.st_mode):
        raise OSError("it is not a regular file")
    if stat.S_IMODE(info.st_mode) & 0o077:
        with suppress(PermissionError):
            file.chmod(0o600)
    if not (os.access(file, os.W_OK) and os.access(folder, os.W_OK)):
        raise PermissionError("its folder is read-only")
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize < _ROOM:
        raise OSError("its disk is full")


def _configure(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite does not wait for others here, so the caller tries again."""
    if connection.execute("PRAGMA journal_mode").fetchone()["journal_mode"] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _busy(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _memory(file: Path | None = None) -> sqlite3.Connection:
    """Return a ledger in memory holding what can be read of `file`, so that a full disk forgets nothing old."""
    if file is None or not _is_file(file):
        return _dial(":memory:")
    for access in ("mode=ro", "mode=ro&immutable=1"):
        connection = _dial(":memory:")
        if _copy(f"{file.absolute().as_uri()}?{access}", connection):
            return connection
        connection.close()
    return _dial(":memory:")


def _copy(source: str, target: sqlite3.Connection) -> bool:
    """Copy a ledger as far as it is sound; tell whether it was."""
    import sqlite3

    with suppress(sqlite3.Error), closing(_dial(source, uri=True)) as origin:
        origin.backup(target)
        return bool(target.execute("PRAGMA quick_check").fetchone()["quick_check"] == "ok")
    return False


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:
        return False
