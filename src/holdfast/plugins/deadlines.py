"""How long the handlers of an event may take, and the timeout to register for that with the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MARGIN = 0.8
"""The share of the client's timeout that Holdfast uses, so that the reply comes in time."""
SHARE = 0.9
"""The share of an event's remaining time that one handler may take, so that its interrupt comes before the end."""
USUAL_S = 20.0
"""The time for all handlers of an event together, unless the configuration says otherwise."""
_LEAST_LEFT_S = 1.0  # time left for the interrupt is never longer than this


def longest_timeout(longest_limit: float) -> float:
    """Return the longest `timeout` (seconds) of a handler, for an event whose hook can take `longest_limit` seconds."""
    return longest_limit * 0.75


def of_event(longest_limit: float, client_limit: float, usual: float, timeouts: Iterable[float]) -> float:
    """Return the seconds that all handlers of an event may take together.

    A handler whose own timeout exceeds the common time gets its timeout on top of it.

    Args:
        longest_limit: the longest timeout (seconds) that can be registered (`Hooks.longest_limit_s`).
        client_limit: the client's default timeout in seconds (`Hook.timeout_s`).
        usual: the configured time for all handlers in seconds (`handlers.deadline`).
        timeouts: the event's handlers' own timeouts in seconds.
    """
    common = min(usual, client_limit * MARGIN)
    own = sum(each for each in timeouts if each > one_handler(common))
    return min(common + own, max(client_limit, longest_limit) * MARGIN)


def one_handler(left: float) -> float:
    """Return the seconds that one handler may take if an event has `left` seconds left."""
    return max(left * SHARE, left - _LEAST_LEFT_S, 0.0)


def needed_client_limit(longest_limit: float, client_limit: float, timeouts: Iterable[float]) -> int | None:
    """Return the timeout in seconds to register for an event, or None if the client's default is enough.

    Args:
        longest_limit: the longest timeout (seconds) that can be registered (`Hooks.longest_limit_s`).
        client_limit: the client's default timeout in seconds (`Hook.timeout_s`).
        timeouts: the event's handlers' own timeouts in seconds.
    """
    needed = of_event(longest_limit, client_limit, USUAL_S, timeouts) > client_limit * MARGIN
    return int(longest_limit) if needed else None
