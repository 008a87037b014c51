"""Read texts that people and models write, bounded in size and in any encoding."""

from __future__ import annotations

import codecs
import errno
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import MissingError, StateError
from holdfast.files import document
from holdfast.files.invisible import HIDDEN

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_BYTES = 256 * 1024  # bytes of one file that are read
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Text(NamedTuple):
    """A file's text, its modification time (`st_mtime`), and whether it was read to its end."""

    text: str
    mtime: float
    whole: bool


def read(path: Path, within: Path) -> Text | None:
    """Return the text of a regular file's first 256 KB, or None if there is no such file.

    UTF-8, UTF-16 and UTF-32 are recognised; anything else is read as Windows-1252. Raises OSError, also for a path
    whose links lead out of `within`, the project's root.
    """
    try:
        raw, info = document.head(path, LIMIT_BYTES, within=within)
    except MissingError:
        return None
    except StateError as error:
        if isinstance(error.__cause__, NotADirectoryError):
            return None
        reason = error.reason.removeprefix("cannot be read: ")
        raise OSError(errno.EINVAL, reason if reason != error.reason else f"it {reason}") from error
    whole = info.st_size <= len(raw)
    return Text(decode(raw, whole=whole), info.st_mtime, whole)


def decode(raw: bytes, *, whole: bool = True) -> str:
    """Return bytes as text with `\\n` line ends, without invisible characters.

    Without `whole`, the last character may be cut in two. UTF-8 with a few wrong bytes is still read as UTF-8.
    """
    wide = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if raw.startswith(mark)), "") or _wide(raw)
    for encoding in (wide,) if wide else ("utf-8-sig",):
        with suppress(UnicodeDecodeError):
            return _plain_text(codecs.getincrementaldecoder(encoding)().decode(raw, final=whole))
    patched = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(raw, final=whole)
    strange = sum(character > "\x7f" for character in patched)
    if strange > 2 * patched.count("\ufffd"):
        return _plain_text(patched)
    with suppress(UnicodeDecodeError):
        return _plain_text(raw.decode("cp1252"))
    return _plain_text(raw.decode("latin-1"))


def _wide(raw: bytes) -> str:
    """Return the encoding of UTF-16 without a byte order mark, found by its zero bytes; empty for other bytes."""
    sample = raw[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 4 < len(sample) or min(even, odd) * 8 > max(even, odd):
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _plain_text(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.rstrip("\x00")  # zeros that a crash may leave
    if text.isascii():
        return text
    return HIDDEN.sub("", text.replace("\u2028", "\n").replace("\u2029", "\n"))
