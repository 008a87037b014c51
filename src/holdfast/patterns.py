"""Regular expressions that are compiled at first use, because most events need few of a module's expressions."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
_waiting: list[_Pattern] = []


class _Pattern:
    """A stand-in for a `re.Pattern` with all its attributes. A match's `re` is the compiled pattern, not this."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags
        self._compiled: re.Pattern[Any] | None = None

    def __getattr__(self, name: str) -> Any:  # called only for attributes that aren't set
        if "pattern" not in self.__dict__:  # `copy` asks a copy that it hasn't filled yet
            raise AttributeError(name)
        return getattr(self.compile(), name)

    def compile(self) -> re.Pattern[Any]:
        """Return the compiled pattern, and set its methods here so that the next use is direct."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self.flags)
            self.__dict__.update({method: getattr(self._compiled, method) for method in _METHODS})
        return self._compiled


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled, and raises an error for a bad pattern, only when it is used.

    Args:
        text: the expression.
        flags: as for `re.compile`.
    """
    made = _Pattern(text, flags)
    _waiting.append(made)
    return cast("re.Pattern[AnyStr]", made)


def compile_all() -> None:
    """Compile all expressions made so far, for a process that others are forked from."""
    while _waiting:
        _waiting.pop().compile()
