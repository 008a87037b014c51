"""How long one event, or one command, waits for other processes' locks on the ledger, all its waits together."""

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
_SILENT_S = 1.0  # a command that waits longer says so
_PAUSE_S = 0.005  # between two tries


@dataclass
class Patience:
    """What is left of the time to wait.

    Attributes:
        left: seconds.
        say: tells a person at a terminal; None on the hook path, where the log is told.
        told: what was said last about the ledger, so that an event says it once.
        waited: seconds spent so far.
    """

    left: float = EVENT_WAIT_S
    say: Callable[[str], None] | None = None
    told: str = ""
    waited: float = 0.0

    def rest(self) -> tuple[float, float, str]:
        """Return what another process of the same event needs to know (`spent`), of JSON's types."""
        return self.left, self.waited, self.told

    def spent(self, rest: tuple[float, float, str]) -> None:
        """Take over what another process of the same event had left (`rest`)."""
        self.left, self.waited, self.told = rest

    def insist(self, attempt: Callable[[], T], busy: Callable[[Exception], bool], file: Path | None = None) -> T:
        """Return what `attempt` does; try again while it raises what `busy` recognises and there is time left.

        Args:
            attempt: what may meet another process's lock; when it does, it must have changed nothing.
            busy: tells whether an exception means that.
            file: what is locked, for the person who waits.

        Raises:
            Exception: what `attempt` raised last.
        """
        while True:
            try:
                return attempt()
            except Exception as error:
                if not busy(error) or not self.pause(file):
                    raise

    def pause(self, file: Path | None = None) -> bool:
        """Let a moment pass, and return True; return False at once where no time is left."""
        if not self.waited:
            # A handler has its own time limit: half of what remains of it is for the work that follows the wait.
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
