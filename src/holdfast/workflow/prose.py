"""Bounded reading of the Markdown that people and models write: any encoding, fenced code left out."""

from __future__ import annotations

import codecs
import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 256 * 1024  # bytes of one file
_LONGEST = 20_000  # characters of a line; no pattern may meet more
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t])")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_MARKS = ("***", "**", "*", "__", "_", "`")


def read(path: Path) -> tuple[str, float] | None:
    """Return the text of a regular file's first 256 KB and its `st_mtime`, or None if there is no such file.

    UTF-8 and UTF-16 (by their byte order mark) are recognised, anything else is taken as Latin-1. Raises OSError.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(f"{path} is not a regular file")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            raw = file.read(LIMIT)
    finally:
        os.close(descriptor)
    return decode(raw, whole=info.st_size <= len(raw)), info.st_mtime


def decode(raw: bytes, *, whole: bool = True) -> str:
    """Return bytes as text with `\\n` line ends; without `whole` the last character may have been cut in two."""
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if wide else ("utf-8-sig",):
        with suppress(UnicodeDecodeError):
            return _lines(codecs.getincrementaldecoder(encoding)().decode(raw, final=whole))
    return _lines(raw.decode("latin-1"))


def lines(text: str) -> list[str]:
    """Return the lines of a Markdown text without its fenced code blocks."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
        else:
            kept.append(line[:_LONGEST])
    return kept


def heading(line: str) -> tuple[int, str] | None:
    """Return a heading's level (1 to 6) and its text with single spaces, or None for any other line."""
    match = _HEADING.match(line)
    return (len(match[1]), " ".join(line[match.end() :].rstrip(" \t#").split())) if match else None


def item(line: str) -> str | None:
    """Return the text of a list item, its check box left out, or None for any other line."""
    match = _BULLET.match(line)
    return line[match.end() :].strip() if match else None


def label(words: str) -> re.Pattern[str]:
    """Return the pattern of a line such as `- **Words:** value`, anchored so that prose does not match (I001-2).

    `words` is a regular expression; the pattern's group `value` is the rest of the line and may be empty.
    """
    return re.compile(
        rf"^\s*(?:>\s*)*(?:(?:[-*+]|\d{{1,3}}[.)])\s+)?(?:#{{1,6}}\s+)?"
        rf"[*_`]{{0,3}}(?:{words})[*_`]{{0,3}}\s*:[*_`]{{0,3}}(?P<value>(?:\s.*)?)$",
        re.IGNORECASE,
    )


def value(pattern: re.Pattern[str], line: str) -> str | None:
    """Return what follows a `label` in a line, without marks around it, or None where the line has no such label."""
    match = pattern.match(line)
    return plain(match["value"]) if match else None


def plain(text: str) -> str:
    """Return text without spaces and emphasis marks around it; marks inside stay."""
    text = text.strip()
    while mark := next((mark for mark in _MARKS if _wraps(mark, text)), ""):
        text = text[len(mark) : -len(mark)].strip()
    return text[:-2].rstrip() if text.endswith("**") and text.count("**") % 2 else text


def _wraps(mark: str, text: str) -> bool:
    return len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
