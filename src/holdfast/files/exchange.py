"""Swap two files in one step, on systems that can."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_HERE = -100  # AT_FDCWD of Linux: relative paths start at the working directory
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
# Errors of systems, file systems and sandboxes without this step. A real lack of permission shows in the plain rename.
_UNKNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})


def exchange(one: Path, other: Path) -> bool:
    """Swap two files in one step and return True; False if the system can't, in which case nothing was done.

    Nobody ever sees either path empty. Raises OSError, for example if one of the two doesn't exist.
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
    """Return the system call as a function of two paths, None if there is none (or Python has no ctypes)."""
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
