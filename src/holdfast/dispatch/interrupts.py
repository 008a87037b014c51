"""Interrupt code that takes too long: one timer for the event and for each handler that runs in this process."""

from __future__ import annotations

import math
import signal
import threading
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType

REPEAT_S = 0.05
"""The interrupt repeats, in case some code swallows it."""


class HandlerTimeout(BaseException):
    """A handler's timeout has passed. A BaseException, so that `except Exception` doesn't swallow it."""


class EventStopped(BaseException):
    """The event must end now. No handler should catch this."""


class EventEnded(EventStopped):
    """The client ended the event."""


class EventOverdue(EventStopped):
    """The event's time is up."""


class interrupt_at:  # noqa: N801 - used like a function, and a generator would be interrupted in more places
    """Raise an exception in the block at a given `time.monotonic()`, repeatedly until the block ends.

    Blocks may be nested. If several are due, the outermost one is interrupted. Signals reach only the main thread, so a
    block in another thread is never interrupted; nor is one whose time is infinite.
    """

    _active: list[interrupt_at] = []  # noqa: RUF012 - the process has one timer

    def __init__(self, at: float, error: type[BaseException]) -> None:
        """Take the time, and the exception to raise."""
        self.at, self.error = at, error

    def __enter__(self) -> Self:
        """Begin the block."""
        if self.at != math.inf and threading.current_thread() is threading.main_thread():
            self._active.append(self)
            self._arm()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the block, also if the timer goes off just now."""
        while self in self._active:
            try:
                del self._active[self._active.index(self) :]
                self._arm()
            except self.error:
                continue

    @classmethod
    def _arm(cls) -> None:
        """Set the timer to the block that is due first, or stop it."""
        if cls._active:
            signal.signal(signal.SIGALRM, cls._ring)
            seconds = min(each.at for each in cls._active) - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001), REPEAT_S)
        else:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @classmethod
    def _ring(cls, signum: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        due = next((each for each in cls._active if each.at <= now), None)
        if due:
            raise due.error

    @classmethod
    def forget_all(cls) -> None:
        """Drop the blocks of the parent in a forked process, which has no timer yet."""
        cls._active.clear()
