"""Edit the text of a settings file in its own style, leaving every other character as it is.

Settings belong to the user, so they are never rewritten whole. State files are: see `document`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.files import document

Kind = Literal["object", "array", "string", "number", "literal"]
Steps = tuple[str | int, ...]
"""The path from the root to a value: member names and element numbers."""

_BLANK = re.compile(r"[ \t\n\r]*")
_INDENT = re.compile(r"[ \t]*")
_DECODER = json.JSONDecoder()
_CLOSERS = {"{": "}", "[": "]"}


class Entry(NamedTuple):
    """One element of an array or one member of an object; `start` is the key's opening quote for a member."""

    start: int
    key: str | None
    key_end: int
    value: Node

    @property
    def end(self) -> int:
        """Return the offset just after the entry's value."""
        return self.value.end


class Node(NamedTuple):
    """One JSON value as the half-open span `start`..`end` of the text; `entries` is empty for a scalar."""

    kind: Kind
    start: int
    end: int
    entries: tuple[Entry, ...] = ()

    def position(self, step: str | int) -> int | None:
        """Return the number of an array's element or an object's member, None if there is none."""
        if isinstance(step, int):
            return step if self.kind == "array" and 0 <= step < len(self.entries) else None
        return next((index for index, entry in enumerate(self.entries) if entry.key == step), None)


def parse(text: str) -> Node:
    """Return the root of a strict JSON `text`, which may begin with a byte order mark.

    Raises HoldfastError as `document.value` raises ValueError.
    """
    start = 1 if text.startswith("\ufeff") else 0
    try:
        document.value(text[start:])
    except ValueError as error:
        raise HoldfastError(str(error)) from error
    return _value(text, _skip(text, start))


def _value(text: str, at: int) -> Node:
    """Return the value at an offset of a text that is known to be JSON."""
    if text[at] in _CLOSERS:
        return _container(text, at)
    scalar, end = _DECODER.raw_decode(text, at)
    number = isinstance(scalar, int | float) and not isinstance(scalar, bool)
    return Node("string" if isinstance(scalar, str) else "number" if number else "literal", at, end)


def _container(text: str, start: int) -> Node:
    kind: Kind = "object" if text[start] == "{" else "array"
    entries, at = list[Entry](), _skip(text, start + 1)
    while text[at] != _CLOSERS[text[start]]:
        at = _skip(text, at + 1) if entries else at
        key, end = _DECODER.raw_decode(text, at) if kind == "object" else (None, at)
        value = _value(text, _skip(text, _skip(text, end) + 1) if kind == "object" else at)
        entries.append(Entry(at, key, end, value))
        at = _skip(text, value.end)
    return Node(kind, start, at + 1, tuple(entries))


def _skip(text: str, at: int) -> int:
    """Return the offset of the first character at or after `at` that isn't white space."""
    match = _BLANK.match(text, at)
    return match.end() if match else at


class _Style(NamedTuple):
    """A layout: several lines or one, the line end, one step of indentation, the text of colons and after commas."""

    multiline: bool
    newline: str
    unit: str
    colon: str
    gap: str

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


def _style(text: str, root: Node) -> _Style:
    """Return the style of a text: that of the root's first two entries, else two spaces, one entry per line."""
    first, second = (*root.entries[:2], None, None)[:2]
    gap = _blank_before(text, second) if second else "\n"
    colon = text[first.key_end : first.value.start] if first and first.key is not None else ": "
    indent = _indent_at(text, first.start) if first else ""
    return _Style(
        multiline=not root.entries or "\n" in text[root.start : root.end],
        newline="\r\n" if text.partition("\n")[0].endswith("\r") else "\n",
        unit=indent.removeprefix(_indent_at(text, root.start)) or "  ",
        colon=": " if "\n" in colon else colon,
        gap=gap if "\n" not in gap else " " if colon.endswith(" ") else "",
    )


def _blank_before(text: str, entry: Entry) -> str:
    """Return the white space between an entry and the comma or bracket before it."""
    before = text[: entry.start]
    return before[len(before.rstrip(" \t\r\n")) :]


def _indent_at(text: str, at: int) -> str:
    """Return the indentation of the line that holds offset `at`."""
    line = max(text.rfind("\n", 0, at) + 1, 1 if text.startswith("\ufeff") else 0)
    match = _INDENT.match(text, line, at)
    return match[0] if match else ""


class Editor:
    """A JSON text under edit; `text` is its present state.

    Removing what was appended restores the text, except for white space alone inside an empty container.
    """

    def __init__(self, text: str) -> None:
        """Parse a strict JSON text. Raises HoldfastError for any other."""
        self.text = text
        self.root = parse(text)

    def node(self, steps: Steps) -> Node | None:
        """Return the node at `steps`, None if the text has none."""
        node = self.root
        for step in steps:
            index = node.position(step)
            if index is None:
                return None
            node = node.entries[index].value
        return node

    def value(self, steps: Steps) -> Any:
        """Return the value at `steps` as Python data; None too if the text has none."""
        node = self.node(steps)
        return None if node is None else json.loads(self.text[node.start : node.end])

    def keys(self, steps: Steps) -> list[str]:
        """Return the keys of the object at `steps` in their order; none for anything else."""
        node = self.node(steps)
        return [entry.key for entry in node.entries if entry.key is not None] if node else []

    def append(self, steps: Steps, value: object, key: str | None = None) -> None:
        """Make `value` the last entry of the array or, named `key`, of the object at `steps`, which there is."""
        container = self._existing(steps)
        style = _style(self.text, self.root)
        if container.entries:
            last = container.entries[-1]
            blank = _blank_before(self.text, last)
            outer = _indent_at(self.text, last.start)
            gap = blank if len(container.entries) > 1 else style.gap
            if "\n" in blank:
                gap = style.newline + outer
            several = "\n" in blank or "\n" in self.text[last.start : last.end]
            rendered = style.render(value, key, outer if several else None)
            self._splice(last.end, last.end, "," + gap + rendered)
            return
        outer = _indent_at(self.text, container.start)
        body = style.render(value, key, outer + style.unit if style.multiline else None)
        if style.multiline:
            body = style.newline + outer + style.unit + body + style.newline + outer
        self._splice(container.start + 1, container.end - 1, body)

    def remove(self, steps: Steps) -> None:
        """Remove the entry at `steps` with its comma and white space."""
        container = self._existing(steps[:-1])
        entries, index = container.entries, container.position(steps[-1])
        assert index is not None, steps
        if len(entries) == 1:
            self._splice(container.start + 1, container.end - 1, "")
        elif index == len(entries) - 1:
            self._splice(entries[index - 1].end, entries[index].end, "")
        else:
            self._splice(entries[index].start, entries[index + 1].start, "")

    def replace(self, steps: Steps, text: str) -> None:
        """Replace the value at `steps` with the JSON text of another."""
        node = self._existing(steps)
        self._splice(node.start, node.end, text)

    def _existing(self, steps: Steps) -> Node:
        node = self.node(steps)
        assert node is not None, steps
        return node

    def _splice(self, start: int, end: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[end:]
        self.root = parse(self.text)
