"""How long an event searches for workflows, and how much it reads."""

from __future__ import annotations

from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SEARCH_TIMEOUT_S = 0.5  # seconds after which an event's search for workflows ends, in all formats together
LIMIT_BYTES = 4 * 1024 * 1024  # bytes of one state file: a thousand phases of 4,000 characters each
BUDGET_BYTES = 2 * LIMIT_BYTES  # bytes of one format's state files that an event reads, the session's own first
_ends: list[float] = []  # when the present search ends, by the monotonic clock; empty outside `limited`


@contextmanager
def limited() -> Iterator[None]:
    """End the searches in the block, all of them together, after `SEARCH_TIMEOUT_S` seconds (`out_of_time`)."""
    _ends.append(monotonic() + SEARCH_TIMEOUT_S)
    try:
        yield
    finally:
        _ends.pop()


def out_of_time() -> bool:
    """Return whether the present search has to end; always False outside `limited`."""
    return bool(_ends) and monotonic() >= _ends[-1]


class ReadBudget:
    """How many bytes of one format's state files an event may still read."""

    def __init__(self, left: int = BUDGET_BYTES) -> None:
        self.left = left

    def spend(self, sizes: Iterable[int]) -> bool:
        """Return whether files of these sizes may be read, and count them. Files too large to be read count nothing.

        Nothing may be read any more once the event's search is out of time.
        """
        needed = sum(size for size in sizes if size <= LIMIT_BYTES)
        if needed > self.left or out_of_time():
            return False
        self.left -= needed
        return True
