"""Read TOML files that a stranger may have written, in bounded time."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from holdfast.errors import StateError
from holdfast.files import document

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_BYTES = 64 * 1024
MAX_DOTS_PER_LINE = 200
"""Dots allowed per line. A key can't span lines, and tomllib's time is quadratic in its parts: 32,000 take 17 s."""


def load(path: Path, *, within: Path | None = None) -> dict[str, Any]:
    """Return the tables of a TOML file; a byte order mark is accepted.

    Args:
        path: a regular file of at most `LIMIT_BYTES`.
        within: refuse a path whose links lead out of this folder (`document.read`).

    Raises:
        MissingError: there is no file.
        StateError: it can't be read or isn't TOML; the reason says why.
    """
    return parse(path, document.read(path, LIMIT_BYTES, within=within)[0])


def parse(path: Path, raw: bytes) -> dict[str, Any]:
    """Return the tables in the bytes of a TOML file. Raises StateError as `load` does."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.count(b".") > MAX_DOTS_PER_LINE:
            raise StateError(path, f"line {number} has more than {MAX_DOTS_PER_LINE} dots; split it into several lines")
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise StateError(path, f"is not UTF-8: byte at offset {error.start}") from error
    except RecursionError as error:
        raise StateError(path, "is not TOML that can be read: it is nested too deeply") from error
    except ValueError as error:  # a TOMLDecodeError, or an integer of more than 4,300 digits
        raise StateError(path, f"is not TOML: {error}") from error
