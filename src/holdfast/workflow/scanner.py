"""Scan Markdown with markdown-it-py: the kind of each line, and which lines are only code or comments.

markdown-it-py is imported where a text is parsed: an event that reads no plan and no memory file doesn't load it.
"""

from __future__ import annotations

from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING

from holdfast.workflow import markdown
from holdfast.workflow.markdown import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it import MarkdownIt


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
    return [markdown.line(each, at) for at, each in enumerate(raw) if at not in hidden]


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

    return MarkdownIt("commonmark", {"maxNesting": 50}).disable("inline")
