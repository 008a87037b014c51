"""How often a handler answers: once in a turn or session, and how often it keeps Claude from stopping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.plugins.outcomes import tell_user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plugins.outcomes import Outcome
    from holdfast.plugins.scan import Once
    from holdfast.plugins.state import State

FORCED_IN_A_ROW = 3
"""How many turns in a row a handler without a bound of its own may force. The client itself stops only after eight."""
_FORCING = ("force_turn", "block")


def has_answered(once: Once, state: State) -> bool:
    """Return whether a handler that answers once has done so in this turn or session."""
    with getattr(state, once) as memory:
        return bool(memory.get("answered"))


def note_answer(once: Once, state: State) -> None:
    """Record the answer of a handler that answers once."""
    with getattr(state, once) as memory:
        memory["answered"] = True


def bounded(
    event: Any, returned: Sequence[Outcome], state: State, label: str
) -> tuple[tuple[Outcome, ...], tuple[tuple[str, str], ...]]:
    """Drop the outcome that would force another turn if the handler has forced as many in a row as it may.

    `force_turn(…, at_most=…, within=…)` sets its own bound. Holdfast tells the user when the bound is reached.

    Args:
        event: the end of a turn.
        returned: what the handler returned.
        state: where its forced turns are counted.
        label: the handler's name.

    Returns:
        The outcomes that count, and the kind of each dropped one with the reason.
    """
    forcing = next((outcome for outcome in returned if outcome.kind in _FORCING), None)
    if forcing is None:
        return tuple(returned), ()
    own = forcing.value or {}
    most, within = own.get("at_most"), own.get("within")
    if most is None and within is None:
        most = FORCED_IN_A_ROW
    now = clock.now().timestamp()
    with state.session as memory:
        if not event.stop_hook_active:
            memory.clear()
        count, since = memory.get("count", 0), memory.get("since", now)
        over = (most is not None and count >= most) or (within is not None and now - since > within)
        announced = bool(memory.get("announced"))
        memory.update({"count": count + 1, "since": since, "announced": over})
    if not over:
        return tuple(returned), ()
    dropped = f"it has forced {count} turns in a row"
    others = [outcome for outcome in returned if outcome.kind not in _FORCING]
    if not announced:
        others.append(tell_user(f"Holdfast: {label} forced {count} turns in a row, so Claude may stop now."))
    return tuple(others), ((forcing.kind, dropped),)
