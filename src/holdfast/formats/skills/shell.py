"""Which known commands a shell line runs, and whether each of them succeeded; globs over arguments find them."""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LIMIT_CHARS = 20_000  # of a line that is looked at
_REDIRECTION = re.compile(r"(?:\d|&)?>{1,2}(?:&\d|\s*[^\s;&|()]+)?")
_SEPARATORS = ";&|()\n"
_ENDS = ("", ";", "\n")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_ASIDE = frozenset({"cd", "export", "source", ".", "set", "pushd", "echo", "true"})
"""Commands that say nothing about what came of a line."""


class Called(NamedTuple):
    """A command in a line.

    Attributes:
        arguments: the program and its arguments.
        succeeded: what came of it; None if the line's end doesn't tell.
    """

    arguments: tuple[str, ...]
    succeeded: bool | None


def called(line: str, *, failed: bool) -> list[Called]:
    """Return the commands of a shell line, with what its end says about each.

    A line that succeeded proves those commands that only `&&` follows. A line that failed proves one that stands alone.
    """
    parsed = list(_commands(line[:_LIMIT_CHARS]))  # up to ten thousand, so each is looked at once
    signs = [sign for _, sign in parsed]
    last = max((at for at, sign in enumerate(signs[:-1]) if sign not in ("&&", "")), default=-1)
    proven = len(parsed) if failed or not signs or signs[-1] not in _ENDS else last + 1
    telling = {arguments for arguments, _ in parsed if arguments[0] not in _ASIDE}
    split = next((at for at, sign in enumerate(signs) if sign in ("||", "|", "&")), len(signs))
    found = []
    for number, (arguments, sign) in enumerate(parsed):
        alone = failed and telling <= {arguments} and sign in _ENDS and number <= split
        found.append(Called(arguments, True if number >= proven else False if alone else None))
    return found


def fits(pattern: str, arguments: Sequence[str]) -> bool:
    """Return whether a pattern means a command: a glob for each argument, and a last `*` for any more of them.

    The program is compared without its folder.
    """
    globs = pattern.split()
    given = [arguments[0].rpartition("/")[2], *arguments[1:]] if arguments else []
    if globs and globs[-1] == "*":
        globs = globs[:-1]
        given = given[: len(globs)]
    return bool(globs) and len(globs) == len(given) and all(map(fnmatchcase, given, globs))


def subcommand(arguments: Sequence[str]) -> str:
    """Return what git is told to do, past its own options (`git -C folder -c name=value commit`); empty for none."""
    if not arguments or arguments[0].rpartition("/")[2] != "git":
        return ""
    rest = iter(arguments[1:])
    for each in rest:
        if each in ("-C", "-c"):
            next(rest, "")
        elif not each.startswith("-"):
            return each
    return ""


def _commands(line: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the commands of a line, each with the sign after it."""
    lexer = shlex.shlex(_REDIRECTION.sub(" ", line), posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    try:
        tokens = list(lexer)
    except ValueError:  # a quote that is open: nobody knows what ran
        return
    for token in tokens:
        if set(token) <= set(_SEPARATORS):
            if words:
                yield tuple(words), token.strip("()") or ";"
            words = []
        elif words or not _ASSIGNMENT.match(token):
            words.append(token)
    if words:
        yield tuple(words), ""
