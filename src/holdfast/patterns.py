"""Regular expressions of modules, each compiled at its first use: most events need few of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
_waiting: list[_Pattern] = []


class _Pattern:
    """Stands for a `re.Pattern`, and has all it has; `re` of a match is not this one but the compiled one."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:  # called for what is not there yet
        compiled = re.compile(self.pattern, self.flags)
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})  # for the next use
        return getattr(compiled, name)


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when it is used, and that is in error only then.

    Args:
        text: the expression.
        flags: as for `re.compile`.
    """
    made = _Pattern(text, flags)
    _waiting.append(made)
    return cast("re.Pattern[AnyStr]", made)


def compile_all() -> None:
    """Compile those that were made by now, in a process that others are forked from."""
    while _waiting:
        _waiting.pop().search  # noqa: B018 - asking for a method compiles
