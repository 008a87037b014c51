"""Compare, copy and measure JSON values in C: a state can hold thousands, and an event does it several times."""

from __future__ import annotations

import json
import marshal
from itertools import chain
from operator import is_
from typing import Any, TypeVar

Value = TypeVar("Value")

DEPTH_LIMIT = 200
"""The most levels of objects and lists in a document; Python can read more than it can copy."""
_PLAIN = 2  # the marshal format in which equal values have equal bytes: later ones note which objects are shared


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values mean the same. Unlike `==`, it tells 1 from true and from 1.0.

    The order of keys doesn't matter. Values nested too deeply to compare count as different.
    """
    try:
        return bool(one == other) and (
            _identical(one, other) or _bytes(one) == _bytes(other) or _meaning(one) == _meaning(other)
        )
    except (RecursionError, ValueError):
        return False


def copied(value: Value) -> Value:
    """Return a copy of a JSON value that shares nothing with it. Raises ValueError for what JSON can't hold."""
    given: Any = value
    found: Value = marshal.loads(marshal.dumps(given))
    return found


def measured(value: Any) -> tuple[int, int]:
    """Return how many keys a JSON value has in all, and how many levels of objects and lists, up to one too many."""
    level, keys, depth = [value], 0, 0
    while depth <= DEPTH_LIMIT and not {dict, list}.isdisjoint(map(type, level)):
        objects = [each for each in level if type(each) is dict]
        lists = [each for each in level if type(each) is list]
        level = list(chain(*map(dict.values, objects), *lists))
        keys, depth = keys + sum(map(len, objects)), depth + 1
    return keys, depth


def _identical(one: Any, other: Any) -> bool:
    """Return whether two equal values are one, or are lists of the same objects, as a copy that was not changed is."""
    return one is other or (type(one) is list and all(map(is_, one, other)))


def _bytes(value: Any) -> bytes:
    return marshal.dumps(value, _PLAIN)


def _meaning(value: Any) -> str:
    """Return a text that is the same only for equal values; unlike their bytes, it doesn't tell the order of keys."""
    return json.dumps(value, sort_keys=True)
