"""File permissions that also bind root, in case root runs the tests."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_OVERRIDE = 0b110  # Linux: CAP_DAC_OVERRIDE, with which root writes everything, and CAP_DAC_READ_SEARCH
_VERSION = 0x20080522  # of the structures that capget and capset take


@contextmanager
def counting() -> Iterator[None]:
    """Make this thread obey file permissions within the block.

    If root runs the tests and can't drop its privileges, the test is skipped.
    """
    if os.geteuid() != 0:
        yield
        return
    library: Any = ctypes.CDLL(None)
    head, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()  # effective first, of two halves
    if not hasattr(library, "capset") or library.capget(head, sets) != 0:
        pytest.skip("root obeys no permissions here")
    access, effective = os.access, sets[0]
    sets[0] = effective & ~_OVERRIDE
    assert library.capset(head, sets) == 0
    # What the real user may is otherwise asked for, which is root still.
    os.access = lambda path, mode, **options: access(path, mode, **options | {"effective_ids": True})
    try:
        yield
    finally:
        os.access = access
        sets[0] = effective
        assert library.capset(head, sets) == 0
