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
        self._compiled: re.Pattern[Any] | None = None

    def __getattr__(self, name: str) -> Any:  # called for what is not there yet
        if "pattern" not in self.__dict__:  # `copy` asks one that it has made and not yet filled
            raise AttributeError(name)
        return getattr(self.compile(), name)

    def compile(self) -> re.Pattern[Any]:
        """Return the compiled one, and have its methods at hand for the next use."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self.flags)
            self.__dict__.update({method: getattr(self._compiled, method) for method in _METHODS})
        return self._compiled


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
        _waiting.pop().compile()
