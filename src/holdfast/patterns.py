"""Regular expressions that are compiled at first use, because most events need few of a module's expressions.

It also has the one list of characters that a reader doesn't see.
"""

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


INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Characters without a shape, for use in a character class.

They are soft hyphens, fillers, zero-width spaces and joiners, direction marks, variation selectors and tags.
"""
CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Control characters, for use in a character class; tabs and line breaks aren't among them."""
# Emoji and letters that aren't Latin may be joined or followed by a selector of their style (👩‍💻, ❤️, می‌خواهم, 1️⃣).
_JOINED = f"[^\x00-\u024f\u2028\u2029\ud800-\udfff{INVISIBLE}]"
HIDDEN = regex(
    f"(?![\u200c\u200d\ufe0e\ufe0f])[{INVISIBLE}]"
    f"|(?<!{_JOINED})(?<!{_JOINED}[\ufe0e\ufe0f])[\u200c\u200d]|[\u200c\u200d](?!{_JOINED})"
    f"|(?<!{_JOINED})(?<![\xa9\xae])[\ufe0e\ufe0f](?!\u20e3)"
)
"""An invisible character, except the joiners and selectors that emoji and letters need."""
