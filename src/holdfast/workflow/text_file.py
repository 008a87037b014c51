"""Read texts that people and models write, bounded in size."""

from __future__ import annotations

import codecs
import errno
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import MissingError, StateError
from holdfast.files import document

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_BYTES = 256 * 1024  # bytes of one file that are read


class Text(NamedTuple):
    """A file's text, its modification time (`st_mtime`), and whether it was read to its end."""

    text: str
    mtime: float
    whole: bool

    @property
    def cut(self) -> str:
        """What to say behind a remark on a file that wasn't read to its end; empty for any other."""
        return "" if self.whole else f" (its first {LIMIT_BYTES // 1024} KB were read)"


def read(path: Path, within: Path) -> Text | None:
    """Return the text of a regular file's first 256 KB with `\\n` line ends, or None if there is no such file.

    Raises OSError, also for a file that isn't UTF-8, and for a path whose links lead out of `within`, the project's
    root.
    """
    try:
        raw, info = document.head(path, LIMIT_BYTES, within=within)
    except MissingError:
        return None
    except StateError as error:
        if isinstance(error.__cause__, NotADirectoryError):
            return None
        cause = error.__cause__
        reason = cause.strerror or str(cause) if isinstance(cause, OSError) else f"it {error.reason}"
        raise OSError(errno.EINVAL, reason) from error
    whole = info.st_size <= len(raw)
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(raw, final=whole)  # the end may be half a character
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, "it isn't UTF-8") from error
    return Text(text.replace("\r\n", "\n").replace("\r", "\n"), info.st_mtime, whole)
