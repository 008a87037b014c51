"""The words of a session that are worth keeping: a rule that a person set, what was decided, why a command failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.clients.client import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.clients.client import Work

TEXT_LIMIT_CHARS = 20_000  # characters of a text that are looked at; what is shown of it is far shorter
_DECISIONS = 20  # the newest ones; looking for more costs time, and no text has room for them

_RULE = re.compile(
    r"\b(?:always|never|do not|don['’]?t|must|make sure|from now on|prefer|avoid|remember|instead of|every time"
    r"|at all times|in this project|without asking|no exceptions?|only (?:use|ever|when|if))\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decisions?\s*(?::|is\b|was\b)"
    r"|(?:i|we)(?:['’]ve| have)?\s+(?:chose|chosen|decided|opted|settled|picked|agreed|went with)\b"
    r"|(?:i|we)(?:['’]ll| will|['’]re going to| are going to)\s+(?:use|keep|stick|go with|adopt|switch|drop)\b"
    r"|(?:going|went|sticking) with\b.{1,120}\b(?:because|since|instead|rather)"
    r"|rejected\b.{1,120}\b(?:because|since|as)\b)",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|\n+")
_LIST_MARK = re.compile(r"(?:[-*+•>#]+|\d{1,3}[.)])\s+")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
# From the most to the least telling: a test's name, an error.
_TELLING = (
    re.compile(
        r"^\s*(?:FAILED\b(?! \()|FAIL:?\s|ERROR (?!collecting)\S+::|--- FAIL:|not ok \d|✗|✕|✖|×|test \S+ \.\.\. FAILED"
        r"|\(fail\) )"
    ),
    re.compile(
        r"^\s*(?:E\s{2,}\S|error\b|fatal\b|panic\b|FAILED\b|npm ERR!|make: \*\*\*)|\b\w*(?:Error|Exception)\b\s*[:(]"
        r"|\berror(?: \w+|\[\w+\])?:|command not found|[Nn]o such file|[Pp]ermission denied"
    ),
)
_FAILURES = re.compile(
    r"^(?:=+ .*\b[1-9]\d* (?:failed|errors?)\b.* in [\d.]+s|[1-9]\d* failed\b.* in [\d.]+s"
    r"|Tests:\s+(?:.*, )?[1-9]\d* failed\b|FAIL\t\S|test result: FAILED\b|FAILED \((?:failures|errors)=)",
    re.MULTILINE,
)
_QUOTING = re.compile(r"\s*(?:cat|less|head|tail|grep|rg|git|sed|awk|echo|printf|find|ls|jq)\b")


def rule(request: str) -> str:
    """Return the first sentence of a request that asks for something for good ("Always use tabs"), "" without one."""
    if not _RULE.search(request[:TEXT_LIMIT_CHARS]):
        return ""
    return next((sentence for sentence in _sentences(request) if _RULE.search(sentence)), "")


def error_lines(output: str) -> tuple[str, ...]:
    """Return the lines of a failed command's output that tell most of why: names of failed tests before errors.

    The client's own first line ("Exit code 1") tells nothing. If none matches, return only the last line.
    """
    lines = [line.strip() for line in unescaped(output).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("Exit code ", "Error: Exit code "))]
    for pattern in _TELLING:
        found = [line for line in lines if pattern.search(line)]
        if found:
            return tuple(found)
    return tuple(lines[-1:])


def decided(statements: Iterable[str | Answer]) -> tuple[str, ...]:
    """Return the newest decisions, newest first, of what the model said and the person answered, newest first."""
    found: dict[str, None] = {}
    for each in statements:
        if isinstance(each, Answer):
            found[f"{each.question} → {each.answer} (the person's answer)"] = None
        elif _DECISION.search(each[:TEXT_LIMIT_CHARS]):
            found.update((sentence, None) for sentence in reversed(_sentences(each)) if _DECISION.search(sentence))
        if len(found) >= _DECISIONS:
            break
    return tuple(found)[:_DECISIONS]


def failures(runs: Iterable[Work]) -> list[Work]:
    """Return the runs that failed, according to their exit code or their output."""
    return [run for run in runs if run.failed or tests_failed(run.command, run.output)]


def tests_failed(command: str, output: str) -> bool:
    """Return whether a test run failed though its exit code says otherwise, as that of `pytest | tail` does."""
    piped = "|" in command or ";" in command
    return piped and not _QUOTING.match(command) and _FAILURES.search(unescaped(output)) is not None


def unescaped(output: str) -> str:
    """Return a command's output without the sequences that colour it."""
    return _ESCAPES.sub("", output) if "\x1b" in output else output


def _sentences(text: str) -> list[str]:
    parts = (_LIST_MARK.sub("", part.strip(), count=1) for part in _SENTENCES.split(text[:TEXT_LIMIT_CHARS]))
    return [sentence for part in parts if (sentence := part.replace("**", "").strip())]
