"""Read and rewrite the JSON documents that people, models and Holdfast edit side by side."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.clock import file_stamp
from holdfast.errors import BrokenError, ChangedError, LargeError, MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, jsonkeep
from holdfast.files.jsonvalue import DEPTH_LIMIT, measured, same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

LIMIT_BYTES = 32 * 1024 * 1024  # bytes of a document
_GROWTH_BYTES = 64 * 1024  # bytes a file may gain while it is being opened
_BOM = b"\xef\xbb\xbf"
_FIRST_INDENT = re.compile(rb'\A\s*\{[ \t]*\r?\n([ \t]*)"')
_FIRST_COLON = re.compile(rb'\A\s*\{\s*"(?:[^"\\]|\\.)*"([ \t]*:[ \t]*)')
_BLANK_COLON = re.compile(r":(?<=[ \t\r\n]:)")  # a search for the colon is several times as fast as one for the blank
_ESCAPED_LETTER = re.compile(rb"(?<!\\)(?:\\\\)*\\u(?!00[0-7])[0-9a-fA-F]{4}")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object as it was on disk: `data` parsed, `raw` the file's bytes, `mtime` in seconds since 1970."""

    path: Path
    data: dict[str, Any]
    raw: bytes
    mtime: float

    @property
    def digest(self) -> str:
        """The SHA-256 of `raw` in hexadecimal."""
        return hashlib.sha256(self.raw).hexdigest()


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
    except FileNotFoundError as error:
        raise MissingError(path, "no such file") from error
    except OSError as error:
        raise StateError(path, f"cannot be read: {error.strerror or error}") from error
    try:
        info = os.fstat(descriptor)
        _check_kind(path, info)
        large = whole and info.st_size > limit
        raw = b"" if large else _content(descriptor, min(limit + whole, info.st_size + _GROWTH_BYTES))
        if large or (whole and len(raw) > limit):
            raise LargeError(path, f"is larger than {limit} bytes")
        return raw, info
    except BlockingIOError as error:  # a device that poses as a regular file, such as /proc/kmsg
        raise StateError(path, "cannot be read: it holds nothing now, and is no file") from error
    except OSError as error:
        raise StateError(path, f"cannot be read: {error.strerror or error}") from error
    finally:
        os.close(descriptor)


def _content(descriptor: int, size: int) -> bytes:
    """Return a file's first `size` bytes. A file object would ask the system three times more, for each file."""
    parts = [os.read(descriptor, size)]
    while parts[-1] and (size := size - len(parts[-1])) > 0:
        parts.append(os.read(descriptor, size))
    return b"".join(parts)


def leads_out(path: Path, within: Path) -> bool:
    """Return whether symbolic links lead a path below the folder `within` out of that folder."""
    name, top = os.fspath(path), os.fspath(within)
    if name.startswith(f"{top}/") and "/../" not in f"{name}/":
        place, linked = top, False
        for part in name[len(top) + 1 :].split("/"):  # cheaper than resolving: usually there is no link at all
            place = f"{place}/{part}"
            linked = linked or os.path.islink(place)  # noqa: PTH114 - called for each file that is read
        if not linked:
            return False
    real, real_top = os.path.realpath(name), os.path.realpath(top)
    return real != real_top and not real.startswith(f"{real_top.rstrip('/')}/")


def _check_kind(path: Path, info: os.stat_result) -> None:
    """Raise StateError unless a stat result is that of a regular file."""
    if not stat.S_ISREG(info.st_mode):
        raise StateError(path, "is a folder" if stat.S_ISDIR(info.st_mode) else "is not a regular file")


def render(data: dict[str, Any], like: bytes | None = None) -> bytes:
    """Return `data` as JSON in the style of `like`, a file's present bytes.

    It keeps indentation, the spacing of colons, newlines, what follows the last brace, the byte order mark, and whether
    non-ASCII letters are escaped. Without `like`: indent 2, a final newline, letters unescaped (I001-19). A lone
    surrogate is escaped. Raises TypeError or ValueError for what JSON can't hold.
    """
    style = _style(like) if like and like.strip() else _Style()
    text = json.dumps(
        data,
        indent=style.indent,
        separators=(style.comma, style.colon),
        ensure_ascii=style.escaped,
        allow_nan=False,
    )
    # Surrogates occur only inside strings, where Python's escape for them is JSON's too.
    body = text.replace("\n", style.newline).encode("utf-8", "backslashreplace")
    return style.mark + body + style.tail


def save(path: Path, data: dict[str, Any], *, mode: int = 0o644) -> bool:
    """Write `data` to `path` in Holdfast's style, unless the file has these bytes; return whether it was written.

    `mode` is for a new file. Raises StateError.
    """
    raw = _rendered(path, data, None)
    with suppress(StateError):
        if read(path)[0] == raw:
            return False
    atomic.write(path, raw, mode=mode)
    return True


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
    new = (_kept(path, data, like) if like else None) or parse(path, _rendered(path, data, like), 0.0)
    if like is not None and new.raw == expected:
        return like
    if len(new.raw) > limit:
        raise LargeError(path, f"would be larger than {limit} bytes, so it stays as it was")
    return Document(path, new.data, new.raw, atomic.replace(path, new.raw, expected))


def copy_aside(path: Path, raw: bytes, why: str = "corrupt") -> Path:
    """Write a file's content `raw` to `<name>.<why>-<time>` beside it and return that path; the file stays.

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


def _kept(path: Path, data: dict[str, Any], like: Document) -> Document | None:
    """Return `data` as a document whose unchanged parts have the exact characters of `like`; None if that fails.

    What is written is read again to be sure. It needn't be looked through again for keys that are given twice or for
    its depth, since `like` has none of the one, and `jsonkeep` sees to the other.
    """
    raw = jsonkeep.rewritten(like.raw, like.data, data, escaped=_escapes(like.raw))
    if raw is None:
        return None
    with suppress(StateError, ValueError, RecursionError):
        found = _json(_decode(path, raw))
        if found == data:
            return Document(path, found, raw, 0.0)
    return None


def _rendered(path: Path, data: dict[str, Any], like: Document | None) -> bytes:
    """Return `data` as the file's new bytes. Raises StateError."""
    try:
        return render(data, like.raw if like else None)
    except RecursionError as error:
        raise StateError(path, "is nested too deeply to be written") from error


class _Style(NamedTuple):
    """The style of a JSON file."""

    indent: str | None = "  "
    comma: str = ","
    colon: str = ": "
    newline: str = "\n"
    tail: bytes = b"\n"
    mark: bytes = b""
    escaped: bool = False


def _style(like: bytes) -> _Style:
    mark, body = (_BOM, like[len(_BOM) :]) if like.startswith(_BOM) else (b"", like)
    indent, colon = _FIRST_INDENT.match(body), _FIRST_COLON.match(body)
    trimmed = body.strip()
    lines = b"\n" in trimmed or trimmed == b"{}"
    spacing = colon[1].decode() if colon else ": "
    return _Style(
        indent=(indent[1].decode() if indent else "  ") if lines else None,
        comma="," if lines or not spacing.endswith(" ") else ", ",
        colon=spacing,
        newline="\r\n" if b"\r\n" in body else "\n",
        tail=body[len(body.rstrip()) :],
        mark=mark,
        escaped=_escapes(body),
    )


def _escapes(raw: bytes) -> bool:
    """Return whether a JSON file writes letters beyond ASCII as escapes."""
    body = raw.removeprefix(_BOM)
    return b"\\u" in body and body.isascii() and _ESCAPED_LETTER.search(body) is not None


def _parse(path: Path, raw: bytes) -> dict[str, Any]:
    text = _decode(path, raw)
    try:
        data, levels = _loaded(text)
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at")  # as in "Invalid control character at"
        raise BrokenError(path, f"is not JSON: {said}, line {error.lineno} column {error.colno}") from error
    except RecursionError as error:
        raise BrokenError(path, "is nested too deeply to be read") from error
    except ValueError as error:
        raise BrokenError(path, f"is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise SchemaMismatch(path, f"holds a JSON {_kind(data)} where an object is expected")
    if levels > DEPTH_LIMIT:
        raise BrokenError(path, "is nested too deeply to be read")
    return data


def _loaded(text: str) -> tuple[Any, int]:
    """Return a JSON text's value and its levels of objects and lists. Raises ValueError, also for a key given twice.

    Such keys are found by counting, since a call for each object doubles the time: if no blank stands before a colon,
    each key has its own `":`. Where that count is another than that of the keys, each object is looked at.
    """
    if not _BLANK_COLON.search(text):
        with suppress(ValueError, RecursionError):  # it is raised again below, where a key given twice goes first
            data = _json(text)
            keys, levels = measured(data)
            if keys == text.count('":'):
                return data, levels
    data = _json(text, _object)
    return data, measured(data)[1]


def _json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return a JSON text's value; `pairs` makes an object of its keys and values. Raises ValueError, RecursionError."""
    return json.loads(text, object_pairs_hook=pairs, parse_constant=_no_number, parse_float=_finite)


def _decode(path: Path, raw: bytes) -> str:
    body = raw.removeprefix(_BOM)
    if not body.strip():
        raise BrokenError(path, "is empty")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + len(raw) - len(body)
        raise BrokenError(path, f"is not UTF-8: byte 0x{body[error.start]:02x} at offset {offset}") from error


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is given twice in one object")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number


def _kind(data: object) -> str:
    names = {list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(data), "number")
