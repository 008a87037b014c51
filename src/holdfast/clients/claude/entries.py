"""What an entry of a transcript holds: a person's request, or fields. A field of another type is as good as missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TEXT_LIMIT_CHARS = 20_000  # characters of a text that are looked at; what is shown of it is far shorter

# What the client and not the person wrote begins with a tag of the client's (`<task-notification>`, `<command-name>`,
# `<local-command-stdout>`, `<bash-input>`, `<ide_opened_file>`, …): their names are compounds, those of HTML are not.
_TAG = re.compile(r"\s*<(?:[a-z]+[-_][\w-]*|tick|terminal|browser|channel)[\s>]")
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_MARKER = re.compile(r"\s*\[(?:Request interrupted|Tool call did not complete)\b")
_SUMMARY = "This session is being continued from a previous conversation"
# A command of the person's own, in the form it has where its expansion follows; local ones begin with command-name.
_COMMAND = re.compile(r"\s*<command-message>.*?<command-name>/?(.{1,200}?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)


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


def blocks(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of an entry's message; a plain text is one block."""
    content = mapping(entry, "message").get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(mappings(content))


def plain(content: object) -> str:
    """Return the text of a message's or a result's content, which is a text or a list of blocks."""
    return "\n".join(texts(content))


def texts(content: object) -> Iterator[str]:
    """Yield the texts in a content, block by block."""
    if isinstance(content, str):
        yield content
    for block in mappings(content):
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            yield block["text"]


def tag(value: str, name: str) -> str:
    """Return what stands between the first tags of a name in a text of the client's, "" without them.

    A result may hold any words, tags too: it stands last and reaches to the last closing tag of its own.
    """
    start = value.find(f"<{name}>")
    if start < 0:
        return ""
    start += len(name) + 2
    end = value.rfind(f"</{name}>", start) if name == "result" else value.find(f"</{name}>", start)
    return value[start : end if end >= 0 else len(value)].strip()


def request_text(entry: Mapping[str, Any]) -> str:
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


def _of_a_person(entry: Mapping[str, Any]) -> bool:
    marks = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isVirtual", "repeatsCompactSummary")
    if any(entry.get(mark) for mark in marks) or entry.get("promptSource") == "system":
        return False
    origin = entry.get("origin")
    return origin is None or (isinstance(origin, dict) and origin.get("kind") == "human")


def edited_path(given: dict[str, Any], data: dict[str, Any]) -> str:
    """Return the path of the file that a call of an editing tool is about, from its input or else its result."""
    return text(given, "file_path") or text(given, "notebook_path") or text(data, "filePath")


def _without_tags(content: object) -> str:
    kept = [text for text in map(_own, texts(content)) if text]
    return "\n".join(kept)


def _own(text: str) -> str:
    """Return what of a text block is a person's: nothing, all of it, or a slash command as it was typed."""
    text = text[:_TEXT_LIMIT_CHARS]
    if command := _COMMAND.match(text):
        arguments = _ARGUMENTS.search(text)
        return f"/{command[1]} {arguments[1] if arguments else ''}".strip()
    if _TAG.match(text) or _MARKER.match(text) or text.startswith(_SUMMARY):
        return ""
    return _REMINDER.sub("", text).strip()
