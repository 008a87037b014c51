"""Cache files, whose loss costs only time: written whole, and used only if they are whole and the user's own."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from holdfast import paths

_DIGEST_BYTES = 32  # bytes of SHA-256 before the content
_LIMIT_BYTES = 64 * 1024 * 1024  # bytes of one file
_ABANDONED_S = 3_600.0  # seconds after which a killed writer's temporary file is deleted
_UNUSED_S = 30 * 86_400.0  # seconds after which a file that was not rewritten is deleted


def folder() -> Path:
    """Return the folder of the cache files; it need not exist."""
    return paths.state_dir() / "cache"


def read(path: Path) -> bytes | None:
    """Return the content of a file; None if it is missing or broken, or if others could write it."""
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
    """Replace a file's content in one step; do nothing if that isn't possible.

    Nothing is written either if Holdfast has no state folder yet: looking at a home must not change it. The file is not
    synced. After a crash of the machine it may be broken, and then it isn't used.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    with suppress(OSError, ValueError):
        if not paths.state_dir().is_dir() or paths.ensure_private(path.parent).stat().st_mode & 0o022:
            return  # a folder that others can write to isn't safe
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
    """Delete all cache files, because they hold names and paths of projects."""
    with suppress(OSError):
        for file in folder().iterdir():
            with suppress(OSError):
                file.unlink()


def _sum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def _sweep(place: Path) -> None:
    """Delete old files in about one of 32 writes, because this looks at every file."""
    if time.time_ns() // 1_000 % 32:
        return
    now = time.time()
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            with suppress(OSError):
                age = now - entry.stat(follow_symlinks=False).st_mtime
                if age > (_ABANDONED_S if entry.name.endswith(".tmp") else _UNUSED_S):
                    Path(entry.path).unlink()
