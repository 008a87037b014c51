"""Read and write state files: JSON objects that people, models and Holdfast edit side by side.

A state file is rewritten whole, with its own keys, order and indentation. Settings are edited in place: see `jsonedit`.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.clock import file_stamp
from holdfast.errors import BrokenError, ChangedError, LargeError, MissingError, SchemaMismatch, StateError
from holdfast.files import atomic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LIMIT_BYTES = 32 * 1024 * 1024
DEPTH_LIMIT = 200
"""The most levels of objects and lists in a document; Python can read more than it can copy and write."""
_BOM = b"\xef\xbb\xbf"
_FIRST_MEMBER = re.compile(rb'\s*\{(\s*)"(?:[^"\\]|\\.)*"([ \t]*:[ \t]*)')
_ESCAPED_LETTER = re.compile(rb"(?<!\\)(?:\\\\)*\\u(?!00[0-7])[0-9a-fA-F]{4}")
_KINDS = {list: "array", str: "string", bool: "boolean", type(None): "null"}


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object as it was on disk: `data` parsed, `raw` the file's bytes, `mtime` in seconds since 1970."""

    path: Path
    data: dict[str, Any]
    raw: bytes
    mtime: float


def load(path: Path, limit: int = LIMIT_BYTES, *, within: Path | None = None) -> Document:
    """Read a JSON object; a byte order mark and CRLF are accepted.

    `limit` is the largest size in bytes. With `within`, a path whose links lead out of that folder is refused. Raises
    MissingError if there is no file, SchemaMismatch if it is JSON but no object, BrokenError if it was read whole and
    is empty, not UTF-8, not JSON or has a key twice, else StateError (a folder or device, too large, no permission).
    Each says what is wrong and where.
    """
    return parse(path, *read(path, limit, within=within))


def parse(path: Path, raw: bytes, mtime: float) -> Document:
    """Return a file's bytes as a document. Raises SchemaMismatch or BrokenError as `load` does."""
    return Document(path, _parse(path, raw), raw, mtime)


def read(path: Path, limit: int = LIMIT_BYTES, *, within: Path | None = None) -> tuple[bytes, float]:
    """Return the bytes and `st_mtime` of a regular file of at most `limit` bytes.

    With `within`, a path whose links lead out of that folder is refused: pass the project's root for a file that a
    cloned repository can contain. Raises MissingError, LargeError or StateError; never waits on a pipe or device.
    """
    raw, info = head(path, limit, within=within, whole=True)
    return raw, info.st_mtime


def head(path: Path, limit: int, *, within: Path | None = None, whole: bool = False) -> tuple[bytes, os.stat_result]:
    """Return a regular file's first `limit` bytes and its stat result.

    With `whole`, a larger file isn't read at all. `within` and the exceptions are as in `read`.
    """
    if within is not None and leads_out(path, within):
        raise StateError(path, f"leads out of {within} through a symbolic link")
    try:
        _check_kind(path, path.stat())  # merely opening a device can have effects
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            info = os.fstat(descriptor)
            _check_kind(path, info)
            if whole and info.st_size > limit:
                raise LargeError(path, f"is larger than {limit} bytes")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                raw = file.read(limit + whole) or b""
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        raise MissingError(path, "no such file") from error
    except OSError as error:
        raise StateError(path, f"cannot be read: {error.strerror or error}") from error
    if whole and len(raw) > limit:
        raise LargeError(path, f"is larger than {limit} bytes")
    return raw, info


def leads_out(path: Path, within: Path) -> bool:
    """Return whether symbolic links lead a path below the folder `within` out of that folder."""
    real, top = os.path.realpath(path), os.path.realpath(within)
    return real != top and not real.startswith(f"{top.rstrip('/')}/")


def _check_kind(path: Path, info: os.stat_result) -> None:
    """Raise StateError unless a stat result is that of a regular file."""
    if not stat.S_ISREG(info.st_mode):
        raise StateError(path, "is a folder" if stat.S_ISDIR(info.st_mode) else "is not a regular file")


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values mean the same. Unlike `==`, it tells 1 from true and from 1.0.

    The order of keys doesn't matter. Values nested too deeply to compare count as different.
    """
    try:
        return bool(one == other) and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except RecursionError:
        return False


def render(data: dict[str, Any], like: bytes | None = None) -> bytes:
    """Return `data` as JSON in the style of `like`, a file's present bytes.

    It keeps indentation, the spacing of colons, newlines, what follows the last brace, the byte order mark, and whether
    non-ASCII letters are escaped. Without `like`: indent 2, a final newline, letters unescaped (I001-19). A lone
    surrogate is escaped. Raises TypeError or ValueError for what JSON can't hold.
    """
    body = (like or b"").removeprefix(_BOM)
    trimmed = body.strip() or b"{}\n"
    first = _FIRST_MEMBER.match(body)
    blank, colon = (part.decode() for part in first.groups()) if first else ("\n  ", ": ")
    several = b"\n" in trimmed or trimmed == b"{}"
    text = json.dumps(
        data,
        indent=(blank.rpartition("\n")[2] if "\n" in blank else "  ") if several else None,
        separators=("," if several or not colon.endswith(" ") else ", ", colon),
        ensure_ascii=body.isascii() and _ESCAPED_LETTER.search(body) is not None,
        allow_nan=False,
    )
    if b"\r\n" in body:
        text = text.replace("\n", "\r\n")
    mark = _BOM if like and like.startswith(_BOM) else b""
    # Surrogates occur only inside strings, where Python's escape for them is JSON's too.
    return mark + text.encode("utf-8", "backslashreplace") + (body[len(body.rstrip()) :] if body.strip() else b"\n")


def difference(before: str, after: str, old: str, new: str) -> str:
    """Return a unified diff of two texts, with their names; empty if they are the same.

    Lines end only at newlines: a JSON string may hold other characters that `splitlines` splits at.
    """
    first, second = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    lines = difflib.unified_diff(first, second, old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def replace(
    path: Path, data: dict[str, Any], expected: bytes | None, *, like: Document | None = None, limit: int = LIMIT_BYTES
) -> Document:
    """Write `data` in the style of `like` over a file that still holds `expected` (None: no file); return it.

    Nothing is written if `like` is the expected file and has `data` already: rewriting an unchanged file would break
    the model's next edit. Key order alone is no change. Raises ChangedError if somebody saved something else meanwhile
    (`atomic.replace` says what that can miss), LargeError if it would have more than `limit` bytes, so that `read`
    would refuse it, StateError.
    """
    if like is not None and like.raw == expected and same(like.data, data):
        return like
    try:
        raw = render(data, like.raw if like else None)
    except RecursionError as error:
        raise StateError(path, "is nested too deeply to be written") from error
    if len(raw) > limit:
        raise LargeError(path, f"would be larger than {limit} bytes, so it stays as it was")
    written = parse(path, raw, 0.0).data  # of which the caller's data shares nothing
    return Document(path, written, raw, atomic.replace(path, raw, expected))


def copy_aside(path: Path, raw: bytes, why: str = "corrupt") -> Path:
    """Write a file's content `raw` to `<name>.<why>-<time>` next to it and return that path; the file stays.

    Raises StateError.
    """
    mode = stat.S_IMODE(path.lstat().st_mode) if path.exists() else 0o600
    while True:
        target = _aside(path, why)
        with suppress(ChangedError):
            atomic.replace(target, raw, None, mode=mode)
            return target


def set_aside(path: Path) -> Path:
    """Rename a broken file to `<name>.corrupt-<time>` (with a number if that is taken) and return its new path.

    Hold the folder's lock. Raises StateError.
    """
    target = _aside(path)
    try:
        path.rename(target)
    except OSError as error:
        raise StateError(path, f"cannot be set aside: {error.strerror or error}") from error
    atomic.sync_folder(path.parent)
    return target


def _aside(path: Path, why: str = "corrupt") -> Path:
    base = f"{path.name}.{why}-{file_stamp()}"
    target, number = path.with_name(base), 1
    while os.path.lexists(target):
        number += 1
        target = path.with_name(f"{base}-{number}")
    return target


def _parse(path: Path, raw: bytes) -> dict[str, Any]:
    body = raw.removeprefix(_BOM)
    if not body.strip():
        raise BrokenError(path, "is empty")
    try:
        data = value(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        offset = error.start + len(raw) - len(body)
        raise BrokenError(path, f"is not UTF-8: byte 0x{body[error.start]:02x} at offset {offset}") from error
    except ValueError as error:
        raise BrokenError(path, str(error)) from error
    if not isinstance(data, dict):
        raise SchemaMismatch(path, f"holds a JSON {_KINDS.get(type(data), 'number')} where an object is expected")
    return data


def value(text: str) -> Any:
    """Return the value of a strict JSON text.

    Raises ValueError for anything else, such as a comment, a repeated key or `NaN`; it says what is wrong and where.
    """
    try:
        found = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {_reason(text, error)}, line {error.lineno} column {error.colno}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply to be read") from error
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from error
    if _too_deep(found):
        raise ValueError("is nested too deeply to be read")
    return found


def _reason(text: str, error: json.JSONDecodeError) -> str:
    """Return what is wrong at the place of an error; for what other readers of JSON allow, with its name."""
    if text.startswith(("//", "/*", "#"), error.pos):
        return "a comment isn't allowed"
    if text.startswith(("}", "]"), error.pos) and text[: error.pos].rstrip().endswith(","):
        return "a trailing comma isn't allowed"
    return error.msg.removesuffix(" at")  # as in "Invalid control character at"


def _too_deep(data: Any) -> bool:
    """Return whether a JSON value has more than `DEPTH_LIMIT` levels of objects and lists."""
    level: list[Any] = [data] if isinstance(data, dict | list) else []
    for _ in range(DEPTH_LIMIT):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
    return bool(level)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number
