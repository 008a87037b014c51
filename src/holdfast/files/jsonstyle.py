"""The layout of a JSON text, so that additions look like the rest."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.files.jsontext import Entry, Node

_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Style:
    """A layout: several lines or one, the line end, one step of indentation, the text of colons and after commas."""

    multiline: bool = True
    newline: str = "\n"
    unit: str = "  "
    colon: str = ": "
    gap: str = " "

    def render(self, value: object, key: str | None, outer: str | None) -> str:
        """Return `value`, after its `key` if it has one, as JSON text.

        With `outer` it takes several lines, all but the first indented by that text; with None it takes one.
        """
        if outer is None:
            body = json.dumps(value, separators=("," + self.gap, self.colon))
        else:
            body = json.dumps(value, indent=self.unit, separators=(",", self.colon))
            body = body.replace("\n", self.newline + outer)
        return body if key is None else json.dumps(key) + self.colon + body


def style_of(text: str, root: Node) -> Style:
    """Return the style of a parsed JSON text; an empty container has the default: two spaces, one entry per line."""
    line_end = text.find("\n")  # searches instead of slices: a state can have a hundred kilobytes
    newline = "\r\n" if text.endswith("\r", 0, max(line_end, 0)) else "\n"
    if not root.entries:
        return Style(newline=newline)
    colon = next(_colons(text, root), ": ")
    gaps = (gap for gap in _gaps(text, root) if "\n" not in gap)
    return Style(
        multiline=text.find("\n", root.start, root.end) >= 0,
        newline=newline,
        unit=next(_units(text, root), "  "),
        colon=colon,
        gap=next(gaps, " " if colon.endswith(" ") else ""),
    )


def blank_before(text: str, entry: Entry) -> str:
    """Return the white space between an entry and the comma or bracket before it."""
    start = entry.start
    while text[start - 1] in " \t\r\n":
        start -= 1
    return text[start : entry.start]


def indent_at(text: str, at: int) -> str:
    """Return the indentation of the line that holds offset `at`."""
    line = max(text.rfind("\n", 0, at) + 1, 1 if text.startswith("\ufeff") else 0)
    found = _INDENT.match(text, line, at)
    return found.group() if found else ""


def _containers(root: Node) -> Iterator[Node]:
    """Yield every container that has entries, outer ones first."""
    if root.entries:
        yield root
    for entry in root.entries:
        yield from _containers(entry.value)


def _colons(text: str, root: Node) -> Iterator[str]:
    for node in _containers(root):
        for entry in node.entries:
            between = text[entry.key_end : entry.value.start]
            if entry.key is not None and "\n" not in between:
                yield between


def _gaps(text: str, root: Node) -> Iterator[str]:
    for node in _containers(root):
        for entry in node.entries[1:]:
            yield blank_before(text, entry)


def _units(text: str, root: Node) -> Iterator[str]:
    for node in _containers(root):
        outer = indent_at(text, node.start)
        for entry in node.entries:
            inner = indent_at(text, entry.start)
            if "\n" in blank_before(text, entry) and inner.startswith(outer) and inner != outer:
                yield inner[len(outer) :]
