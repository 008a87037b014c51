"""Processes: forked children, programs that Holdfast runs, the process that an event came from, and its terminal."""

from __future__ import annotations

import os
import signal
import time

from holdfast.process import liveness

_caller: int | None = None


def caller() -> int:
    """Return the id of the process that an event came from; the client and its ancestors are among its ancestors."""
    return os.getppid() if _caller is None else _caller


def reset_signals() -> None:
    """Undo what a parent may have left to this process: ignored or blocked signals that Holdfast relies on.

    With SIGCHLD ignored (`trap '' CHLD`), no child can be waited for. SIGALRM interrupts a handler that takes too long,
    and SIGTERM an event that the client ends.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD, signal.SIGALRM, signal.SIGTERM))


def set_caller(number: int) -> None:
    """Name the process that an event came from, in a worker of the warm server, which is not its child."""
    global _caller
    _caller = number


def age() -> float:
    """Return the seconds since this process was started, because the client's time runs from there."""
    ticks = liveness.started_at(os.getpid())
    if ticks is None:  # no Linux
        return time.process_time()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK")
