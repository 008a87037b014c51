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
_LONGEST_S = 3_600.0
_LONGEST_OF_S = {"SessionEnd": 60.0}  # more the client does not give (client fact §4.4)


def longest_client_limit(event: str) -> float:
    """Return the seconds that are registered beside our command where a handler needs more than the client's default.

    Only the client's patience ends there: the handlers' own deadline comes long before.
    """
    return _LONGEST_OF_S.get(event, _LONGEST_S)


def longest_timeout(event: str) -> float:
    """Return the most seconds one handler of an event may ask for."""
    return longest_client_limit(event) * 0.75


def of_event(event: str, client_limit: float, usual: float, timeouts: Iterable[float]) -> float:
    """Return the seconds all handlers of an event may take together.

    A handler that asks for more than the common time gives gets its own time on top of it.

    Args:
        event: the event's name.
        client_limit: seconds after which the client gives up by default (`Event.deadline`).
        usual: seconds for all handlers that the configuration allows (`handlers.deadline`).
        timeouts: the seconds that the event's handlers ask for themselves.
    """
    common = min(usual, client_limit * MARGIN)
    own = sum(each for each in timeouts if each > one_handler(common))
    return min(common + own, max(client_limit, longest_client_limit(event)) * MARGIN)


def one_handler(left: float) -> float:
    """Return the seconds one handler may take of what an event has left."""
    return max(left * SHARE, left - _LEAST_LEFT_S, 0.0)


def needed_client_limit(event: str, client_limit: float, timeouts: Iterable[float]) -> int | None:
    """Return the time limit in seconds to register for an event; None where the client's default is enough.

    Args:
        event: the event's name.
        client_limit: seconds after which the client gives up by default (`Event.deadline`).
        timeouts: the seconds that the event's handlers ask for themselves.
    """
    needed = of_event(event, client_limit, USUAL_S, timeouts) > client_limit * MARGIN
    return int(longest_client_limit(event)) if needed else None
