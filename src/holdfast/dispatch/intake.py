"""Read the event from stdin."""

from __future__ import annotations

import json
import os
from typing import Any

from holdfast.errors import HoldfastError

LIMIT_BYTES = 64 * 1024 * 1024  # of an event's input
_CHUNK_BYTES = 1 << 16  # a pipe's size; more memory costs time
_HEAD_LIMIT_BYTES = 1 << 20  # of unreadable input that is searched for its first keys


class IntakeError(HoldfastError):
    """The input can't be read as an event; the message says what came."""


def read(descriptor: int, data: bytearray | None = None) -> dict[str, Any]:
    """Read one JSON object from a descriptor, up to its end, so that the client doesn't block.

    Args:
        descriptor: where the client writes the payload.
        data: receives the input, up to `LIMIT_BYTES` bytes, so that the caller can read its `head` if this fails.
            It may already hold the start.

    Returns:
        The payload.

    Raises:
        IntakeError: the input is empty, over `LIMIT_BYTES` bytes, not UTF-8, not JSON, nested too deeply or no object.
    """
    data = bytearray() if data is None else data
    size = _drain(descriptor, data)
    if size > LIMIT_BYTES:
        raise IntakeError(f"stdin holds {size} bytes, more than {LIMIT_BYTES}")
    if not data.strip():
        raise IntakeError("stdin is empty")
    try:
        payload = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise IntakeError(f"stdin is not UTF-8 at byte {error.start} of {size}: {_excerpt(data)}") from error
    except RecursionError as error:
        raise IntakeError(f"stdin is nested too deeply ({size} bytes)") from error
    except ValueError as error:
        raise IntakeError(f"stdin is not JSON ({error}), {size} bytes: {_excerpt(data)}") from error
    if not isinstance(payload, dict):
        raise IntakeError(f"stdin is JSON but no object: {_excerpt(data)}")
    return payload


def head(data: bytes | bytearray) -> dict[str, Any]:
    """Return the keys and values of an unreadable JSON object up to the first one that can't be read.

    The client writes the event's name and `tool_name` before `tool_input`, so these are usually among them.
    """
    text = bytes(data[:_HEAD_LIMIT_BYTES]).decode("utf-8-sig", errors="replace")
    decoder = json.JSONDecoder()
    found: dict[str, Any] = {}
    position = text.find("{") + 1
    try:
        while position:
            key, position = decoder.raw_decode(text, _skip(text, position, ""))
            found[key], position = decoder.raw_decode(text, _skip(text, position, ":"))
            position = _skip(text, position, ",")
    except (ValueError, RecursionError, TypeError):
        pass  # what was read so far is returned
    return found


def _drain(descriptor: int, data: bytearray) -> int:
    """Read everything, keep at most `LIMIT_BYTES` bytes in `data`, and return how many bytes came."""
    size = len(data)
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        data += chunk[: max(LIMIT_BYTES - size, 0)]
        size += len(chunk)
    return size


def _skip(text: str, position: int, expected: str) -> int:
    """Return the position after white space and one expected character."""
    while text[position : position + 1].isspace():
        position += 1
    if not expected:
        return position
    if text[position : position + 1] != expected:
        raise ValueError(expected)
    return _skip(text, position + 1, "")


def _excerpt(data: bytes | bytearray) -> str:
    from holdfast.files.redact import beginning  # here, because nearly every event is valid

    return repr(beginning(bytes(data[:_CHUNK_BYTES]).decode("utf-8", errors="replace"), 80))
