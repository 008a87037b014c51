"""How long the handlers of an event may take, and the timeout to register for that with the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.plugins.hooks import Hook

MARGIN = 0.8
"""The share of the client's timeout that Holdfast uses, so that the reply comes in time."""
SHARE = 0.9
"""The share of an event's remaining time that one handler may take, so that its interrupt comes before the end."""
USUAL_S = 20.0
"""The time for all handlers of an event together, unless the configuration says otherwise."""
_LEAST_LEFT_S = 1.0  # time left for the interrupt is never longer than this


def longest_timeout(hook: Hook) -> float:
    """Return the longest `timeout` (seconds) that a handler of an event may have."""
    return hook.longest_timeout_s * 0.75


def of_event(hook: Hook, usual: float, timeouts: Iterable[float]) -> float:
    """Return the seconds that all handlers of an event may take together.

    A handler whose own timeout exceeds the common time gets its timeout on top of it, as far as the client waits.

    Args:
        hook: the event's hook.
        usual: the configured time for all handlers in seconds (`handlers.deadline`).
        timeouts: the event's handlers' own timeouts in seconds.
    """
    common = min(usual, hook.timeout_s * MARGIN)
    own = sum(each for each in timeouts if each > one_handler(common))
    return min(common + own, max(hook.timeout_s, hook.longest_timeout_s) * MARGIN)


def one_handler(left: float) -> float:
    """Return the seconds that one handler may take if an event has `left` seconds left."""
    return max(left * SHARE, left - _LEAST_LEFT_S, 0.0)


def needed_client_limit(hook: Hook, timeouts: Iterable[float]) -> int | None:
    """Return the timeout in seconds to register for an event, or None if the client's default is enough.

    It only bounds how long the client waits; the handlers' own deadline comes long before.

    Args:
        hook: the event's hook.
        timeouts: the event's handlers' own timeouts in seconds.
    """
    needed = of_event(hook, USUAL_S, timeouts) > hook.timeout_s * MARGIN
    return int(hook.longest_timeout_s) if needed else None
