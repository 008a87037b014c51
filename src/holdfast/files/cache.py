"""Private files whose loss costs nothing but time: written whole, believed only when they are whole and our own."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from holdfast import paths

_DIGEST_BYTES = 32  # bytes of SHA-256 before the content
_LIMIT_BYTES = 64 * 1024 * 1024  # bytes of one file
_ABANDONED_S = 3_600.0  # seconds after which what a killed writer left goes
_UNUSED_S = 30 * 86_400.0  # seconds after which a file that nobody wrote again goes


def folder() -> Path:
    """Return where they lie; it need not exist."""
    return paths.state_dir() / "cache"


def read(path: Path) -> bytes | None:
    """Return the content of a file, or None where there is none, it is not ours alone to write, or it is broken."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(descriptor)
        ours = stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o022
        if not ours or info.st_size > _LIMIT_BYTES:
            return None
        data = os.read(descriptor, info.st_size)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    body = data[_DIGEST_BYTES:]
    return body if data[:_DIGEST_BYTES] == _sum(body) else None


def write(path: Path, body: bytes) -> None:
    """Replace a file by this content, in one step; where that is not possible, nothing happens.

    Nor where Holdfast keeps nothing yet: to look at a home changes nothing in it. The file is not synced: after a crash
    of the machine it may be broken, and then it does not count.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    with suppress(OSError, ValueError):
        if not paths.state_dir().is_dir() or paths.ensure_private(path.parent).stat().st_mode & 0o022:
            return  # what others may put files into is not ours
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_sum(body) + body)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _sweep(path.parent)


def clear() -> None:
    """Delete all of them: they hold names and compiled code of projects, and cost only time to be made again."""
    with suppress(OSError):
        for file in folder().iterdir():
            with suppress(OSError):
                file.unlink()


def _sum(body: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(body).digest()


def _sweep(place: Path) -> None:
    """Delete what is old, in about one of 32 writes: each costs a look at every file."""
    if time.time_ns() // 1_000 % 32:
        return
    now = time.time()
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            with suppress(OSError):
                age = now - entry.stat(follow_symlinks=False).st_mtime
                if age > (_ABANDONED_S if entry.name.endswith(".tmp") else _UNUSED_S):
                    Path(entry.path).unlink()
