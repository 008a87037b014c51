"""Read the event from stdin."""

from __future__ import annotations

import json
import os
from typing import Any

from holdfast.errors import HoldfastError

LIMIT_BYTES = 64 * 1024 * 1024  # of an event's input
_CHUNK_BYTES = 1 << 16  # a pipe's size; more memory costs time


class IntakeError(HoldfastError):
    """The input can't be read as an event; the message says what came."""


def read(descriptor: int) -> dict[str, Any]:
    """Read one JSON object from a descriptor, up to its end, so that the client doesn't block.

    Raises:
        IntakeError: the input is over `LIMIT_BYTES` bytes, or `parse` raises it.
    """
    data, size = bytearray(), 0
    while chunk := os.read(descriptor, _CHUNK_BYTES):
        data += chunk[: max(LIMIT_BYTES - size, 0)]
        size += len(chunk)
    if size > LIMIT_BYTES:
        raise IntakeError(f"stdin holds {size} bytes, more than {LIMIT_BYTES}")
    return parse(data)


def parse(data: bytes | bytearray) -> dict[str, Any]:
    """Return the JSON object in some bytes.

    Raises:
        IntakeError: they are empty, not UTF-8, not JSON, nested too deeply or no object.
    """
    size = len(data)
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


def _excerpt(data: bytes | bytearray) -> str:
    from holdfast.files.redact import beginning  # here, for nearly every event can be read

    return repr(beginning(bytes(data[:_CHUNK_BYTES]).decode("utf-8", errors="replace"), 80))
