"""Processes: forked children, programs that Holdfast runs, the process that an event came from, and its terminal."""

from __future__ import annotations

import os

_asked: int | None = None


def caller() -> int:
    """Return the id of the process that an event came from; the client and its ancestors are among its ancestors."""
    return os.getppid() if _asked is None else _asked


def set_caller(number: int) -> None:
    """Name the process that an event came from, in a worker of the warm server, which is not its child."""
    global _asked
    _asked = number
