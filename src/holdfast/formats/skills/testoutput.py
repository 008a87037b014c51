"""What the output of a test runner says: which tests failed and passed, why, and how many there were."""

from __future__ import annotations

import re
from typing import NamedTuple

_LIMIT_CHARS = 50_000  # of an output's end
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
_COUNT_FAILED = re.compile(r"\b(\d{1,7}) (?:failed|errors?)\b")
_COUNT_PASSED = re.compile(r"\b(\d{1,7}) passed\b")
_REASONS = (
    re.compile(r"^E\s+(\S.*)$", re.MULTILINE),
    re.compile(r"^error(?:\[\w+\])?: (.+)$", re.MULTILINE),
    re.compile(r"^(?:\w+)?(?:Error|Exception): (.+)$", re.MULTILINE),
)
_REASON_LIMIT_CHARS = 300


class Output(NamedTuple):
    """What a run of tests put out.

    Attributes:
        failing: the tests that failed.
        passing: the tests that passed, as far as they are named.
        reason: why the first one failed; empty if that isn't known.
        ran: how many tests ran; None if it doesn't say.
        passed: whether they passed; None if it doesn't say.
    """

    failing: tuple[str, ...]
    passing: tuple[str, ...]
    reason: str
    ran: int | None
    passed: bool | None


def read(text: str) -> Output:
    """Return what the output of a test runner says."""
    text = text[-_LIMIT_CHARS:]
    failing = tuple(dict.fromkeys(found for each in _FAILED for found in each.findall(text)))[:_MOST]
    passing = tuple(dict.fromkeys(found for each in _PASSED for found in each.findall(text)))[:_MOST]
    bad, good = (_last(each, text) for each in (_COUNT_FAILED, _COUNT_PASSED))
    count = (bad or 0) + (good or 0) if bad is not None or good is not None else None
    passed: bool | None = None
    if failing or bad:
        passed = False
    elif good:
        passed = True
    reason = next((found[1] for each in _REASONS if (found := each.search(text))), "") if passed is False else ""
    return Output(failing, passing, reason[:_REASON_LIMIT_CHARS], count, passed)


def _last(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.findall(text)
    return int(found[-1]) if found else None
