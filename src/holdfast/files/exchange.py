"""Swap what lies at two paths in one step, where the system knows such a step."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_HERE = -100  # AT_FDCWD of Linux: paths are taken as they are
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
# What a system, a file system or a sandbox answers that has no such step; a lack of rights shows in the plain rename.
_UNKNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})


def exchange(one: Path, other: Path) -> bool:
    """Swap two files and return true; false where that cannot be done in one step, and then nothing was done.

    Nobody ever sees either path empty. Raises OSError, for instance where one of the two is not there.
    """
    call = _call()
    if call is None:
        return False
    if call(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    import ctypes

    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def _call() -> Callable[[bytes, bytes], int] | None:
    """Return the system's call as a function of two paths, or None where it has none (or Python has no ctypes)."""
    try:
        import ctypes

        library: Any = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            swap = library.renamex_np
            return lambda one, other: int(swap(one, other, ctypes.c_uint(_SWAP)))
        rename = library.renameat2
    except (ImportError, OSError, AttributeError):
        return None
    return lambda one, other: int(rename(_HERE, one, _HERE, other, ctypes.c_uint(_SWAP)))
