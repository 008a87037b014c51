"""How long the handlers of an event may take, and how long the client has to wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MARGIN = 0.8
"""The share of the client's own time limit that we use, so that our reply comes before its end."""
SHARE = 0.9
"""Of the event's time that is left one handler may take, so that its interrupt comes before the end."""
USUAL_S = 20.0
"""What all handlers of an event may take together where the configuration says nothing else."""
_LEAST_LEFT_S = 1.0  # of a long time no more than this has to be left for the interrupt


def longest_timeout(longest_limit: float) -> float:
    """Return the most seconds one handler may ask for of an event whose hook can take `longest_limit` seconds."""
    return longest_limit * 0.75


def of_event(longest_limit: float, client_limit: float, usual: float, timeouts: Iterable[float]) -> float:
    """Return the seconds all handlers of an event may take together.

    A handler that asks for more than the common time gives gets its own time on top of it.

    Args:
        longest_limit: the most seconds for which the client can be made to wait (`Hooks.longest_limit_s`).
        client_limit: seconds after which the client gives up by default (`Event.deadline`).
        usual: seconds for all handlers that the configuration allows (`handlers.deadline`).
        timeouts: the seconds that the event's handlers ask for themselves.
    """
    common = min(usual, client_limit * MARGIN)
    own = sum(each for each in timeouts if each > one_handler(common))
    return min(common + own, max(client_limit, longest_limit) * MARGIN)


def one_handler(left: float) -> float:
    """Return the seconds one handler may take of what an event has left."""
    return max(left * SHARE, left - _LEAST_LEFT_S, 0.0)


def needed_client_limit(longest_limit: float, client_limit: float, timeouts: Iterable[float]) -> int | None:
    """Return the time limit in seconds to register for an event; None where the client's default is enough.

    Args:
        longest_limit: the most seconds for which the client can be made to wait (`Hooks.longest_limit_s`).
        client_limit: seconds after which the client gives up by default (`Event.deadline`).
        timeouts: the seconds that the event's handlers ask for themselves.
    """
    needed = of_event(longest_limit, client_limit, USUAL_S, timeouts) > client_limit * MARGIN
    return int(longest_limit) if needed else None
