"""How long an event searches for workflows, and how large a file may be that it reads."""

from __future__ import annotations

from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SEARCH_TIMEOUT_S = 0.5  # seconds after which an event's search for workflows ends, in all formats together
LIMIT_BYTES = 4 * 1024 * 1024  # bytes of one state file: a thousand phases of 4,000 characters each
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
