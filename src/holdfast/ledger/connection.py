"""Connect to a ledger's file, or to a stand-in for it in memory."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from holdfast.errors import ForeignError
from holdfast.ledger import schema
from holdfast.paths import ensure_own

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.ledger.patience import Patience

_ROOM_BYTES = 1024 * 1024  # bytes that must be free on the disk, or a write could fail in the middle of an event
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")
_LOG_LIMIT_BYTES = 512 * 1024
"""Size of the write-ahead log from which it is moved into the file.

Events end without closing their connection, so SQLite never restarts the log by itself, and each event first reads the
whole log: 100 pages of 4 KB take 0.15 ms.
"""
_HEADER_BYTES = 100  # bytes of the header of an SQLite file; see "The Database Header" in SQLite's file format
_LOGGED = b"\2\2"  # the versions to write and to read a file with a write-ahead log
_LOST = (*_DAMAGED, *_BUSY, "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_PERM")
_connected: set[str] = set()  # the files that this process has connected to
_held: dict[str, tuple[sqlite3.Connection, tuple[int, int]]] = {}  # connections made in advance, and to which file


def is_lost(error: Exception) -> bool:
    """Return whether an SQLite error means that the file can't be used, now or ever."""
    return _code(error).startswith(_LOST)


def is_busy(error: Exception) -> bool:
    """Return whether an SQLite error means that another process has the lock."""
    return _code(error).startswith(_BUSY)


def is_damaged(error: Exception) -> bool:
    """Return whether an SQLite error means that the file's content is damaged."""
    return _code(error).startswith(_DAMAGED)


def _code(error: Exception) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def connect(file: Path, patience: Patience) -> sqlite3.Connection:
    """Return a connection to a writable ledger. It never waits for a lock by itself (`Patience.insist`).

    Raises:
        schema.RefusedError: the file has a later version or is no ledger; nothing in it was changed.
        OSError: it can't be created or opened.
        sqlite3.Error: it is damaged, or locked for too long.
    """
    held = _taken(file)
    known = held is not None or inspect(file)
    _prepare(file)
    _connected.add(str(file))
    connection = held or _dial(str(file))
    try:
        patience.insist(lambda: _configure(connection, file, known=known), is_busy, file)
    except BaseException:
        connection.close()
        raise
    return connection


def hold(file: Path) -> None:
    """Connect to a ledger in advance, in a process that waits for an event; the next `connect` takes the connection.

    To read the write-ahead log and the schema takes longer than what an event asks and notes. Nothing is locked
    meanwhile. A file that is no ledger of this version is left alone.

    Raises:
        OSError: there is none.
        sqlite3.Error: it can't be read.
    """
    identity = _identity(file)
    if str(file) in _held or not _is_marked(file):
        return
    _connected.add(str(file))
    connection = _dial(f"{_uri(file)}?mode=rw", uri=True)
    if schema.stays_current(connection) and _identity(file) == identity:
        _held[str(file)] = connection, identity


def _taken(file: Path) -> sqlite3.Connection | None:
    """Return the connection that `hold` made; None if there is none, or another file has taken that one's place.

    That one stays open: closing it would remove the write-ahead log of that name, which is the other file's.
    """
    connection, identity = _held.get(str(file), (None, None))
    try:
        return _held.pop(str(file))[0] if connection and _identity(file) == identity else None
    except OSError:
        return None


def _identity(file: Path) -> tuple[int, int]:
    info = file.stat()
    return info.st_dev, info.st_ino


def inspect(file: Path) -> bool:
    """Look at a file without its write-ahead log, so that SQLite repairs nothing in another program's file.

    Returns:
        Whether its header alone shows a ledger of a known version that has a write-ahead log.

    Raises:
        schema.RefusedError: it has a later version or is no ledger.
    """
    known = _is_marked(file)
    if not known and _is_file(file):
        name = f"{_uri(file)}?mode=ro&immutable=1"
        with suppress(sqlite3.Error), closing(_dial(name, uri=True)) as connection:
            schema.recognize(connection, file)
    return known


def _is_marked(file: Path) -> bool:
    """Return whether a file's header alone shows a ledger of a known version, because asking SQLite takes 0.7 ms.

    Returns False for a file that this process has connected to: closing another descriptor of it would release the
    locks that SQLite holds there (`_prepare`).
    """
    if str(file) in _connected:
        return False
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        header = os.read(descriptor, _HEADER_BYTES)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    version, application = int.from_bytes(header[60:64], "big"), int.from_bytes(header[68:72], "big")
    whole = len(header) == _HEADER_BYTES and header.startswith(b"SQLite format 3\0")
    logged = header[18:20] == _LOGGED
    return whole and logged and application == schema.APPLICATION_ID and version == schema.VERSION


def _dial(name: str, *, uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=0, isolation_level=None, check_same_thread=False, uri=uri)
    connection.row_factory = _row
    return connection


def _prepare(file: Path) -> None:
    """Make sure that the file exists, is private and writable. Raises OSError, and RefusedError in another's folder."""
    try:
        folder = ensure_own(file.parent)
    except ForeignError as error:
        text = f"{error.filename}: {error.strerror}, so nothing is remembered after this run; run holdfast doctor"
        raise schema.RefusedError(text) from error
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


def _configure(connection: sqlite3.Connection, file: Path, *, known: bool) -> None:
    """Make sure that the file is a ledger, switch it to write-ahead logging, and keep the log short.

    Args:
        connection: the connection.
        file: the ledger's file.
        known: what `inspect` returned; then half of the questions are answered.
    """
    known = known and schema.stays_current(connection)
    current = known or schema.is_current(connection, file)
    if not known and connection.execute("PRAGMA journal_mode").fetchone()["journal_mode"] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if not current:
        schema.adopt(connection, file)
    if not current or _size(file.with_name(f"{file.name}-wal")) > _LOG_LIMIT_BYTES:
        with suppress(sqlite3.Error):  # a reader may prevent it; the next event tries again
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def memory() -> sqlite3.Connection:
    """Return an empty ledger in memory, with small pages: each of its tables takes at least one."""
    made = _dial(":memory:")
    made.execute("PRAGMA page_size = 1024")
    return made


def copy(file: Path, patience: Patience) -> sqlite3.Connection | None:
    """Return a ledger in memory with the content of a file; None if the file can't be read."""
    if not _is_file(file):
        return None
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
    """Copy a ledger. Raises sqlite3.Error, also if the copy is damaged."""

    def watch(status: int, remaining: int, total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and not patience.pause():
            error = sqlite3.OperationalError("database is locked")  # `backup` itself would retry forever
            error.sqlite_errorname = "SQLITE_BUSY"
            raise error

    with closing(_dial(source, uri=True)) as origin:
        origin.backup(target, progress=watch, sleep=0.001)
    if target.execute("PRAGMA quick_check").fetchone()["quick_check"] != "ok":
        raise sqlite3.DatabaseError("it is not sound")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _uri(file: Path) -> str:
    return file.absolute().as_uri()


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:
        return False


def _row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}
