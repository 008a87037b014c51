"""Connecting to a ledger's file, or to a stand-in for it in memory."""

from __future__ import annotations

import os
import stat
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_PATIENCE = 5.0  # seconds to wait for another process
_ROOM = 1024 * 1024  # bytes that must be free on the disk, or the next write fails half way through an event
_LOST = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_FULL", "SQLITE_CANTOPEN")


def is_lost(error: Exception) -> bool:
    """Tell whether an error of SQLite means that the file cannot be used, now or at all; being busy does not."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(_LOST)


def connect(file: Path) -> sqlite3.Connection:
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


def memory(file: Path | None = None) -> sqlite3.Connection:
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


def _row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}
