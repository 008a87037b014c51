"""What a run of tests in a transcript shows: which tests failed and passed, and why."""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from holdfast.formats.skills.results import Tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.clients.client import Work

_LIMIT_CHARS = 50_000  # of an output's end
_COMMAND_LIMIT_CHARS = 20_000
_MOST = 50  # tests that are named
_FAILED = (
    re.compile(r"^(?:FAILED|ERROR) (?:\S*::)?(\S+)", re.MULTILINE),  # pytest
    re.compile(r"^test (?:\S*::)?(\S+) \.\.\. FAILED$", re.MULTILINE),  # cargo
    re.compile(r"^\s*--- FAIL: (\S+)", re.MULTILINE),  # go
    re.compile(r"^\s*[✕×] (.{1,200}?)(?: \(\d+ m?s\))?$", re.MULTILINE),  # jest, vitest
)
_PASSED = (
    re.compile(r"^(?:\S*::)?(test\S*) PASSED", re.MULTILINE),
    re.compile(r"^test (?:\S*::)?(\S+) \.\.\. ok$", re.MULTILINE),
    re.compile(r"^\s*--- PASS: (\S+)", re.MULTILINE),
    re.compile(r"^\s*[✓✔] (.{1,200}?)(?: \(\d+ m?s\))?$", re.MULTILINE),
)
_COUNT_FAILED = re.compile(r"\b[1-9]\d{0,6} (?:failed|errors?)\b")
_COUNT_PASSED = re.compile(r"\b[1-9]\d{0,6} passed\b")
_REASONS = (
    re.compile(r"^E\s+(\S.*)$", re.MULTILINE),
    re.compile(r"^error(?:\[\w+\])?: (.+)$", re.MULTILINE),
    re.compile(r"^(?:\w+)?(?:Error|Exception): (.+)$", re.MULTILINE),
)
_REASON_LIMIT_CHARS = 300
_REDIRECTION = re.compile(r"(?:\d|&)?>{1,2}(?:&\d|\s*[^\s;&|()]+)?")
_SEPARATORS = ";&|()\n"
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def tests_of(work: Work, patterns: Iterable[str]) -> Tests | None:
    """Return what a command shows of tests; None if it ran none, or if nobody can tell how they ended.

    The runner's summary says it. Without one, the exit code does, unless the line runs more than the tests.

    Args:
        work: the command with its output.
        patterns: the commands that run tests (`fits`).
    """
    commands = [each for each in _commands(work.command[:_COMMAND_LIMIT_CHARS]) if each[0] != "cd"]
    command = next((each for each in commands if any(fits(pattern, each) for pattern in patterns)), None)
    if command is None:
        return None
    text = work.output[-_LIMIT_CHARS:]
    failing, passing = _named(_FAILED, text), _named(_PASSED, text)
    if failing or _COUNT_FAILED.search(text):
        passed = False
    elif _COUNT_PASSED.search(text):
        passed = True
    elif len(commands) == 1:
        passed = not work.failed
    else:
        return None
    reasons = (found[1] for each in _REASONS if (found := each.search(text)))
    reason = "" if passed else next(reasons, "the tests failed")[:_REASON_LIMIT_CHARS]
    return Tests(command=" ".join(command), reason=reason, failing=failing, passing=passing, passed=passed)


def fits(pattern: str, arguments: Sequence[str]) -> bool:
    """Return whether a pattern means a command: a glob for each argument, and a last `*` for any more of them.

    The program is compared without its folder.
    """
    globs = pattern.split()
    words = [arguments[0].rpartition("/")[2], *arguments[1:]] if arguments else []
    if globs and globs[-1] == "*":
        globs = globs[:-1]
        words = words[: len(globs)]
    return bool(globs) and len(globs) == len(words) and all(map(fnmatchcase, words, globs))


def _named(patterns: Iterable[re.Pattern[str]], text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found for each in patterns for found in each.findall(text)))[:_MOST]


def _commands(line: str) -> list[list[str]]:
    """Return the words of each command in a shell line, without redirections and assignments."""
    lexer = shlex.shlex(_REDIRECTION.sub(" ", line), posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    commands: list[list[str]] = [[]]
    try:
        for token in lexer:
            if set(token) <= set(_SEPARATORS):
                commands.append([])
            elif commands[-1] or not _ASSIGNMENT.match(token):
                commands[-1].append(token)
    except ValueError:  # a quote that is open: nobody knows what ran
        return []
    return [each for each in commands if each]
