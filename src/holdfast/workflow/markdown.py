"""One line of Markdown, without its context: its kind, its text, and its label and value."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal[
    "blank",
    "text",
    "heading",
    "underline",
    "item",
    "quote",
    "row",
    "rule",
    "break",
    "code",
    "comment",
]

LONGEST_CHARS = 20_000  # characters of a line that are looked at
MARK = re.compile(r"(?P<mark>[-*+]|\d{1,9}[.)])(?P<space>\s+|$)")
"""The mark of a list item, with any number."""

_MARK_CHARS = 4  # characters of an item's mark; a longer number is a year at the beginning of a sentence
_EMPHASIS = ("***", "**", "*", "__", "_", "`")
_ENTRY = re.compile(r"(?:(?<=[\s,(\[`*])|^)@[^\s,;`()\[\]]*[\w/*]")
_HEAD_CHARS = 500  # characters of a line in which a label's colon is looked for
_WORD = re.compile(r"\w+")
_SIGN = r"(?:[^\x00-\x7f\w\s]{1,4}\s*)?"
OPENING = rf"\s*(?:>\s*)*(?:(?:[-*+]|\d{{1,3}}[.)])\s+)?(?:#{{1,6}}\s+(?:\d{{1,3}}[.)]\s+)?)?{_SIGN}[*_`]{{0,3}}{_SIGN}"
"""A regular expression of what may come before a label."""

# The same label in another language may come before or after it, because people write for two readers.
_HEAD = re.compile(
    rf"{OPENING}(?:[^\x00-\x7f\W]{{1,20}}\s?[/／]\s?)?(?P<words>\w.*?)"
    r"(?:\s?[/／(（]\s?[^\x00-\x7f\W][^\s:：*]{0,20}[)）]?)?[*_`]{0,3}\s*"
)
_LABEL = r"[^\w\s]{0,4}\s?[^\x00-\x7f\w]{0,4}\s?\w[\w ]{0,30}[*_`]{0,3}\s*[:：]"
_BOLD_LABEL = r"(?:\*\*|__)\w[\w ]{0,30}(?:[:：](?:\*\*|__)|(?:\*\*|__)\s?[:：])"
_BEGUN = re.compile(rf"(?:>\s*)*(?:(?:[-*+]|\d{{1,3}}[.)])\s+)?{_LABEL}")
_PART = re.compile(
    rf"(?:\s*[|·•]\s*|\s{{3,}})(?={_LABEL})|(?:\s*[,;/]\s*|\s+[–—-]+\s+|\s{{2}}|(?<=[\w)%*_`])\s)(?={_BOLD_LABEL})"
)


class Line(NamedTuple):
    """A line of Markdown.

    Attributes:
        kind: its kind; lines of the kinds in `scanner.HIDDEN` say nothing themselves.
        raw: the line without comments and tags. An underlined heading has a `#`, and a table's row a bar in front.
        text: the text after the marks of a heading, item or quote, without a checkbox; else the stripped line.
        depth: a heading's level, the number of a quote's marks, or the column of an item's mark.
        box: the character between the brackets of a checkbox; None without one.
        cells: the cells of a table's row, the rule below the head included.
        number: the line's number in the text, from 0.
    """

    kind: Kind
    raw: str
    text: str = ""
    depth: int = 0
    box: str | None = None
    cells: tuple[str, ...] = ()
    number: int = 0


def line(raw: str, number: int = 0) -> Line:
    """Return a line with its kind, regardless of its context."""
    raw = raw[:LONGEST_CHARS]
    bare = raw.strip()
    if not bare:
        return Line("blank", raw, number=number)
    first = bare[0]
    if first == "#" and (level := _level(raw)):
        return Line("heading", raw, " ".join(bare[level:].rstrip(" \t#").split()), level, number=number)
    if first in "|>":
        inner = bare.lstrip("> ")
        if inner[:1] == "|":
            return Line("rule" if is_rule(raw) else "row", raw, bare, 0, None, _cells(inner), number)
        if first == ">" and is_rule(raw):
            return Line("rule", raw, inner, number=number)
        if first == ">":
            return Line("quote", raw, inner, bare[: len(bare) - len(inner)].count(">"), number=number)
    elif raw[:3] in ("---", "***", "___") and not raw.strip("-*_ \t"):
        return Line("break", raw, bare, number=number)
    elif mark := item(raw.lstrip()):
        text, box = _unboxed(mark.string[mark.end() :].strip())
        return Line("item", raw, text, columns(raw[: -len(mark.string)]), box, number=number)
    text, box = _unboxed(bare)
    return Line("text", raw, text, 0, box, number=number)


def is_rule(raw: str) -> bool:
    """Return whether a line is the rule between a table's head and its rows."""
    return "|" in raw and "-" in raw and not raw.strip(" \t>|:-")


def entries(raw: str) -> list[str]:
    """Return the `@path` entries in a line. A path has a dot or a slash in it, so `@alice` isn't one."""
    return [entry for entry in _ENTRY.findall(raw) if "/" in entry or "." in entry] if "@" in raw else []


def plain(text: str) -> str:
    """Return text without surrounding spaces and emphasis marks; marks inside stay."""
    start, end = _trimmed(text, 0, len(text))  # positions, because a copy per pair of marks takes quadratic time
    while size := next((len(mark) for mark in _EMPHASIS if _wraps(mark, text, start, end)), 0):
        start, end = _trimmed(text, start + size, end - size)
    text = text[start:end]
    if text.endswith("**") and text.count("**") % 2:
        return text[:-2].rstrip()
    return text[:-1] if text.endswith("*") and text.count("*") == 1 and not text.endswith(" *") else text


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return start and end of a part of a text without the white space around it."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _wraps(mark: str, text: str, start: int, end: int) -> bool:
    return end - start > 2 * len(mark) and text.startswith(mark, start) and text.endswith(mark, start, end)


def _level(raw: str) -> int:
    """Return a heading's level, 0 for any other line."""
    marks = raw[:9].lstrip(" ")
    level = len(marks) - len(marks.lstrip("#"))
    return level if raw[:4].lstrip(" ")[:1] == "#" and level < 7 and marks[level : level + 1] in (" ", "\t") else 0


def item(bare: str) -> re.Match[str] | None:
    """Return the match of a list item's mark at the beginning of a text, or None."""
    match = MARK.match(bare) if bare[:1] in ("-", "*", "+") or bare[:1].isdigit() else None
    return match if match and match["space"] and len(match["mark"]) <= _MARK_CHARS else None


def _unboxed(text: str) -> tuple[str, str | None]:
    """Return a text without its leading checkbox, and the character in the box, which is `x` or no letter.

    A box right before a word counts but stays in the text. The brackets of a link don't count.
    """
    box, behind = text[1:2], text[3:4]
    if text[:1] != "[" or text[2:3] != "]" or behind in {"(", "[", ":"} or (box.isalnum() and box not in "xX"):
        return text, None
    return (text, box) if behind and not behind.isspace() else (text[3:].lstrip(), box)


def _cells(inner: str) -> tuple[str, ...]:
    inner = inner[1:-1] if inner.endswith("|") and len(inner) > 1 else inner[1:]
    parts = inner.replace("\\|", "\n").split("|")  # a line has no line break in it
    return tuple(part.replace("\n", "\\|").strip() for part in parts)


def columns(space: str) -> int:
    """Return how many columns white space takes; tab stops are every four columns."""
    return len(space.expandtabs(4))


class Field(NamedTuple):
    """A label's words in lower case with single spaces, and its value without surrounding marks."""

    words: str
    value: str


def field(raw: str) -> Field | None:
    """Return a line's label, in lower case (I001-1), and value, or None for any other line.

    The label begins the line, so that prose has none (I001-2). It may be preceded by marks of quotes, lists, headings
    and emphasis, by a sign such as 📍, and in a heading by a number.
    """
    at = _colon(raw)
    if at < 0 or not (head := _HEAD.fullmatch(raw[:at])):
        return None
    marks = len(raw[at + 1 : at + 4]) - len(raw[at + 1 : at + 4].lstrip("*_`"))
    return Field(" ".join(head["words"].lower().split()), plain(raw[at + 1 + marks :]))


def name(text: str) -> str:
    """Return text as names are compared: in lower case, with single spaces, without marks at either end."""
    start, end = 0, len(text)
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        end -= 1
    return " ".join(text[start:end].lower().split())


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.lower())


def _colon(raw: str) -> int:
    """Return the position of a label's colon, or -1. A colon in parentheses belongs to the label's words."""
    at = 0
    while found := [place for sign in ":：" if (place := raw.find(sign, at, _HEAD_CHARS)) >= 0]:
        at = min(found)
        is_inside = raw.rfind("(", 0, at) > raw.rfind(")", 0, at)
        closed = raw.find(")", at, _HEAD_CHARS) if is_inside else -1
        if closed < 0:
            behind = raw[at + 1 : at + 2]
            return at if raw[at] == "：" or behind in ("", "*", "_", "`") or behind.isspace() else -1
        at = closed
    return -1


def parts(raw: str) -> list[str]:
    """Return the parts of a line such as `Label: value | Label: value`; any other line as one part.

    Bold labels may also be separated by a comma, a dash or just spaces.
    """
    if raw.count(":") + raw.count("：") < 2 or raw.lstrip().startswith("|"):
        return [raw]
    bare = raw.strip()
    whole = bare[1:-1] if bare[:1] in ("_", "*") and bare[1:2] not in ("_", "*", " ") else bare
    begun = _BEGUN.match(whole)
    if not begun:
        return [raw]
    first, *others = _PART.split(whole[begun.end() :])
    found = [begun[0] + first, *filter(None, others)]
    return found if len(found) > 1 else [raw]
