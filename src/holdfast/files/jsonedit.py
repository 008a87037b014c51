"""Edit a JSON text in its own style, leaving every other character as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.files import jsontext
from holdfast.files.jsonstyle import blank_before, indent_at, style_of

if TYPE_CHECKING:
    from holdfast.files.jsontext import Node

Steps = tuple[str | int, ...]
"""The path from the root to a value: member names and element numbers."""


class Editor:
    """A JSON text under edit; `text` is its present state.

    Removing what was appended restores the text, except for white space alone inside an empty container.
    """

    def __init__(self, text: str) -> None:
        """Parse a strict JSON text. Raises JSONTextError for any other."""
        self.text = text
        self.root = jsontext.parse(text)

    def node(self, steps: Steps) -> Node | None:
        """Return the node at `steps`, None if the text has none."""
        node: Node | None = self.root
        for step in steps:
            if node is None:
                return None
            index = _index(node, step)
            node = None if index is None else node.entries[index].value
        return node

    def value(self, steps: Steps) -> object:
        """Return the value at `steps` as Python data; None too if the text has none."""
        node = self.node(steps)
        return None if node is None else node.value(self.text)

    def keys(self, steps: Steps) -> list[str]:
        """Return the keys of the object at `steps` in their order; none for anything else."""
        node = self.node(steps)
        return [entry.key for entry in node.entries if entry.key is not None] if node else []

    def append(self, steps: Steps, value: object, key: str | None = None) -> None:
        """Make `value` the last entry of the array or, named `key`, of the object at `steps`. Raises KeyError."""
        container = self._existing(steps)
        style = style_of(self.text, self.root)
        if container.entries:
            last = container.entries[-1]
            blank = blank_before(self.text, last)
            outer = indent_at(self.text, last.start)
            gap = blank if len(container.entries) > 1 else style.gap
            if "\n" in blank:
                gap = style.newline + outer
            several = "\n" in blank or "\n" in self.text[last.start : last.end]
            rendered = style.render(value, key, outer if several else None)
            self._splice(last.end, last.end, "," + gap + rendered)
            return
        outer = indent_at(self.text, container.start)
        body = style.render(value, key, outer + style.unit if style.multiline else None)
        if style.multiline:
            body = style.newline + outer + style.unit + body + style.newline + outer
        self._splice(container.start + 1, container.end - 1, body)

    def remove(self, steps: Steps) -> None:
        """Remove the entry at `steps` with its comma and white space. Raises KeyError."""
        container = self._existing(steps[:-1])
        entries = container.entries
        index = _index(container, steps[-1])
        if index is None:
            raise KeyError(steps)
        if len(entries) == 1:
            self._splice(container.start + 1, container.end - 1, "")
        elif index == len(entries) - 1:
            self._splice(entries[index - 1].end, entries[index].end, "")
        else:
            self._splice(entries[index].start, entries[index + 1].start, "")

    def replace(self, steps: Steps, text: str) -> None:
        """Replace the value at `steps` with the JSON text of another. Raises KeyError."""
        node = self._existing(steps)
        self._splice(node.start, node.end, text)

    def _existing(self, steps: Steps) -> Node:
        node = self.node(steps)
        if node is None:
            raise KeyError(steps)
        return node

    def _splice(self, start: int, end: int, new: str) -> None:
        self.text = self.text[:start] + new + self.text[end:]
        self.root = jsontext.parse(self.text)


def _index(node: Node, step: str | int) -> int | None:
    if isinstance(step, int):
        return step if node.kind == "array" and 0 <= step < len(node.entries) else None
    return next((index for index, entry in enumerate(node.entries) if entry.key == step), None)
