"""Processes: forked children, programs that Holdfast runs, the process that an event came from, and its terminal."""

from __future__ import annotations

import os
import signal

_asked: int | None = None


def caller() -> int:
    """Return the id of the process that an event came from; the client and its ancestors are among its ancestors."""
    return os.getppid() if _asked is None else _asked


def reset_signals() -> None:
    """Undo what a parent may have left to this process: ignored or blocked signals that Holdfast relies on.

    With SIGCHLD ignored (`trap '' CHLD`), no child can be waited for. SIGALRM interrupts a handler that takes too long,
    and SIGTERM an event that the client ends.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD, signal.SIGALRM, signal.SIGTERM))


def set_caller(number: int) -> None:
    """Name the process that an event came from, in a worker of the warm server, which is not its child."""
    global _asked
    _asked = number
