"""Wait for what another process or thread is about to do: the one place where tests sleep."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Seen = TypeVar("Seen")
PATIENCE_S = 500.0  # on a busy machine, what takes moments may take long


def until(look: Callable[[], Seen], what: str | Callable[[], str] = "", *, patience_s: float = PATIENCE_S) -> Seen:
    """Look again and again until something true is seen, and return it.

    Args:
        look: returns something true once what is waited for has happened.
        what: what the failure says where that never happens.
        patience_s: after which it is a failure.
    """
    deadline = time.monotonic() + patience_s
    while not (seen := look()):
        assert time.monotonic() < deadline, (what if isinstance(what, str) else what()) or "it never happened"
        time.sleep(0.02)
    return seen
