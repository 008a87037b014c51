"""Connect to a ledger's file, or to a stand-in for it in memory."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Literal

from holdfast.memory import schema
from holdfast.paths import ensure_own

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.memory.patience import Patience

Fault = Literal["busy", "damaged", "lost", ""]
_ROOM_BYTES = 1024 * 1024  # bytes that must be free on the disk, or a write could fail in the middle of an event
_LOG_LIMIT_BYTES = 512 * 1024
"""Size of the write-ahead log from which it is moved into the file.

Events end without closing their connection, so SQLite never restarts the log by itself, and each event first reads the
whole log: 100 pages of 4 KB take 0.15 ms.
"""
_CHECK_TIMEOUT_S = 5.0  # how long a check of the content waits for a writer
_FAULTS: dict[Fault, tuple[str, ...]] = {
    "busy": ("SQLITE_BUSY", "SQLITE_LOCKED"),
    "damaged": ("SQLITE_CORRUPT", "SQLITE_NOTADB"),
    "lost": ("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_PERM"),
}


def fault(error: Exception) -> Fault:
    """Return the meaning of an SQLite error for a file; empty if it has none.

    `busy`: another process has the lock. `damaged`: its content is. `lost`: it can't be used, now or ever.
    """
    code = str(getattr(error, "sqlite_errorname", ""))
    return next((each for each, names in _FAULTS.items() if code.startswith(names)), "")


def is_busy(error: Exception) -> bool:
    """Return whether an SQLite error means that another process has the lock."""
    return fault(error) == "busy"


def connect(file: Path, patience: Patience) -> sqlite3.Connection:
    """Return a connection to a writable ledger. It never waits for a lock by itself (`Patience.insist`).

    Raises:
        OSError: it can't be created or opened.
        sqlite3.Error: it is damaged, or locked for too long.
    """
    _prepare(file)
    connection = _dial(str(file))
    try:
        patience.insist(lambda: _configure(connection, file), is_busy, file)
    except BaseException:
        connection.close()
        raise
    return connection


def examine(file: Path) -> str:
    """Return the fault in a ledger's content, empty if it is sound; nothing is changed. Raises as `connect`."""
    with closing(_dial(f"{_uri(file)}?mode=ro", uri=True, timeout=_CHECK_TIMEOUT_S)) as connection:
        schema.is_ledger(connection)
        return _damage(connection)


def _damage(connection: sqlite3.Connection) -> str:
    found = str(connection.execute("PRAGMA quick_check").fetchone()["quick_check"])
    return "" if found == "ok" else found


def _dial(name: str, *, uri: bool = False, timeout: float = 0) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=timeout, isolation_level=None, check_same_thread=False, uri=uri)
    connection.row_factory = _row
    return connection


def _prepare(file: Path) -> None:
    """Make sure that the file exists, is private and writable. Raises OSError."""
    folder = ensure_own(file.parent)
    # An existing file is not opened, because closing it would release the locks that SQLite holds on it in this
    # process.
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
    if disk.f_bavail * disk.f_frsize < _ROOM_BYTES:
        raise OSError("its disk is full")


def _configure(connection: sqlite3.Connection, file: Path) -> None:
    """Make sure that the file is a ledger, switch it to write-ahead logging, and keep the log short."""
    new = not schema.is_ledger(connection)
    if connection.execute("PRAGMA journal_mode").fetchone()["journal_mode"] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if new:
        schema.adopt(connection)
    if new or _size(file.with_name(f"{file.name}-wal")) > _LOG_LIMIT_BYTES:
        with suppress(sqlite3.Error):  # a reader may prevent it; the next event tries again
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def memory() -> sqlite3.Connection:
    """Return an empty ledger in memory, with small pages: each of its tables takes at least one."""
    made = _dial(":memory:")
    made.execute("PRAGMA page_size = 1024")
    return made


def copy(file: Path, patience: Patience) -> sqlite3.Connection | None:
    """Return a ledger in memory with the content of a file; None if the file can't be read."""
    # A file in a read-only folder can only be read without locks, which doesn't work while somebody writes to it.
    for access in ("mode=ro", "mode=ro&immutable=1"):
        connection = _dial(":memory:")
        try:
            _copy(f"{_uri(file)}?{access}", connection, patience)
        except Exception as error:  # noqa: BLE001 - whatever fails, there is no copy
            connection.close()
            if is_busy(error):
                return None
        else:
            return connection
    return None


def _copy(source: str, target: sqlite3.Connection, patience: Patience) -> None:
    """Copy a ledger. Raises sqlite3.Error, also if the copy is damaged or another program's."""

    def watch(status: int, remaining: int, total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and not patience.pause():
            error = sqlite3.OperationalError("database is locked")  # `backup` itself would retry forever
            error.sqlite_errorname = "SQLITE_BUSY"
            raise error

    with closing(_dial(source, uri=True)) as origin:
        origin.backup(target, progress=watch, sleep=0.001)
    schema.is_ledger(target)
    if _damage(target):
        raise sqlite3.DatabaseError("it is not sound")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _uri(file: Path) -> str:
    return file.absolute().as_uri()


def _row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}
