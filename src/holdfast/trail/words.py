"""The words of a transcript that are worth keeping: what a person asked, what was decided, why a command failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast.patterns import regex
from holdfast.trail.fields import texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST = 20_000  # characters of a text that are looked at; what is shown of it is far shorter

# What the client and not the person wrote begins with a tag of the client's (`<task-notification>`, `<command-name>`,
# `<local-command-stdout>`, `<bash-input>`, `<ide_opened_file>`, …): their names are compounds, those of HTML are not.
_TAG = regex(r"\s*<(?:[a-z]+[-_][\w-]*|tick|terminal|browser|channel)[\s>]")
_REMINDER = regex(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_MARKER = regex(r"\s*\[(?:Request interrupted|Tool call did not complete)\b")
_SUMMARY = "This session is being continued from a previous conversation"
# A command of the person's own, in the form it has where its expansion follows; local ones begin with command-name.
_COMMAND = regex(r"\s*<command-message>.*?<command-name>/?(.{1,200}?)</command-name>", re.DOTALL)
_ARGUMENTS = regex(r"<command-args>(.*?)</command-args>", re.DOTALL)
_RULE = regex(
    r"\b(?:always|never|do not|don['’]?t|must|make sure|from now on|prefer|avoid|remember|instead of|every time"
    r"|at all times|in this project|without asking|no exceptions?|only (?:use|ever|when|if))\b",
    re.IGNORECASE,
)
_DECISION = regex(
    r"\b(?:decisions?\s*(?::|is\b|was\b)"
    r"|(?:i|we)(?:['’]ve| have)?\s+(?:chose|chosen|decided|opted|settled|picked|agreed|went with)\b"
    r"|(?:i|we)(?:['’]ll| will|['’]re going to| are going to)\s+(?:use|keep|stick|go with|adopt|switch|drop)\b"
    r"|(?:going|went|sticking) with\b.{1,120}\b(?:because|since|instead|rather)"
    r"|rejected\b.{1,120}\b(?:because|since|as)\b)",
    re.IGNORECASE,
)
_SENTENCES = regex(r"(?<=[.!?])\s+(?=[^a-z\s])|\n+")
_LIST_MARK = regex(r"(?:[-*+•>#]+|\d{1,3}[.)])\s+")
_ESCAPES = regex(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
# From the most to the least telling: a test's name, an error, and last whatever stands there last.
_TELLING = (
    regex(
        r"^\s*(?:FAILED\b(?! \()|FAIL:?\s|ERROR (?!collecting)\S+::|--- FAIL:|not ok \d|✗|✕|✖|×|test \S+ \.\.\. FAILED"
        r"|\(fail\) )"
    ),
    regex(
        r"^\s*(?:E\s{2,}\S|error\b|fatal\b|panic\b|FAILED\b|npm ERR!|make: \*\*\*)|\b\w*(?:Error|Exception)\b\s*[:(]"
        r"|\berror(?: \w+|\[\w+\])?:|command not found|[Nn]o such file|[Pp]ermission denied"
    ),
    regex(r"\S"),
)
_FAILURES = regex(
    r"^(?:=+ .*\b[1-9]\d* (?:failed|errors?)\b.* in [\d.]+s|[1-9]\d* failed\b.* in [\d.]+s"
    r"|Tests:\s+(?:.*, )?[1-9]\d* failed\b|FAIL\t\S|test result: FAILED\b|FAILED \((?:failures|errors)=)",
    re.MULTILINE,
)
_QUOTING = regex(r"\s*(?:cat|less|head|tail|grep|rg|git|sed|awk|echo|printf|find|ls|jq)\b")


def asked(entry: Mapping[str, Any]) -> str:
    """Return what a person asked in an entry, "" if it is none of a person's.

    No request are results of tools, notes of the client, output of local commands, expansions of slash commands,
    summaries of compactions, marks of an interruption, and what another agent or a hook said.
    """
    message = entry.get("message")
    if not isinstance(message, dict) or "toolUseResult" in entry or not _of_a_person(entry):
        return ""
    return _without_tags(message.get("content"))


def queued(attachment: Mapping[str, Any]) -> str:
    """Return what a person asked while the model was at work, "" if an attachment is nothing of the kind."""
    if attachment.get("commandMode", "prompt") != "prompt" or not _of_a_person(attachment):
        return ""
    return _without_tags(attachment.get("prompt"))


def rule(request: str) -> str:
    """Return the first sentence of a request that asks for something for good ("Always use tabs"), "" without one."""
    if not _RULE.search(request[:LONGEST]):
        return ""
    return next((sentence for sentence in _sentences(request) if _RULE.search(sentence)), "")


def decisions(text: str) -> list[str]:
    """Return the sentences of a text that say what was decided, in their order."""
    if not _DECISION.search(text[:LONGEST]):
        return []
    return [sentence for sentence in _sentences(text) if _DECISION.search(sentence)]


def telling(output: str) -> tuple[str, ...]:
    """Return the lines of a failed command's output that tell most of why: names of failed tests before errors.

    The client's own first line ("Exit code 1") tells nothing. Of no kind of line but the last one only.
    """
    lines = [line.strip() for line in unescaped(output).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("Exit code ", "Error: Exit code "))]
    for pattern in _TELLING[:-1]:
        found = [line for line in lines if pattern.search(line)]
        if found:
            return tuple(found)
    return tuple(lines[-1:])


def tests_failed(command: str, output: str) -> bool:
    """Tell whether a test run failed though its exit code says otherwise, as that of `pytest | tail` does."""
    piped = "|" in command or ";" in command
    return piped and not _QUOTING.match(command) and _FAILURES.search(unescaped(output)) is not None


def unescaped(output: str) -> str:
    """Return a command's output without the sequences that colour it."""
    return _ESCAPES.sub("", output) if "\x1b" in output else output


def _of_a_person(entry: Mapping[str, Any]) -> bool:
    marks = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isVirtual", "repeatsCompactSummary")
    if any(entry.get(mark) for mark in marks) or entry.get("promptSource") == "system":
        return False
    origin = entry.get("origin")
    return origin is None or (isinstance(origin, dict) and origin.get("kind") == "human")


def _without_tags(content: object) -> str:
    kept = [text for text in map(_own, texts(content)) if text]
    return "\n".join(kept)


def _own(text: str) -> str:
    """Return what of a text block is a person's: nothing, all of it, or a slash command as it was typed."""
    text = text[:LONGEST]
    if command := _COMMAND.match(text):
        arguments = _ARGUMENTS.search(text)
        return f"/{command[1]} {arguments[1] if arguments else ''}".strip()
    if _TAG.match(text) or _MARKER.match(text) or text.startswith(_SUMMARY):
        return ""
    return _REMINDER.sub("", text).strip()


def _sentences(text: str) -> Iterator[str]:
    for part in _SENTENCES.split(text[:LONGEST]):
        sentence = _LIST_MARK.sub("", part.strip(), count=1).replace("**", "").strip()
        if sentence:
            yield sentence
