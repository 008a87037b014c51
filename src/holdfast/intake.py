"""Reading the event from stdin and telling whether it is Claude Code's."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT = 64 * 1024 * 1024  # bytes of valid input that are dispatched
_CHUNK = 1 << 16  # what a pipe holds; the memory for more is not cheap
# Cursor and Copilot run Claude Code's settings too; these keys are theirs and never Claude Code's.
_FOREIGN_KEYS = ("cursor_version", "conversation_id", "generation_id", "sessionId", "hookEventName")


class IntakeError(HoldfastError):
    """What came on stdin is not an event we can dispatch; the message says what came."""


class Oversize(IntakeError):
    """Valid so far, but larger than `LIMIT` or nested too deeply: no handler can be shown it.

    Attributes:
        head: the payload's first keys, as far as they could be read; the client writes `tool_name` before
            `tool_input`.
    """

    def __init__(self, message: str, head: dict[str, Any]) -> None:
        super().__init__(message)
        self.head = head


def read(descriptor: int) -> dict[str, Any]:
    """Read one JSON object from a descriptor, to its end.

    Args:
        descriptor: where the client writes the payload.

    Returns:
        The payload.

    Raises:
        IntakeError: empty, not UTF-8, not JSON or not an object.
        Oversize: more than `LIMIT` bytes, or nested too deeply; everything has been read, so that the client does
            not block.
    """
    data, size = _drain(descriptor)
    if size > LIMIT:
        raise Oversize(f"stdin holds {size} bytes, more than {LIMIT}", _head(data))
    if not data.strip():
        raise IntakeError("stdin is empty")
    try:
        payload = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise IntakeError(f"stdin is not UTF-8 at byte {error.start} of {size}: {_excerpt(data)}") from error
    except RecursionError as error:
        raise Oversize(f"stdin is nested too deeply ({size} bytes)", _head(data)) from error
    except ValueError as error:
        raise IntakeError(f"stdin is not JSON ({error}), {size} bytes: {_excerpt(data)}") from error
    if not isinstance(payload, dict):
        raise IntakeError(f"stdin is JSON but no object: {_excerpt(data)}")
    return payload


def foreign(payload: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Tell whether another client sent this event.

    Other clients run Claude Code's settings with payloads of the same or nearly the same shape; they get exit 0
    and silence (client facts, "Other clients run these settings too").

    Args:
        payload: what came on stdin.
        environ: the hook's environment.

    Returns:
        Why it is not Claude Code's, or an empty string when it is.
    """
    theirs = [key for key in _FOREIGN_KEYS if key in payload]
    if theirs:
        return f"the payload has {theirs[0]!r}, which Claude Code does not send"
    if not environ.get("CLAUDE_PROJECT_DIR"):
        return "the environment has no CLAUDE_PROJECT_DIR, which Claude Code sets for every hook"
    if "turn_id" in payload and payload.get("hook_event_name") != "MessageDisplay" and not environ.get("CLAUDECODE"):
        return "the payload has 'turn_id' and the environment no CLAUDECODE, as from Codex"
    if not isinstance(payload.get("session_id"), str):
        return "the payload has no session_id"
    return ""


def _drain(descriptor: int) -> tuple[bytes, int]:
    """Read everything and keep at most `LIMIT` bytes of it."""
    kept: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, _CHUNK):
        if size <= LIMIT:
            kept.append(chunk)
        size += len(chunk)
    return b"".join(kept)[:LIMIT], size


def _head(data: bytes) -> dict[str, Any]:
    """Read key after key of an object that is cut off, up to the first value that is not whole."""
    text = data.decode("utf-8-sig", errors="replace")
    decoder = json.JSONDecoder()
    head: dict[str, Any] = {}
    position = text.find("{") + 1
    try:
        while position:
            key, position = decoder.raw_decode(text, _skip(text, position, ""))
            head[key], position = decoder.raw_decode(text, _skip(text, position, ":"))
            position = _skip(text, position, ",")
    except (ValueError, RecursionError, TypeError):
        pass  # as far as it could be read
    return head


def _skip(text: str, position: int, expected: str) -> int:
    """Return the place behind white space and one expected character."""
    while text[position : position + 1].isspace():
        position += 1
    if not expected:
        return position
    if text[position : position + 1] != expected:
        raise ValueError(expected)
    return _skip(text, position + 1, "")


def _excerpt(data: bytes) -> str:
    return repr(data[:80].decode("utf-8", errors="replace"))
