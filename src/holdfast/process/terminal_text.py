"""Make text safe for a terminal, so that it can't move the cursor, or hide or reorder what is shown."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

from holdfast.files.invisible import CONTROL, HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NOBODY_READS = 141  # 128 and the number of SIGPIPE
# Also line and paragraph separators, lone surrogates, and a carriage return without a line break.
_ESCAPED = re.compile(f"[{CONTROL}\u2028\u2029\ud800-\udfff]|\r(?!\n)|{HIDDEN.pattern}")


def printable(text: str) -> str:
    r"""Return text with each character that a terminal would act on, or not show, escaped: `\u001b`, `\u202e`.

    The escapes are JSON's, so a JSON document keeps its meaning. Line breaks and tabs stay.
    """
    return _ESCAPED.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


class Guarded:
    """A wrapper of a text stream that writes only printable text; every other attribute is the stream's.

    Attributes:
        stream: the wrapped stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")

    @property
    def encoding(self) -> str | None:
        """The stream's encoding, but UTF-8 in place of ASCII, because click would bypass this wrapper otherwise."""
        encoding = cast("str | None", self.stream.encoding)
        return "utf-8" if encoding and "é".encode(encoding, "replace") == b"?" else encoding

    def write(self, text: str) -> int:
        """Write text, made printable. Return the text's length."""
        try:
            self.stream.write(printable(text))
        except BrokenPipeError:
            nobody_reads()
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        try:
            self.stream.flush()
        except BrokenPipeError:
            nobody_reads()

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def guarded() -> Iterator[None]:
    """Wrap stdout and stderr in `Guarded` within the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", Guarded(stream)) if stream else stream for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def unguarded(stream: TextIO) -> TextIO:
    """Return the wrapped stream, for a caller that writes its own escape sequences and makes the text printable."""
    return stream.stream if isinstance(stream, Guarded) else stream


def nobody_reads() -> NoReturn:
    """End silently, like a program that SIGPIPE ends: `holdfast … | head -1` is no error."""
    forget_output()
    sys.exit(_NOBODY_READS)


def forget_output() -> None:
    """Discard what is still buffered for stdout, because Python would report an error at exit."""
    with suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
