"""Paths into JSON: `meta.title` is one field, `phases[*].steps[*]` all members of lists, `tasks.*` all of an object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_PARTS = 8
_PART = re.compile(r"(?:[^.\[\]*\s]+|\*)(?:\[\*\])?")
_LIST = "[*]"


class Member(NamedTuple):
    """An object that a path leads to.

    Attributes:
        keys: how to get there: keys of objects and indexes of lists.
        data: the object.
    """

    keys: tuple[str | int, ...]
    data: dict[str, Any]


def parts(path: str) -> list[str]:
    """Return the keys of a path, `[*]` as one of its own. Raises ValueError for what is no path."""
    found: list[str] = []
    for part in path.split("."):
        if not _PART.fullmatch(part):
            raise ValueError(f"{path!r} isn't a path; write keys with dots between them, and [*] after a list's key")
        found += [part.removesuffix(_LIST), _LIST] if part.endswith(_LIST) else [part]
    if len(found) > MAX_PARTS:
        raise ValueError(f"{path!r} has more than {MAX_PARTS} parts")
    return found


def is_single(path: str) -> bool:
    """Return whether a path leads to one field, not to several."""
    return not {"*", _LIST} & set(parts(path))


def get(data: Mapping[str, Any], path: str) -> Any:
    """Return the value of a field; None if there is none."""
    found: Any = data
    for key in parts(path) if path else ():
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found if path else None


def put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set a field. Objects on the way to it are made; anything else there is replaced by nothing: it is an error.

    Raises:
        ValueError: something else than an object is on the way.
    """
    *way, last = parts(path)
    for key in way:
        inner = data.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ValueError(f"{key!r} isn't an object, so {path} can't be written")
        data = inner
    data[last] = value


def members(data: Mapping[str, Any], path: str) -> list[Member]:
    """Return the objects that a path leads to, in the file's order. What is no object is left out."""
    return [Member(keys, each) for keys, each in _walk(data, parts(path), ()) if isinstance(each, dict)]


def build(path: str, entries: list[dict[str, Any]], *, titled: tuple[str, str] | None = None) -> dict[str, Any]:
    """Return a new object in which a path leads to these entries, in as few enclosing members as possible.

    Args:
        path: the path, which begins with a key.
        entries: what it leads to.
        titled: the field and the text by which enclosing members are named; None for nothing.
    """
    keys = parts(path)
    inner: Any = list(entries) if keys[-1] == _LIST else {f"{number}": each for number, each in enumerate(entries, 1)}
    for key in reversed(keys[:-1]):
        if key in ("*", _LIST):
            named = {titled[0]: titled[1], **inner} if titled else inner
            inner = [named] if key == _LIST else {"1": named}
        else:
            inner = {key: inner}
    return dict(inner)


def _walk(data: Any, keys: list[str], way: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if not keys:
        yield way, data
    elif keys[0] == _LIST:
        for number, each in enumerate(data) if isinstance(data, list) else ():
            yield from _walk(each, keys[1:], (*way, number))
    elif keys[0] == "*":
        for key, each in data.items() if isinstance(data, dict) else ():
            yield from _walk(each, keys[1:], (*way, key))
    elif isinstance(data, dict) and keys[0] in data:
        yield from _walk(data[keys[0]], keys[1:], (*way, keys[0]))
