"""Read the event from stdin."""

from __future__ import annotations

import json
import os
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.files.redact import beginning

LIMIT_BYTES = 64 * 1024 * 1024  # of an event's input
_CHUNK_BYTES = 1 << 16  # a pipe's size; more memory costs time


class IntakeError(HoldfastError):
    """The input can't be read as an event; the message says what came."""


def read(descriptor: int, start: bytes = b"") -> dict[str, Any]:
    """Read one JSON object from a descriptor, up to its end, so that the client doesn't block.

    Args:
        descriptor: where the client writes the payload.
        start: what was read of it before.

    Returns:
        The payload.

    Raises:
        IntakeError: the input is empty, over `LIMIT_BYTES` bytes, not UTF-8, not JSON, nested too deeply or no object.
    """
    data = bytearray(start)
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


def _drain(descriptor: int, data: bytearray) -> int:
    """Read everything, keep at most `LIMIT_BYTES` bytes in `data`, and return how many bytes came."""
    size = len(data)
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        data += chunk[: max(LIMIT_BYTES - size, 0)]
        size += len(chunk)
    return size


def _excerpt(data: bytes | bytearray) -> str:
    return repr(beginning(bytes(data[:_CHUNK_BYTES]).decode("utf-8", errors="replace"), 80))
