"""Names of sessions and of scratch files in the `wfs` format, made of what somebody calls them."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from holdfast.workflow import names

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

PREFIX = "WFS-"
LONGEST = 50
"""Characters of a session's name with prefix and suffix (R002-13)."""

_DESCRIBED_CHARS = 40  # characters of a scratch file's description
_NAMELESS = "session"  # for a topic without a letter from a to z and without a digit (I002-15)
_VERBS = frozenset(
    (
        *("add", "analyze", "analyse", "create", "debug", "explain", "explore", "extract", "find", "fix", "generate"),
        *("implement", "improve", "investigate", "migrate", "optimize", "refactor", "remove", "rename", "rewrite"),
        *("trace", "upgrade", "write"),
    )
)  # and no word that is a noun as often


def session(topic: str, taken: Callable[[str], bool]) -> str:
    """Return the name of a new session: `WFS-user-auth-system`, with `-002` and so on where it is taken.

    The topic is in lower case (R002-11), with one hyphen for every run of characters other than a-z and 0-9, cut at a
    hyphen (I002-15) after at most 50 characters (R002-13). Only a taken name gets a suffix (R002-12), first `-002`
    (I002-16).

    Args:
        topic: what the session is about.
        taken: tells whether a name cannot be used.
    """
    words = names.words(topic) or _NAMELESS
    for number in count(1):
        suffix = "" if number == 1 else f"-{number:03d}"
        name = f"{PREFIX}{_cut(words, LONGEST - len(PREFIX) - len(suffix))}{suffix}"
        if not taken(name):
            return name
    raise AssertionError("numbers do not end")


def command(name: str) -> str:
    """Return what a command is called in file names: `/cli:mode:code-analysis` is `code-analysis` (I002-17)."""
    return names.words(name.rpartition(":")[2]) or "output"


def description(text: str) -> str:
    """Return what a text comes to in file names: without its leading verb where other words are left (I002-19)."""
    words = names.words(text).split("-")
    if len(words) > 1 and words[0] in _VERBS:
        del words[0]
    return _cut("-".join(words), _DESCRIBED_CHARS)


def stamp(moment: datetime) -> str:
    """Return a moment in UTC as it stands in file names: `20250105-143022` (R002-37)."""
    return moment.strftime("%Y%m%d-%H%M%S")


def _cut(words: str, most: int) -> str:
    """Return as many whole words as fit; of a first one that does not, its beginning."""
    if len(words) <= most:
        return words
    head = words[: most + 1]
    return (head.rpartition("-")[0] if "-" in head else head[:most]).strip("-")
