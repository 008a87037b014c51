"""Words of bash: what is left of one without its quotes and escapes, and whether it is exactly that."""

from __future__ import annotations

import re
from typing import NamedTuple

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=", re.ASCII)
_PLAIN = re.compile(r"""(?:[\w@%+=:,./~ \t-]|'[^']*'|"[^"$`\\]*")+""")
_PARTS = re.compile(
    r"""'(?P<raw>[^']*)' | "(?P<double>(?:\\.|[^"\\])*)"
        | \\(?P<escaped>.) | (?P<bare>[^'"\\$]+|\$\$?)""",
    re.DOTALL | re.VERBOSE,
)
WHOLE = re.compile(
    r"""(?:\\. | '[^']*' | \$'(?:\\.|[^'\\])*' | \$?"(?:\\.|[^"\\])*"
        | \$(?!['"]) | [^\s'"\\`$&|;<>()])+""",
    re.DOTALL | re.VERBOSE,
)
"""A text that bash takes for one word, if its substitutions are replaced by a letter."""
_VARIABLE = r"\$[\w{([@*#?$!-]|`"
_EXPANSION = re.compile(rf"^~[+-]|\$\0|{_VARIABLE}|[*?\[()\s]|\{{.*(?:,|\.\.).*\}}", re.DOTALL)


class Word(NamedTuple):
    """A word of a command.

    Attributes:
        text: without quotes and escapes; expansions as they are written.
        known: whether it has no expansion.
    """

    text: str
    known: bool = True


def plain(text: str) -> list[Word]:
    """Return the words of a command that needs no parser; empty for any other text."""
    if not _PLAIN.fullmatch(text):
        return []
    found = [word(part) for part in re.findall(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""", text)]
    return [] if not found or ASSIGNMENT.match(found[0].text) else found


def word(source: str) -> Word:
    """Return the word that a text of bash stands for. It may have expansions, but no substitution with quotes."""
    found, bare, end, known = "", "", 0, True
    for part in _PARTS.finditer(source):
        known &= part.start() == end
        end = part.end()
        match part.lastgroup:
            case "bare":
                bare += part[0]
                found += part[0]
                continue
            case "double":
                text, literal = unescape(part["double"], '$`"\\')
                known &= literal
            case "escaped":
                text = "" if part["escaped"] == "\n" else part["escaped"]
            case _:
                text = part["raw"]
        bare += "\0"
        found += text
    return Word(found, True) if known and end == len(source) and not _EXPANSION.search(bare) else Word(found, False)


def unescape(text: str, special: str) -> tuple[str, bool]:
    """Return a text with expansions without its escapes, and whether it is literal.

    Args:
        text: what is between double quotes, or a here-document.
        special: the characters that a backslash escapes there.
    """
    literal = not re.search(_VARIABLE, re.sub(r"\\.", "", text, flags=re.DOTALL))
    escaped = rf"\\([{re.escape(special)}\n])"
    return re.sub(escaped, lambda found: found[1].strip("\n"), text), literal
