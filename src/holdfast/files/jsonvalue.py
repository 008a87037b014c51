"""Compare and copy JSON values in C, because a state can hold thousands of them and an event does it several times."""

from __future__ import annotations

import marshal
from typing import Any, TypeVar

Value = TypeVar("Value")

_PLAIN = 2  # the marshal format in which equal values have equal bytes: later ones note which objects are shared


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values mean the same. Unlike `==`, it tells 1 from true and from 1.0.

    The order of keys doesn't matter. Values nested too deeply to compare count as different.
    """
    try:
        return bool(one == other) and (_bytes(one) == _bytes(other) or _meaning(one) == _meaning(other))
    except (RecursionError, ValueError):
        return False


def copied(value: Value) -> Value:
    """Return a copy of a JSON value that shares nothing with it. Raises ValueError for what JSON can't hold."""
    given: Any = value
    found: Value = marshal.loads(marshal.dumps(given))
    return found


def _bytes(value: Any) -> bytes:
    return marshal.dumps(value, _PLAIN)


def _meaning(value: Any) -> str:
    """Return a text that is the same only for equal values; unlike their bytes, it doesn't tell the order of keys."""
    import json

    return json.dumps(value, sort_keys=True)
