"""Typed entries of a transcript, made from the JSON values that the client writes, one a line.

The shapes are those both supported clients write (tests/sessions/transcripts). What has another shape is passed over,
and a field of another type is as good as missing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from holdfast.clients.claude.events.agents import NOTIFICATION, task_notification

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from holdfast.clients.client import TaskNotification

_TEXT_LIMIT_CHARS = 20_000  # characters of a request that are looked at; what is shown of it is far shorter

# What the client and not the person wrote begins with a tag of the client's (`<task-notification>`, `<command-name>`,
# `<local-command-stdout>`, `<bash-input>`, `<ide_opened_file>`, …): their names are compounds, those of HTML are not.
_TAG = re.compile(r"\s*<(?:[a-z]+[-_][\w-]*|tick|terminal|browser|channel)[\s>]")
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_MARKER = re.compile(r"\s*\[(?:Request interrupted|Tool call did not complete)\b")
_SUMMARY = "This session is being continued from a previous conversation"
# A command of the person's own, in the form it has where its expansion follows; local ones begin with command-name.
_COMMAND = re.compile(r"\s*<command-message>.*?<command-name>/?(.{1,200}?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_KIND = "task-notification"
_CLIENTS_OWN = (
    *("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isVirtual", "repeatsCompactSummary"),
    "toolUseResult",
)


class Line(NamedTuple):
    """The line of an entry: its first byte, the client's id and UTC stamp of it, and the git branch."""

    offset: int = 0
    uuid: str = ""
    at: str = ""
    branch: str = ""


class Prompt(NamedTuple):
    """A message to the model. `request` is what a person wrote of it; empty for the client's own."""

    line: Line
    text: str
    request: str


class Notice(NamedTuple):
    """A notification that a task has ended. `genuine` means that the client made it: a person may paste one."""

    line: Line
    notification: TaskNotification
    genuine: bool


class Statement(NamedTuple):
    """What the model said."""

    line: Line
    text: str


class Call(NamedTuple):
    """A call of a tool; `tool` is empty if only its result is known."""

    line: Line
    id: str
    tool: str = ""
    input: Mapping[str, Any] = {}


class Result(NamedTuple):
    """What a call returned: the text that the model got, and the tool's response, None if several share a line."""

    line: Line
    call: Call
    text: str
    failed: bool
    response: Any

    @property
    def data(self) -> dict[str, Any]:
        """The response if it is an object, else an empty one."""
        return self.response if isinstance(self.response, dict) else {}


class Attachment(NamedTuple):
    """What the client or a hook added to the model's context."""

    line: Line
    kind: str
    fields: dict[str, Any]


class Boundary(NamedTuple):
    """A compaction. `parent` is the last entry before it."""

    line: Line
    parent: str


_Kind = TypeVar("_Kind")
Entry: TypeAlias = Prompt | Notice | Statement | Call | Result | Attachment | Boundary


def of(kind: type[_Kind], entries: Iterable[Entry]) -> Iterator[_Kind]:
    """Yield the entries of one kind."""
    return (each for each in entries if isinstance(each, kind))


def typed(lines: Iterable[tuple[int, Mapping[str, Any]]], *, agents: bool = False) -> Iterator[Entry]:
    """Yield the entries of a transcript.

    Args:
        lines: its lines as JSON values, oldest first, each with its first byte.
        agents: whether entries of subagents count, as in an agent's own transcript, where there are no others.
    """
    calls: dict[str, Call] = {}
    for offset, value in lines:
        if value.get("isSidechain") and not agents:
            continue
        line = Line(offset, text(value, "uuid"), text(value, "timestamp"), text(value, "gitBranch"))
        attachment = mapping(value, "attachment")
        if value.get("subtype") == "compact_boundary":
            yield Boundary(line, text(value, "logicalParentUuid"))
        elif attachment.get("type") == "queued_command":
            content, mode = attachment.get("prompt"), attachment.get("commandMode", "prompt")
            yield from _message(line, content, attachment if mode == "prompt" else None, genuine=mode == _KIND)
        elif attachment:
            yield Attachment(line, text(attachment, "type"), attachment)
        elif value.get("type") == "assistant":
            for entry in _answer(line, value):
                if isinstance(entry, Call):
                    calls[entry.id] = entry
                yield entry
        elif value.get("type") == "user":
            yield from _user(line, value, calls)


def _answer(line: Line, value: Mapping[str, Any]) -> Iterator[Statement | Call]:
    content = mapping(value, "message").get("content")
    for block in () if value.get("isApiErrorMessage") else _blocks(content):
        if block.get("type") == "tool_use":
            yield Call(line, text(block, "id"), text(block, "name"), mapping(block, "input"))
        elif words := text(block, "text"):
            yield Statement(line, words)


def _user(line: Line, value: Mapping[str, Any], calls: dict[str, Call]) -> Iterator[Prompt | Notice | Result]:
    content = mapping(value, "message").get("content")
    results = [block for block in _blocks(content) if block.get("type") == "tool_result"]
    if not results and "toolUseResult" in value:
        results = [{}]  # a response is one, also without its block
    response = value.get("toolUseResult") if len(results) == 1 else None
    for block in results:
        id = text(block, "tool_use_id")
        call = calls.pop(id, Call(line, id))
        yield Result(line, call, "\n".join(_texts(block.get("content"))), block.get("is_error") is True, response)
    if not results:
        yield from _message(line, content, value, genuine=mapping(value, "origin").get("kind") == _KIND)


def _message(
    line: Line, content: object, source: Mapping[str, Any] | None, *, genuine: bool
) -> Iterator[Prompt | Notice]:
    """Yield a message to the model; `source` has the marks that show whose it is, None if it is not a person's."""
    words = "\n".join(_texts(content))
    request = _request(content, source) if source is not None else ""
    if not request and words.lstrip().startswith(NOTIFICATION) and (notice := task_notification(words)):
        yield Notice(line, notice, genuine and isinstance(content, str))
    elif words:
        yield Prompt(line, words, request)


def _request(content: object, source: Mapping[str, Any]) -> str:
    """Return a person's text; empty if a message isn't a person's.

    These aren't prompts: tool results, client notes, output of local commands, expansions of slash commands, summaries
    of compactions, marks of an interruption, and what another agent or a hook said.
    """
    origin = source.get("origin")
    human = origin is None or (isinstance(origin, dict) and origin.get("kind") == "human")
    if not human or source.get("promptSource") == "system" or any(source.get(mark) for mark in _CLIENTS_OWN):
        return ""
    return "\n".join(words for words in map(_persons, _texts(content)) if words)


def _persons(words: str) -> str:
    """Return a person's part of a text block: nothing, all of it, or a slash command as typed."""
    words = words[:_TEXT_LIMIT_CHARS]
    if command := _COMMAND.match(words):
        arguments = _ARGUMENTS.search(words)
        return f"/{command[1]} {arguments[1] if arguments else ''}".strip()
    if _TAG.match(words) or _MARKER.match(words) or words.startswith(_SUMMARY):
        return ""
    return _REMINDER.sub("", words).strip()


def text(value: Mapping[str, Any], key: str) -> str:
    """Return the text under a key, "" if there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def mapping(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key, an empty one if there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def mappings(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects in a list; none where it is no list."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _texts(content: object) -> list[str]:
    return [text(block, "text") for block in _blocks(content) if block.get("type") == "text"]


def _blocks(content: object) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a content; a plain text is one block."""
    return iter([{"type": "text", "text": content}]) if isinstance(content, str) else mappings(content)
