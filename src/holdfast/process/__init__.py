"""Processes: forked children, programs that Holdfast runs, and the process that called it."""

from __future__ import annotations

import os

_asked: int | None = None


def caller() -> int:
    """Return the id of a process whose ancestors are the client and who started it: an event came from it."""
    return os.getppid() if _asked is None else _asked


def set_caller(number: int) -> None:
    """Name the process that an event came from, in one that is nobody's child: the warm server's."""
    global _asked
    _asked = number
