"""Scan Markdown line by line: the kind of each line, and which lines are only code, comments or examples."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from holdfast.patterns import regex
from holdfast.workflow import markdown
from holdfast.workflow.markdown import Line, is_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from holdfast.workflow.markdown import Kind

HIDDEN = frozenset({"underline", "fence", "code", "comment", "example"})
"""The kinds of lines that make no statement of their own."""

_NESTED = 64  # fence lines to look ahead for the end of a fence that contains fences
_TAG = regex(r"</?(?:b|strong|i|em|u|kbd|mark|p|div|span|center|font|summary|details|br)\b[^<>]{0,200}>", re.IGNORECASE)
_METADATA = regex(r"<!--[ \t]*([\w -]{1,40}:[ \t]*[^\n|>]{1,200}?)[ \t]*-->")
_EXAMPLE = regex(
    r"\b(?:e\.g\.|examples?|for instance|samples?|looks? like|such as|templates?|format|snippet|syntax)", re.IGNORECASE
)
_INDENTED = regex(r"^[^\S\n]*\n[ \t][^\S\n]*\S", re.MULTILINE)  # text below an empty line
_BOXED = ("!!! ", "!!!\t", "??? ", "???\t", "???+ ", "???+\t", "=== ", "===\t")  # MkDocs indents text below these


def scan(text: str) -> list[Line]:
    """Return all lines of a text, each with its kind.

    Hidden are code, comments, the underlines of headings, and indented or quoted blocks right below a line that
    announces an example.
    """
    raw = text.split("\n")
    hidden: dict[int, Line] = {}
    shown = _shown(_outside(raw, hidden) if _is_hiding(text) else enumerate(raw), text, hidden)
    return [shown.get(number) or hidden[number] for number in range(len(raw))]


def section(text: str, opens: Callable[[str], bool], *, depth: int) -> tuple[range, list[Line]]:
    """Return which lines are below a heading, up to the next one, and those of them that aren't hidden.

    Of the other lines, no more is looked at than whether they are headings outside code and comments: whoever wants
    one section of a document with hundreds doesn't wait for the others.

    Args:
        text: the document.
        opens: tells whether a heading, as it is in the text, is the wanted one.
        depth: the deepest level of a heading that ends the section.

    Returns:
        The numbers of the lines, and the lines; nothing without such a heading.
    """
    raw = text.split("\n")
    hidden: dict[int, Line] = {}
    outside = list(_outside(raw, hidden) if _is_hiding(text) else enumerate(raw))
    headings = ((at, number, each) for at, (number, each) in enumerate(outside) if "#" in each[:4])
    found = (at for at, number, each in headings if opens(raw[number]) and markdown.line(each).kind == "heading")
    first = next(found, None)
    if first is None:
        return range(0), []
    # One with a bar may be a row of a table, and an underlined text is a heading too: that is seen below.
    plain = ((at, markdown.line(each)) for at, _, each in headings if "|" not in each)
    last = next((at for at, line in plain if line.kind == "heading" and line.depth <= depth), len(outside))
    kept = outside[first:last]
    shown = [each for _, each in sorted(_shown(kept, text, hidden).items())][1:]
    end = outside[last][0] if last < len(outside) else len(raw)
    end = next((each.number for each in shown if each.kind == "heading" and each.depth <= depth), end)
    numbers = range(outside[first][0] + 1, end)
    return numbers, [each for each in shown if each.number in numbers and each.kind not in HIDDEN]


def _is_hiding(text: str) -> bool:
    """Return whether a text may have fenced code or comments."""
    return "```" in text or "~~~" in text or "<!--" in text


def _shown(kept: Iterable[tuple[int, str]], text: str, hidden: dict[int, Line]) -> dict[int, Line]:
    """Return the lines that are left when those are `hidden` that need their neighbours to be seen as such.

    Args:
        kept: the lines outside fenced code and comments, with their numbers.
        text: the whole text.
        hidden: gets the lines that are hidden.
    """
    kept = list(_said(kept, hidden))
    if _INDENTED.search(text):
        kept = list(_uncoded(kept, hidden))
    if "|" in text and "-" in text:
        kept = list(_barred(kept))
    if "\n==" in text or "\n----" in text:
        kept = list(_headed(kept, hidden))
    return {number: markdown.line(_untagged(each), number) for number, each in kept}


def lines(text: str) -> list[Line]:
    """Return the lines of a text that aren't hidden."""
    return [each for each in scan(text) if each.kind not in HIDDEN]


def _untagged(raw: str) -> str:
    return _TAG.sub("", raw[: markdown.LONGEST_CHARS]) if "<" in raw else raw


def metadata(text: str) -> list[str]:
    """Return the comments with one label and value, such as `<!-- status: done -->`, without their marks."""
    return _METADATA.findall(text) if "<!--" in text else []


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


def _outside(raw: list[str], hidden: dict[int, Line]) -> Iterator[tuple[int, str]]:
    """Yield the lines outside fenced code and comments."""
    at, closing = 0, True  # `closing`: whether a comment may still end further down
    while at < len(raw):
        number, each, at = at, raw[at], at + 1
        if fence := _fence(each):
            at, closed = _after_fence(raw, at, fence)
            for inner in range(number, at):
                kind: Kind = "fence" if inner == number or (closed and inner == at - 1) else "code"
                hidden[inner] = Line(kind, raw[inner], number=inner, fenced=True)
            continue
        if "<!--" in each and "`" not in each:
            each = _uncommented(each[: markdown.LONGEST_CHARS])
            before, opened, _ = each.partition("<!--")
            if opened and closing:
                end = next((below for below in range(at, len(raw)) if "-->" in raw[below]), None)
                closing = end is not None
                if end is not None:
                    each = before + raw[end].partition("-->")[2]
                    hidden.update((inner, Line("comment", raw[inner], number=inner)) for inner in range(at, end + 1))
                    at = end + 1
        yield number, each


def _uncommented(raw: str) -> str:
    while (start := raw.find("<!--")) >= 0 and (end := raw.find("-->", start)) >= 0:
        raw = raw[:start] + raw[end + 3 :]
    return raw


def _fence(raw: str) -> tuple[str, str] | None:
    """Return the marks of a line that begins or ends fenced code, and the text after them; None for other lines."""
    if "```" not in raw and "~~~" not in raw:
        return None
    bare = raw[: markdown.LONGEST_CHARS].lstrip(" \t>")
    bare = bare[mark.end() :] if (mark := markdown.item(bare)) else bare
    behind = bare.lstrip(bare[:1])
    marks = bare[: len(bare) - len(behind)]
    if len(marks) < 3 or marks[0] not in "`~" or (marks[0] == "`" and "`" in behind):
        return None
    return marks, behind.strip()


def _after_fence(raw: list[str], at: int, opened: tuple[str, str]) -> tuple[int, bool]:
    """Return the index after the fenced code that begins before `at`, and whether a fence ends it.

    People put fences of the same length into each other. If the fences pair up, they are read so, else as in Markdown.
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
                return number + 1, True
        if seen >= _NESTED and first is not None:
            break
    return (len(raw), False) if first is None else (first + 1, True)


def _said(raw: Iterable[tuple[int, str]], hidden: dict[int, Line]) -> Iterator[tuple[int, str]]:
    """Yield the lines without the indented or quoted blocks right below an announcement of an example."""
    announced = False
    for number, each in raw:
        if not each.strip():
            yield number, each
        elif announced and (each.startswith(("    ", "\t")) or (each[:4].lstrip(" ")[:1] == ">")):
            hidden[number] = Line("example", each, number=number)
        else:
            announced = _announces(each)
            yield number, each


def _announces(raw: str) -> bool:
    """Return whether a line announces an example."""
    if ":" not in raw[-8:]:
        return False
    end = raw[-200:].rstrip("*_ \t")
    return end.endswith(":") and _EXAMPLE.search(end) is not None


def _uncoded(kept: list[tuple[int, str]], hidden: dict[int, Line]) -> Iterator[tuple[int, str]]:
    """Yield the lines without indented code: four columns or more after an empty line, counted from a list's text.

    If the whole text is indented, nothing is code (I001-2). Text below a list item, a footnote or a box of some
    Markdown dialects counts from there.
    """
    if all(each[:1] in (" ", "\t") for _, each in kept if each.strip()):
        yield from kept
        return
    insides: list[int] = []  # columns at which the texts of the open items begin
    empty, code = True, False
    for number, each in kept:
        bare = each.lstrip(" \t")
        if not bare:
            empty = True
            yield number, each
            continue
        indent = markdown.columns(each[: len(each) - len(bare)])
        inside = _inside(bare, indent)
        while insides and indent < insides[-1] and (empty or inside or bare[0] == "#"):
            insides.pop()
        base = insides[-1] if insides else 0
        code = (empty or code) and indent >= base + 4 and not (insides and inside)
        empty = False
        if code:
            hidden[number] = Line("code", each, number=number)
            continue
        insides += [inside] if inside else []
        yield number, each


def _inside(bare: str, indent: int) -> int:
    """Return the column at which the text of a list item, a footnote or the like begins, 0 for any other line."""
    if match := markdown.MARK.match(bare):
        behind = indent + len(match["mark"])
        text = markdown.columns(" " * behind + match["space"])
        return text if 0 < text - behind < 5 else behind + 1
    footnote = bare[:2] == "[^" and 2 < bare.find("]:", 0, 44) == bare.find("]")
    return indent + 4 if footnote or bare.startswith(_BOXED) else 0


def _barred(raw: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines, with a bar added before rows of tables that have none."""
    inside = False
    for (number, each), (_, under) in zip_longest(raw, raw[1:], fillvalue=(0, "")):
        inside = "|" in each and (inside or is_rule(under))
        bare = inside and not each.lstrip().startswith(("|", ">"))
        yield number, f"| {each}" if bare else each


def _headed(raw: list[tuple[int, str]], hidden: dict[int, Line]) -> Iterator[tuple[int, str]]:
    """Yield the lines, with underlined headings as `#` headings. Three hyphens are a rule, or end front matter."""
    above = ""
    for at, (number, each) in enumerate(raw):
        if number in hidden:
            continue
        below, under = raw[at + 1] if at + 1 < len(raw) else (number, "")
        under = under.rstrip(" \t")
        marks = (
            under[:1] if under == under[:1] * len(under) and len(under) >= {"=": 2, "-": 4}.get(under[:1], 1) else ""
        )
        if marks in ("=", "-") and each[:1].isalnum() and not above.strip():
            hidden[below] = Line("underline", raw[at + 1][1], number=below)
            yield number, f"{'#' if marks == '=' else '##'} {each}"
        else:
            yield number, each
        above = each
