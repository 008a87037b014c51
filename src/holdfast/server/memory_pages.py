"""Copy the memory pages that a forked process will write to, before its event comes.

To call a function is to write: Python counts references in the function, its code and its constants. In a process that
was forked, the first write to each page makes the system copy that page, and an event writes to hundreds of them.
"""

from __future__ import annotations

import sys
from functools import cache, cached_property
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

_Cached = type(cache(print))


def objects(folders: Container[str]) -> list[object]:
    """Return what is loaded from some of the package's folders, down to the constants in the code.

    Args:
        folders: their names, such as `sessions`.
    """
    found, seen = list[object](), set[int]()
    for name, loaded in list(sys.modules.items()):
        top, _, rest = name.partition(".")
        if top == "holdfast" and rest.partition(".")[0] in folders:
            for value in vars(loaded).values():
                _collect(value, found, seen)
    return found


def copy(used: Iterable[object]) -> None:
    """Change each object's reference count, so that this process gets its own copy of the page."""
    for _ in used:
        pass


def _collect(value: object, found: list[object], seen: set[int]) -> None:
    """Add a value and what it contains."""
    if id(value) in seen:
        return
    seen.add(id(value))
    found.append(value)
    for each in _within(value):
        _collect(each, found, seen)


def _within(value: object) -> Iterable[object]:
    """Return a function's code, the constants of code, the members of a class of ours."""
    if isinstance(value, FunctionType):
        return (value.__code__,)
    if isinstance(value, CodeType):
        return value.co_consts
    if isinstance(value, staticmethod | classmethod | _Cached):
        return (value.__wrapped__,)
    if isinstance(value, property):
        return (value.fget,)
    if isinstance(value, cached_property):
        return (value.func,)
    if isinstance(value, type) and value.__module__.partition(".")[0] == "holdfast":
        return tuple(vars(value).values())
    return ()
