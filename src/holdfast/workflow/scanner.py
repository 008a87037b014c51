"""Scan Markdown with markdown-it-py: the kind of each line, and which lines are only code or comments.

markdown-it-py is imported where a text is parsed: an event that reads no plan and no memory file doesn't load it.
"""

from __future__ import annotations

import re
from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING

from holdfast.workflow import markdown
from holdfast.workflow.markdown import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it import MarkdownIt

HIDDEN = frozenset({"underline", "code", "comment"})
"""The kinds of lines that make no statement of their own."""

_TAG = re.compile(
    r"</?(?:b|strong|i|em|u|kbd|mark|p|div|span|center|font|summary|details|br)\b[^<>\n]{0,200}>", re.IGNORECASE
)
_COMMENT = re.compile(r"<!--.*?-->")


def scan(text: str) -> list[Line]:
    """Return all lines of a text, each with its kind; a text that is indented as a whole is read as if it weren't.

    Hidden are code, comments, and the underlines of headings.
    """
    shown = _TAG.sub("", dedent(text)).split("\n")
    found: dict[int, Line] = {}
    for token in _parser().parse("\n".join(shown)):
        if token.map is None:
            continue
        first, last = token.map
        inside = range(first, min(last, len(shown)))
        if token.type in ("fence", "code_block"):
            found |= {at: Line("code", shown[at], number=at) for at in inside}
        elif token.type == "html_block" and token.content.lstrip().startswith("<!--"):
            found |= {at: Line("comment", shown[at], number=at) for at in inside}
        elif token.markup in ("=", "-") and token.type == "heading_open" and len(inside) == 2:
            if shown[first - 1 : first] != ["---"]:  # the last field of front matter
                level = "#" if token.markup == "=" else "##"
                found[first] = markdown.line(f"{level} {shown[first].strip()}", first)
                found[first + 1] = Line("underline", shown[first + 1], number=first + 1)
        elif token.type == "table_open":  # a row needs no bar in front
            bare = {at: shown[at] for at in inside if not shown[at].lstrip().startswith(("|", ">"))}
            found |= {at: markdown.line(f"| {each}", at) for at, each in bare.items()}
    return [found.get(at) or markdown.line(_COMMENT.sub("", each), at) for at, each in enumerate(shown)]


def lines(text: str) -> list[Line]:
    """Return the lines of a text that aren't hidden."""
    return [each for each in scan(text) if each.kind not in HIDDEN]


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


def tables(lines: list[Line]) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Yield each table's head and rows, as cells."""
    head: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = []
    before: tuple[str, ...] = ()
    for each in [*lines, Line("blank", "")]:
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

    return MarkdownIt("commonmark", {"maxNesting": 50}).enable("table").disable("inline")
