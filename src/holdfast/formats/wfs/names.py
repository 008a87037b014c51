"""Names of `wfs` sessions and scratch files, made from topics, commands and descriptions."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from holdfast.workflow import names

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

PREFIX = "WFS-"
LONGEST = 50
"""The most characters of a session's name, with prefix and suffix (R002-13)."""

_DESCRIBED_CHARS = 40  # characters of a scratch file's description
_NAMELESS = "session"  # the name for a topic without a letter a-z or a digit (I002-15)
_VERBS = frozenset(
    (
        *("add", "analyze", "analyse", "create", "debug", "explain", "explore", "extract", "find", "fix", "generate"),
        *("implement", "improve", "investigate", "migrate", "optimize", "refactor", "remove", "rename", "rewrite"),
        *("trace", "upgrade", "write"),
    )
)  # without words that are nouns as often


def session(topic: str, taken: Callable[[str], bool]) -> str:
    """Return the name of a new session: `WFS-user-auth-system`, with `-002` and so on if it is taken.

    The topic is in lower case (R002-11), with one hyphen for every run of characters other than a-z and 0-9, cut at a
    hyphen (I002-15) after at most 50 characters (R002-13). Only a taken name gets a suffix (R002-12), first `-002`
    (I002-16).

    Args:
        topic: what the session is about.
        taken: returns whether a name is taken.
    """
    words = names.words(topic) or _NAMELESS
    for number in count(1):
        suffix = "" if number == 1 else f"-{number:03d}"
        name = f"{PREFIX}{_cut(words, LONGEST - len(PREFIX) - len(suffix))}{suffix}"
        if not taken(name):
            return name
    raise AssertionError("numbers do not end")


def command(name: str) -> str:
    """Return a command's name in file names: `code-analysis` for `/cli:mode:code-analysis` (I002-17)."""
    return names.words(name.rpartition(":")[2]) or "output"


def description(text: str) -> str:
    """Return a description for file names, without its leading verb if other words are left (I002-19)."""
    words = names.words(text).split("-")
    if len(words) > 1 and words[0] in _VERBS:
        del words[0]
    return _cut("-".join(words), _DESCRIBED_CHARS)


def stamp(moment: datetime) -> str:
    """Return a moment in UTC for file names: `20250105-143022` (R002-37)."""
    return moment.strftime("%Y%m%d-%H%M%S")


def _cut(words: str, most: int) -> str:
    """Return as many whole words as fit; if the first doesn't fit, its beginning."""
    if len(words) <= most:
        return words
    head = words[: most + 1]
    return (head.rpartition("-")[0] if "-" in head else head[:most]).strip("-")
