"""Read Markdown line by line: the kind of each line, its text, its label and value; code and comments don't count.

markdown-it-py is imported where a text is parsed: an event that reads no plan and no memory file doesn't load it.
"""

from __future__ import annotations

import re
from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it import MarkdownIt

Kind = Literal["blank", "text", "heading", "item", "quote", "row", "rule", "break"]

_LONGEST_CHARS = 20_000  # characters of a line that are looked at
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])(?:\s+|$)")
_BOX = re.compile(r"\[(?P<box>[^\w\[\]]|[xX])\](?:\s+|$)")
_EMPHASIS = ("***", "**", "*", "__", "_", "`")
_ENTRY = re.compile(r"(?:(?<=[\s,(\[`*])|^)@[^\s,;`()\[\]]*[\w/*]")
_LABEL = re.compile(r"[\W_]*(?:\d{1,3}[.)]\s+)?[*_`]{0,3}(?P<words>\w[^:]{0,200}?)[*_`]{0,3}\s*:(?=[\s*_`]|$)")
_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"^[\W_]+|(?<![\W_])[\W_]+$")  # at either end of a name


class Line(NamedTuple):
    """A line of Markdown.

    Attributes:
        kind: its kind.
        raw: the line as it is written.
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


def lines(text: str) -> list[Line]:
    """Return the lines of a text, each with its kind, without code and comments.

    A text that is indented as a whole is read as if it weren't.
    """
    raw = (text := dedent(text)).split("\n")
    hidden: set[int] = set()
    for token in _parser().parse(text):
        if token.map and (
            token.type in ("fence", "code_block") or (token.type == "html_block" and "<!--" in token.content[:8])
        ):
            hidden.update(range(*token.map))
    return [line(each, at) for at, each in enumerate(raw) if at not in hidden]


def section(text: str, opens: Callable[[str], bool], *, depth: int) -> tuple[range, list[Line]]:
    """Return which lines are below a heading, up to the next one, and those of them that aren't hidden.

    Args:
        text: the document.
        opens: tells whether a heading, as it is in the text, is the wanted one.
        depth: the deepest level of a heading that ends the section.

    Returns:
        The numbers of the lines, and the lines; nothing without such a heading.
    """
    raw, shown = text.split("\n"), lines(text)
    at = next((at for at, each in enumerate(shown) if each.kind == "heading" and opens(raw[each.number])), None)
    if at is None:
        return range(0), []
    below = shown[at + 1 :]
    end = next((each.number for each in below if each.kind == "heading" and each.depth <= depth), len(raw))
    return range(shown[at].number + 1, end), [each for each in below if each.number < end]


def tables(found: list[Line]) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Yield each table's head and rows, as cells."""
    head: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = []
    before: tuple[str, ...] = ()
    for each in [*found, Line("blank", "")]:
        if head and each.cells:
            rows.append(each.cells)
        elif head:
            yield head, rows
            head = ()
        elif before and each.kind == "rule":
            head, rows = before, []
        before = each.cells


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": 50}).disable("inline")


def line(raw: str, number: int = 0) -> Line:
    """Return a line with its kind, regardless of its context."""
    raw = raw[:_LONGEST_CHARS]
    bare = raw.strip()
    if not bare:
        return Line("blank", raw, number=number)
    if bare[0] == "#" and (level := _level(raw)):
        return Line("heading", raw, " ".join(bare[level:].rstrip(" \t#").split()), level, number=number)
    if bare[0] == "|":
        is_rule = "-" in raw and not raw.strip(" \t|:-")
        return Line("rule" if is_rule else "row", raw, bare, cells=_cells(bare), number=number)
    if bare[0] == ">":
        inner = bare.lstrip("> ")
        return Line("quote", raw, inner, bare[: len(bare) - len(inner)].count(">"), number=number)
    if raw[:3] in ("---", "***", "___") and not raw.strip("-*_ \t"):
        return Line("break", raw, bare, number=number)
    mark = _ITEM.match(bare)
    text = bare[mark.end() :] if mark else bare
    box = _BOX.match(text)
    text = text[box.end() :] if box else text
    depth = len(raw[: len(raw) - len(raw.lstrip())].expandtabs(4)) if mark else 0
    return Line("item" if mark else "text", raw, text, depth, box["box"] if box else None, number=number)


def entries(raw: str) -> list[str]:
    """Return the `@path` entries in a line. A path has a dot or a slash in it, so `@alice` isn't one."""
    return [entry for entry in _ENTRY.findall(raw) if "/" in entry or "." in entry] if "@" in raw else []


def plain(text: str) -> str:
    """Return text without surrounding spaces and emphasis marks; marks inside stay."""
    text = text[:_LONGEST_CHARS].strip()
    while mark := next((each for each in _EMPHASIS if _wraps(each, text)), ""):
        text = text[len(mark) : -len(mark)].strip()
    return text[:-2].rstrip() if text.endswith("**") and text.count("**") % 2 else text


def _wraps(mark: str, text: str) -> bool:
    return len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark)


def _level(raw: str) -> int:
    """Return a heading's level, 0 for any other line."""
    marks = raw[:9].lstrip(" ")
    level = len(marks) - len(marks.lstrip("#"))
    return level if raw[:4].lstrip(" ")[:1] == "#" and level < 7 and marks[level : level + 1] in (" ", "\t") else 0


def _cells(bare: str) -> tuple[str, ...]:
    inner = bare[1:-1] if bare.endswith("|") and len(bare) > 1 else bare[1:]
    return tuple(part.strip() for part in inner.split("|"))


class Field(NamedTuple):
    """A label's words in lower case with single spaces, and its value without surrounding marks."""

    words: str
    value: str


def field(raw: str) -> Field | None:
    """Return a line's label, in lower case (I001-1), and value, or None for any other line.

    The label begins the line, so that prose has none (I001-2). Marks of quotes, lists, headings and emphasis, other
    signs and a number may precede it.
    """
    label = _LABEL.match(raw[:_LONGEST_CHARS])
    if label is None:
        return None
    behind = raw[label.end() :]
    marks = len(behind[:3]) - len(behind[:3].lstrip("*_`"))
    return Field(" ".join(label["words"].lower().split()), plain(behind[marks:]))


def name(text: str) -> str:
    """Return text as names are compared: in lower case, with single spaces, without marks at either end."""
    return " ".join(_MARKS.sub("", text).lower().split())


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.lower())
