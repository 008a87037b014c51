"""Bounded reading of the Markdown that people and models write: any encoding, nothing that is only shown."""

from __future__ import annotations

import codecs
import errno
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import MissingError, StateError
from holdfast.files import document
from holdfast.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LIMIT = 256 * 1024  # bytes of one file
_LONGEST = 20_000  # characters of a line; no pattern may meet more
_NESTED = 64  # fence lines looked ahead for the end of a fence that has fences in it
_FENCE = regex(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(`{3,}|~{3,})(.*)")
_HEADING = regex(r" {0,3}(#{1,6})(?=[ \t])")
_SIGN = r"(?:[^\x00-\x7f\w]{1,4}\s*)?"
OPENING = (
    r"^\s*(?:>\s*)*(?:(?:[-*+]|\d{1,3}[.)])\s+)?(?:#{1,6}\s+(?:\d{1,3}[.)]\s+)?)?" + _SIGN + r"[*_`]{0,3}" + _SIGN
)  # what may stand before a label
_BEFORE = r"(?:[^\x00-\x7f\W]{1,20}\s?[/／]\s?)?"  # the same label in another language, as people write for two readers
_BEHIND = r"(?:\s?[/／(（]\s?[^\x00-\x7f\W][^\s:：*]{0,20}[)）]?)?"
_BULLET = regex(r"^\s*(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_MARKS = ("***", "**", "*", "__", "_", "`")
_TAG = regex(r"</?(?:b|strong|i|em|u|kbd|mark|p|div|span|center|font|summary|details|br)\b[^<>]{0,200}>", re.IGNORECASE)
_METADATA = regex(r"<!--[ \t]*([\w -]{1,40}:[ \t]*[^\n|>]{1,200}?)[ \t]*-->")
_EXAMPLE = regex(
    r"\b(?:e\.g\.|examples?|for instance|samples?|looks? like|such as|templates?|format|snippet|syntax)", re.IGNORECASE
)
_SHOWN = regex(r"(?: {4}|\t| {0,3}>)")
_INDENTED = regex(r"(?:^|\n)[ \t]*\n {0,3}(?: |\t)[ \t]*\S")
_CONTAINER = regex(
    r"(?P<mark>[-*+]|\d{1,9}[.)])(?P<space>[ \t]+|$)|(?:!!!|\?\?\?\+?|===)[ \t]|\[\^[^\]]{1,40}\]:"
)  # what has indented text below it
_UNDERLINE = regex(r"(?:={2,}|-{4,})[ \t]*")  # three hyphens are a rule or the end of front matter
_ENTRY = regex(r"(?:(?<=[\s,(\[`*])|^)@[^\s,;`()\[\]]*[\w/*]")
_PIPE = regex(r"(?<!\\)\|")
_LABEL = r"[^\w\s]{0,4}\s?[^\x00-\x7f\w]{0,4}\s?\w[\w ]{0,30}[*_`]{0,3}\s*[:：]"
_BOLD_LABEL = r"(?:\*\*|__)\w[\w ]{0,30}(?:[:：](?:\*\*|__)|(?:\*\*|__)\s?[:：])"
_PART = regex(
    rf"(?:\s*[|·•]\s*|\s{{3,}})(?={_LABEL})|(?:\s*[,;/]\s*|\s+[–—-]+\s+|\s{{2}}|(?<=[\w)%*_`])\s)(?={_BOLD_LABEL})"
)
_LED = regex(
    r"(?:[(:\"'“‘]|\b(?:set|sets|use|see|say|says|write|add|put|mark|change|update|find|like|to|as|an?|the|of|with|is|or|and"
    r"|when|if|its|your|from|in|into))\s*$",
    re.IGNORECASE,
)  # what stands before a label that is only spoken of
_LABELLED = regex(rf"(?:>\s*)*(?:(?:[-*+]|\d{{1,3}}[.)])\s+)?{_LABEL}")
_ODD = {"\u2028": "\n", "\u2029": "\n", "\u200b": "", "\u2060": "", "\ufeff": ""}  # ends of lines, and invisible
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Text(NamedTuple):
    """What a file says, when it was changed (`st_mtime`), and whether it was read to its end."""

    text: str
    mtime: float
    whole: bool


def read(path: Path, within: Path) -> Text | None:
    """Return the text of a regular file's first 256 KB, or None if there is no such file.

    UTF-8, UTF-16 and UTF-32 are recognised, anything else is taken as Windows' Latin-1. Raises OSError, also for a
    path whose links lead out of `within`, the project's root.
    """
    try:
        raw, info = document.head(path, LIMIT, within=within)
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

    Without `whole` the last character may have been cut in two. UTF-8 with a few wrong bytes in it stays UTF-8.
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


def lines(text: str) -> list[str]:
    """Return the lines of a Markdown text that say something.

    Left out are fenced and indented code, comments, and indented or quoted blocks right below a line that announces an
    example. Underlined headings become `#` headings.
    """
    kept = text.split("\n")
    if "```" in text or "~~~" in text or "<!--" in text:
        kept = list(_outside(kept))
    kept = list(_said(kept))
    if ("\n    " in text or "\t" in text) and _INDENTED.search(text):
        kept = list(_uncoded(kept))
    if "-|" in text or "- |" in text:
        kept = list(_barred(kept))
    if "\n==" in text or "\n----" in text:
        kept = list(_headed(kept))
    if "<" in text:
        kept = [_TAG.sub("", line[:_LONGEST]) if "<" in line else line for line in kept]
    return [line[:_LONGEST] for line in kept] if len(text) > _LONGEST else kept


def metadata(text: str) -> list[str]:
    """Return the comments that are a label with one value, such as `<!-- status: done -->`, without their marks."""
    return _METADATA.findall(text) if "<!--" in text else []


def heading(line: str) -> tuple[int, str] | None:
    """Return a heading's level (1 to 6) and its text with single spaces, or None for any other line."""
    match = _HEADING.match(line) if "#" in line[:4] else None
    return (len(match[1]), " ".join(line[match.end() :].rstrip(" \t#").split())) if match else None


def item(line: str) -> str | None:
    """Return the text of a list item, its check box left out, or None for any other line."""
    match = _BULLET.match(line)
    return line[match.end() :].strip() if match else None


def cells(line: str) -> list[str]:
    """Return the cells of a table's row, or an empty list for a line without any `|` at its beginning."""
    line = line.strip().lstrip("> ")
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in _PIPE.split(line[1:-1] if line.endswith("|") and len(line) > 1 else line[1:])]


def tables(lines: list[str]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield each table's head and rows, as cells."""
    head: list[str] = []
    rows: list[list[str]] = []
    before: list[str] = []
    for line in [*lines, ""]:
        row = cells(line)
        if head and row:
            rows.append(row)
        elif head:
            yield head, rows
            head = []
        elif before and is_rule(line):
            head, rows = before, []
        before = row


def is_rule(line: str) -> bool:
    """Tell whether a line is the one between a table's head and its rows."""
    return "|" in line and "-" in line and not line.strip(" \t>|:-")


def is_break(line: str) -> bool:
    """Tell whether a line is a rule across the page, as stands before a footer."""
    return line[:3] in ("---", "***", "___") and not line.strip("-*_ \t")


def parts(line: str) -> list[str]:
    """Return what stands on a line side by side as `Label: value | Label: value`; any other line as it is.

    Bold labels may also follow each other with a comma, a dash or mere spaces between.
    """
    if line.count(":") + line.count("：") < 2 or line.lstrip().startswith("|"):
        return [line]
    bare = line.strip()
    whole = bare[1:-1] if bare[:1] in ("_", "*") and bare[1:2] not in ("_", "*", " ") else bare
    begun = _LABELLED.match(whole)
    if not begun:
        return [line]
    first, *others = _PART.split(whole[begun.end() :])
    found = [begun[0] + first, *filter(None, others)]
    return found if len(found) > 1 and not any(_LED.search(part) for part in found[:-1]) else [line]


def label(words: str) -> re.Pattern[str]:
    """Return the pattern of a line such as `- **Words:** value`, anchored so that prose does not match (I001-2).

    `words` is a regular expression; the pattern's group `value` is the rest of the line and may be empty. A sign such
    as 📍 may stand before the words, and a number in a heading; the same words in another language on either side.
    """
    return regex(
        rf"{OPENING}{_BEFORE}(?:{words}){_BEHIND}[*_`]{{0,3}}\s*(?::[*_`]{{1,3}}|:(?=\s|$)|：[*_`]{{0,3}})(?P<value>.*)$",
        re.IGNORECASE,
    )


def value(pattern: re.Pattern[str], line: str) -> str | None:
    """Return what follows a `label` in a line, without marks around it, or None where the line has no such label."""
    match = pattern.match(line)
    return plain(match["value"]) if match else None


def first(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    """Return the first value of a `label` in some lines that is not empty, or None."""
    return next((found for line in lines if (found := value(pattern, line))), None)


def entries(line: str) -> list[str]:
    """Return the `@path` entries of a line; a path has a dot or a slash in it, so that `@alice` is none."""
    return [entry for entry in _ENTRY.findall(line) if "/" in entry or "." in entry] if "@" in line else []


def plain(text: str) -> str:
    """Return text without spaces and emphasis marks around it; marks inside stay."""
    start, end = _trimmed(text, 0, len(text))  # a copy for each pair of marks would take time with their square
    while size := next((len(mark) for mark in _MARKS if _wraps(mark, text, start, end)), 0):
        start, end = _trimmed(text, start + size, end - size)
    text = text[start:end]
    if text.endswith("**") and text.count("**") % 2:
        return text[:-2].rstrip()
    return text[:-1] if text.endswith("*") and text.count("*") == 1 and not text.endswith(" *") else text


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where a part of a text begins and ends without the white space around it."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _wraps(mark: str, text: str, start: int, end: int) -> bool:
    return end - start > 2 * len(mark) and text.startswith(mark, start) and text.endswith(mark, start, end)


def _wide(raw: bytes) -> str:
    """Return the encoding of UTF-16 without a byte order mark, told by where its zero bytes are, or nothing."""
    sample = raw[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 4 < len(sample) or min(even, odd) * 8 > max(even, odd):
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _plain_text(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.rstrip("\x00")  # what a crash may leave behind
    if text.isascii():
        return text
    for sign, instead in _ODD.items():
        text = text.replace(sign, instead)
    return text


def _outside(raw: list[str]) -> Iterator[str]:
    """Yield the lines outside fenced code and comments."""
    at, closing = 0, True  # `closing`: there may still be the end of a comment further down
    while at < len(raw):
        line, at = raw[at], at + 1
        if fence := _fence(line):
            at = _after_fence(raw, at, fence)
            continue
        if "<!--" in line and "`" not in line:
            line = _uncommented(line[:_LONGEST])
            before, opened, _ = line.partition("<!--")
            if opened and closing:
                end = next((number for number in range(at, len(raw)) if "-->" in raw[number]), None)
                closing = end is not None
                if end is not None:
                    line, at = before + raw[end].partition("-->")[2], end + 1
        yield line


def _uncommented(line: str) -> str:
    while (start := line.find("<!--")) >= 0 and (end := line.find("-->", start)) >= 0:
        line = line[:start] + line[end + 3 :]
    return line


def _fence(line: str) -> tuple[str, str] | None:
    """Return the marks of a line that begins or ends fenced code, and what stands behind them."""
    if "```" not in line and "~~~" not in line:
        return None
    match = _FENCE.match(line[:_LONGEST])
    if not match or (match[1][0] == "`" and "`" in match[2]):
        return None
    return match[1], match[2].strip()


def _after_fence(raw: list[str], at: int, opened: tuple[str, str]) -> int:
    """Return the index after the fenced code that begins before `at`.

    People put fences into fences of the same length; where that comes out even it is read so, else as Markdown does.
    """
    depth, seen, first = 1, 0, None
    for number in range(at, len(raw)):
        found = _fence(raw[number])
        if not found or found[0][0] != opened[0][0]:
            continue
        seen += 1
        if found[1]:
            depth += found[0] == opened[0]
        elif len(found[0]) >= len(opened[0]):
            first = number if first is None else first
            depth -= 1
            if not depth:
                return number + 1
        if seen >= _NESTED and first is not None:
            break
    return len(raw) if first is None else first + 1


def _said(raw: Iterable[str]) -> Iterator[str]:
    """Yield the lines without the indented or quoted blocks right below an announcement of an example."""
    announced = False
    for line in raw:
        if not line.strip():
            yield line
        elif not (announced and _SHOWN.match(line)):
            announced = _announces(line)
            yield line


def _uncoded(raw: list[str]) -> list[str]:
    """Return the lines without indented code: four columns or more after an empty line, counted from a list's text.

    A text that is indented as a whole is text (I001-2). What stands below a list's item, a footnote or a box that some
    Markdown knows is indented from there.
    """
    if all(line[:1] in (" ", "\t") for line in raw if line.strip()):
        return raw
    kept: list[str] = []
    insides: list[int] = []  # the columns where the texts of the open items begin
    empty, code = True, False
    for line in raw:
        bare = line.lstrip(" \t")
        if not bare:
            kept.append(line)
            empty = True
            continue
        indent = _columns(line[: len(line) - len(bare)])
        match = _CONTAINER.match(bare)
        while insides and indent < insides[-1] and (empty or match or bare[0] == "#"):
            insides.pop()
        base = insides[-1] if insides else 0
        code = (empty or code) and indent >= base + 4 and not (insides and match)
        empty = False
        if not code:
            kept.append(line)
            if match:
                insides.append(_inside(match, indent))
    return kept


def _inside(match: re.Match[str], indent: int) -> int:
    """Return the column where the text of a list's item or the like begins."""
    if match["space"] is None:
        return indent + 4
    text = _columns(" " * (indent + len(match["mark"])) + match["space"])
    return text if 0 < text - indent - len(match["mark"]) < 5 else indent + len(match["mark"]) + 1


def _columns(space: str) -> int:
    return len(space.expandtabs(4))


def _announces(line: str) -> bool:
    """Tell whether a line says that an example follows."""
    if ":" not in line[-8:]:
        return False
    end = line[-200:].rstrip("*_ \t")
    return end.endswith(":") and _EXAMPLE.search(end) is not None


def _barred(raw: list[str]) -> Iterator[str]:
    """Yield the lines with a bar before the rows of tables that people write without."""
    inside = False
    for number, line in enumerate(raw):
        under = raw[number + 1] if number + 1 < len(raw) else ""
        inside = "|" in line and (inside or is_rule(under))
        bare = inside and not line.lstrip().startswith(("|", ">"))
        yield f"| {line}" if bare else line


def _headed(raw: list[str]) -> Iterator[str]:
    """Yield the lines with underlined headings as `#` headings."""
    skipped = False
    for number, line in enumerate(raw):
        under = raw[number + 1] if number + 1 < len(raw) else ""
        above = raw[number - 1] if number else ""
        if skipped:
            skipped = False
        elif line[:1].isalnum() and not above.strip() and under[:1] in ("=", "-") and _UNDERLINE.fullmatch(under):
            skipped = True
            yield f"{'#' if under[0] == '=' else '##'} {line}"
        else:
            yield line
