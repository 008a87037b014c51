"""Which process an event came from: the one the client started for it."""

from __future__ import annotations

import os

_asked: int | None = None


def process() -> int:
    """Return the id of a process whose ancestors are the client and who started it."""
    return os.getppid() if _asked is None else _asked


def set_process(number: int) -> None:
    """Name the process that an event came from, in one that is nobody's child: the warm server's."""
    global _asked
    _asked = number
