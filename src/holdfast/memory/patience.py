"""Patience: how long an event or a command waits for locks on the ledger, all waits together."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")

EVENT_WAIT_S = 1.0
COMMAND_WAIT_S = 10.0
_SILENT_S = 1.0  # seconds after which a waiting command says that it waits
_PAUSE_S = 0.005  # seconds between two attempts


@dataclass
class Patience:
    """The time that is left to wait.

    Attributes:
        left: seconds.
        say: prints a line for a person at a terminal; None on the hook path, where only the log gets it.
        reported: the last message about the ledger, so that an event says it only once.
        waited: seconds spent so far.
    """

    left: float = EVENT_WAIT_S
    say: Callable[[str], None] | None = None
    reported: str = ""
    waited: float = 0.0

    def rest(self) -> tuple[float, float, str]:
        """Return the state for another process of the same event (`spent`), as JSON values."""
        return self.left, self.waited, self.reported

    def spent(self, rest: tuple[float, float, str]) -> None:
        """Take over the state of another process of the same event (`rest`)."""
        self.left, self.waited, self.reported = rest

    def insist(self, attempt: Callable[[], T], busy: Callable[[Exception], bool], file: Path | None = None) -> T:
        """Return the result of `attempt`; retry while it raises what `busy` recognises and there is time left.

        Args:
            attempt: may meet another process's lock; in that case it must have changed nothing.
            busy: returns whether an exception means such a lock.
            file: the locked file, for the person who waits.

        Raises:
            Exception: the last one that `attempt` raised.
        """
        while True:
            try:
                return attempt()
            except Exception as error:
                if not busy(error) or not self.pause(file):
                    raise

    def pause(self, file: Path | None = None) -> bool:
        """Wait for a moment and return True; return False at once if no time is left."""
        if not self.waited:
            # A handler has its own time limit; half of its remaining time is reserved for the work after the wait.
            limit = signal.getitimer(signal.ITIMER_REAL)[0]
            self.left = min(self.left, limit / 2) if limit else self.left
        if self.left <= 0:
            return False
        began = time.monotonic()
        time.sleep(_PAUSE_S)
        took = time.monotonic() - began
        if self.say and self.waited < _SILENT_S <= self.waited + took:
            self.say(f"waiting for another process that has locked {file}")
        self.left -= took
        self.waited += took
        return True
