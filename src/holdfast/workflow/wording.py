"""Text from files on its way to the model: no control characters, nothing that could pass for the client's own."""

from __future__ import annotations

import re

from holdfast.patterns import regex

LONGEST = 200  # characters of a value
LOOKED_AT_CHARS = 20_000  # of a text that is shortened to a line; what follows cannot be in it

# Controls, and the marks that change the direction of text that is not theirs; joiners of letters and emoji stay.
_DROPPED = regex("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_BREAKS = regex("\r\n?|[\u2028\u2029\x85]")
_SURROGATES = regex("[\ud800-\udfff]")
_TAGS = regex(r"<(?=\s*/?\s*(?:system-reminder|workflow-data|session-trail)\b)", re.IGNORECASE)


def clean(text: str) -> str:
    """Return text without control characters and lone surrogates, tags of the client's and of our fences disarmed."""
    text = _DROPPED.sub("", _BREAKS.sub("\n", text))
    return _TAGS.sub("‹", _SURROGATES.sub("\ufffd", text))


def one_line(text: str, limit: int = LONGEST, pointer: str = "…") -> str:
    """Return text cleaned, on a single line, and cut to `limit` characters with `pointer` after them."""
    beginning = text[:LOOKED_AT_CHARS]
    line = clean(" ".join(clean(beginning).split()))
    whole = len(line) <= limit and len(beginning) == len(text)
    return line if whole else f"{line[:limit].rstrip()}{pointer}"


def quoted(text: str, limit: int = 80) -> str:
    """Return text on one line in double quotes, so that no name ends its own quotation."""
    return '"' + one_line(text, limit).replace('"', "'") + '"'


def units(text: str) -> int:
    """Return the length in UTF-16 units, which is how the client counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
