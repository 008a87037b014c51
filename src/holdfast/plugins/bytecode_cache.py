"""A cache of handler files' compiled code, by the digest of the source bytes."""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from types import CodeType
from typing import TYPE_CHECKING

from holdfast.files import cache

if TYPE_CHECKING:
    from pathlib import Path

INTERPRETER = f"{sys.implementation.cache_tag} {sys.hexversion:x} {sys.flags.optimize}"
_ready: dict[bytes, CodeType] = {}


def code(source: bytes, path: Path) -> CodeType:
    """Return a handler file's code, from the cache or freshly compiled.

    The cache is in Holdfast's private folder, never beside the handler. An entry is valid only for exactly these
    bytes, this path and this interpreter.

    Args:
        source: the file's bytes.
        path: the file's path, which is part of the code for its error messages.

    Raises:
        SyntaxError, ValueError: the bytes aren't Python.
    """
    key = _key(hashlib.sha256(source).hexdigest(), path)
    known = _ready.get(key) or _kept(key)
    if known is None:
        known = compile(source, str(path), "exec", dont_inherit=True)
        cache.write(_file(key), key + b"\n" + marshal.dumps(known))
    return known


def preload(digest: str, path: Path) -> None:
    """Load the cached code of a file with this digest into memory, for processes forked from this one."""
    key = _key(digest, path)
    if key not in _ready and (known := _kept(key)) is not None:
        _ready[key] = known


def hold(source: bytes, path: Path) -> None:
    """Compile these bytes and keep the code only in memory. Raises SyntaxError, ValueError."""
    _ready[_key(hashlib.sha256(source).hexdigest(), path)] = compile(source, str(path), "exec", dont_inherit=True)


def _kept(key: bytes) -> CodeType | None:
    body = cache.read(_file(key))
    if body is None or not body.startswith(key + b"\n"):
        return None
    try:
        found = marshal.loads(body[len(key) + 1 :])
    except (ValueError, EOFError, TypeError):
        return None
    return found if isinstance(found, CodeType) else None


def _key(digest: str, path: Path) -> bytes:
    return f"{digest} {INTERPRETER} ".encode() + os.fsencode(path).replace(b"\n", b"//")


def _file(key: bytes) -> Path:
    return cache.folder() / f"{hashlib.sha256(key).hexdigest()[:32]}.code"
