"""Cache files, whose loss costs only time: written whole, and used only if they are whole and the user's own."""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import StateError
from holdfast.files import access, atomic

if TYPE_CHECKING:
    from pathlib import Path

_DIGEST_BYTES = 32  # of SHA-256 before the content
_LIMIT_BYTES = 64 * 1024 * 1024
_UNUSED_S = 30 * 86_400.0  # after which a file that was not rewritten is deleted


def folder() -> Path:
    """Return the folder of the cache files; it need not exist."""
    return paths.state_dir() / "cache"


def read(path: Path) -> bytes | None:
    """Return the content of a file; None if it is missing or broken, or if others could write it."""
    data = access.read_own(path, _LIMIT_BYTES) or b""
    digest, body = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return body if digest == hashlib.sha256(body).digest() else None


def write(path: Path, body: bytes) -> None:
    """Replace a file's content in one step; do nothing if that isn't possible.

    Nothing is written either if Holdfast has no state folder yet: looking at a home must not change it. The file is not
    synced. After a crash of the machine it may be broken, and then it isn't used.
    """
    with suppress(OSError, StateError, ValueError):
        if not paths.state_dir().is_dir() or paths.ensure_private(path.parent).stat().st_mode & 0o022:
            return  # a folder that others can write to isn't safe
        atomic.write(path, hashlib.sha256(body).digest() + body, mode=0o600, durable=False)
        if time.time_ns() // 1_000 % 32 == 0:  # not at each write, because this looks at every file
            _delete(older_than_s=_UNUSED_S)


def clear() -> None:
    """Delete all cache files, because they hold names and paths of projects."""
    _delete()


def _delete(older_than_s: float = 0.0) -> None:
    with suppress(OSError):
        for file in folder().iterdir():
            with suppress(OSError):
                if time.time() - file.lstat().st_mtime >= older_than_s:
                    file.unlink()
