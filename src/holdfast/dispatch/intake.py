"""Reading the event from stdin."""

from __future__ import annotations

import json
import os
from typing import Any

from holdfast.errors import HoldfastError

LIMIT_BYTES = 64 * 1024 * 1024  # bytes of valid input that are dispatched
_CHUNK_BYTES = 1 << 16  # what a pipe holds; the memory for more is not cheap
_HEAD_LIMIT_BYTES = 1 << 20  # bytes of unreadable input in which its first keys are looked for


class IntakeError(HoldfastError):
    """What came on stdin is not an event we can dispatch; the message says what came."""


def read(descriptor: int, data: bytearray | None = None) -> dict[str, Any]:
    """Read one JSON object from a descriptor, to its end, so that the client does not block.

    Args:
        descriptor: where the client writes the payload.
        data: takes what comes, up to `LIMIT_BYTES` bytes; whoever gives it can ask for its `head` if this fails.

    Returns:
        The payload.

    Raises:
        IntakeError: empty, more than `LIMIT_BYTES` bytes, not UTF-8, not JSON, nested too deeply or not an object.
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
    """Read key after key of input that cannot be read whole, up to the first value that is at fault.

    The client writes the event's name and `tool_name` before `tool_input`, so these are usually known.
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
        pass  # as far as it could be read
    return found


def _drain(descriptor: int, data: bytearray) -> int:
    """Read everything, keep at most `LIMIT_BYTES` bytes of it, and return how many came."""
    size = 0
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        data += chunk[: max(LIMIT_BYTES - size, 0)]
        size += len(chunk)
    return size


def _skip(text: str, position: int, expected: str) -> int:
    """Return the place behind white space and one expected character."""
    while text[position : position + 1].isspace():
        position += 1
    if not expected:
        return position
    if text[position : position + 1] != expected:
        raise ValueError(expected)
    return _skip(text, position + 1, "")


def _excerpt(data: bytes | bytearray) -> str:
    from holdfast.files.redact import beginning  # here, for nearly every event can be read

    return repr(beginning(bytes(data[:_CHUNK_BYTES]).decode("utf-8", errors="replace"), 80))
