"""Write changed data into the text of a JSON file, where unchanged parts keep their exact characters."""

from __future__ import annotations

import json
import sys
from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, Any

from holdfast.files import jsontext
from holdfast.files.jsonstyle import Style, blank_before, indent_at, style_of
from holdfast.files.jsonvalue import DEPTH_LIMIT, measured, same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.files.jsontext import Node

LIMIT_BYTES = 512 * 1024  # bytes; larger files are rewritten in full


def rewritten(
    raw: bytes,
    old: dict[str, Any],
    data: dict[str, Any],
    *,
    escaped: bool,
) -> bytes | None:
    """Return the file `raw` with its content changed to `data`, None if that isn't possible in its own style.

    Entries keep their place, layout and spelling (`1.50`, an object on one line). New entries follow the last one in
    the style of the rest. Only objects and lists that change are looked into. The result is not parsed again
    here, so check that it says what `data` does. It has at most `jsonvalue.DEPTH_LIMIT` levels, if `raw` has.

    Args:
        raw: the file's bytes.
        old: its content.
        data: the new content.
        escaped: whether new non-ASCII letters are escaped.
    """
    if len(raw) > LIMIT_BYTES:
        return None
    try:
        text = raw.decode("utf-8")
        root = jsontext.outline(text)
        writer = _Writer(text, style_of(text, root), escaped)
        new = text[: root.start] + writer.value(root, old, data) + text[root.end :]
    except (ValueError, RecursionError):
        return None
    # Surrogates occur only inside strings, where Python's escape for them is JSON's too.
    return new.encode("utf-8", "backslashreplace")


class _Writer:
    """Writes values in place of those in a text, in its style."""

    def __init__(self, text: str, style: Style, escaped: bool) -> None:
        self.text = text
        self.style = style
        self.escaped = escaped

    def value(self, node: Node, old: Any, new: Any, depth: int = 0) -> str:
        """Return the text of `new` in place of `node`, whose value is `old`, inside of `depth` objects and lists."""
        if same(old, new):
            return self.text[node.start : node.end]
        if isinstance(old, dict) and isinstance(new, dict) and old.keys() & new.keys():
            whole = node if node.entries else jsontext.outline(self.text, node.start)
            return self.members(whole, old, new, depth + 1)
        if old and isinstance(old, list) and isinstance(new, list) and new:
            return self.elements(node, old, new, depth + 1)
        return self.fresh(new, indent_at(self.text, node.start) if self.style.multiline else None, depth)

    def members(self, node: Node, old: dict[str, Any], new: dict[str, Any], depth: int) -> str:
        """Return an object's text in which remaining members keep their place; new ones come last."""
        changed = {key for key, value in old.items() if key not in new or not same(value, new[key])}
        places = [at for at, entry in enumerate(node.entries) if entry.key in changed]
        texts, begin = list[tuple[int, str]](), 0
        for at in [*places, len(node.entries)]:
            if begin < at:  # all between two that change, as they are
                texts.append((begin, self.text[node.entries[begin].start : node.entries[at - 1].end]))
            begin = at + 1
            if at < len(node.entries) and (key := node.entries[at].key) is not None and key in new:
                entry = node.entries[at]
                named = self.text[entry.start : entry.value.start]
                texts.append((at, named + self.value(entry.value, old[key], new[key], depth)))
        return self.container(node, texts, [(key, value) for key, value in new.items() if key not in old], depth)

    def elements(self, node: Node, old: list[Any], new: list[Any], depth: int) -> str:
        """Return an array's text, comparing its elements by position: from its end, those after some that are gone."""
        gone = max(len(old) - len(new), 0)
        unlike = compress(count(), map(ne, reversed(old), reversed(new)))
        kept = next(unlike, len(new)) if gone else 0
        if not same(old[len(old) - kept :], new[len(new) - kept :]):  # 1 is no true
            kept = 0
        first = min(len(new), len(old)) - kept  # of the elements after it, `gone` go, and the rest stay
        rest = first + gone
        # Where elements stay at the end, those after the first of them needn't be found.
        entries = jsontext.outline(self.text, node.start, rest + 1 if kept else sys.maxsize).entries
        texts = list[tuple[int, str]]()
        if first and same(old[:first], new[:first]):
            texts.append((0, self.text[entries[0].start : entries[first - 1].end]))
        else:
            texts += [(at, self.value(entries[at].value, old[at], new[at], depth)) for at in range(first)]
        if kept:
            texts.append((rest, self.text[entries[rest].start : entries[rest].end]))
        whole = node._replace(entries=entries)
        return self.container(whole, texts, [(None, value) for value in new[len(old) :]], depth)

    def container(
        self, node: Node, texts: Sequence[tuple[int, str]], added: Sequence[tuple[str | None, Any]], depth: int
    ) -> str:
        """Return a container's text, given the number of the entry with which each text begins, and the added entries.

        A text can hold several entries. At least one must stay.
        """
        entries = node.entries
        parts = [self.text[node.start : entries[0].start]]
        for index, text in texts:
            between = self.text[entries[index - 1].end : entries[index].start] if len(parts) > 1 else ""
            parts += [between, text]
        gap, outer = self.layout(node) if added else ("", None)
        for key, value in added:
            named = "" if key is None else self.dumps(key) + self.colon(node)
            parts += ["," + gap, named, self.fresh(value, outer, depth)]
        return "".join([*parts, self.text[entries[-1].end : node.end]])

    def layout(self, node: Node) -> tuple[str, str | None]:
        """Return the white space before a new entry of a container, and its indentation; None for one line."""
        last = node.entries[-1]
        blank = blank_before(self.text, last)
        inner = indent_at(self.text, last.start)
        if "\n" in blank:
            return self.style.newline + inner, inner
        several = "\n" in self.text[last.start : last.end]
        return (blank if len(node.entries) > 1 else self.style.gap), (inner if several else None)

    def colon(self, node: Node) -> str:
        """Return the text between key and value in an object, as in its last entry if that is on one line."""
        last = node.entries[-1]
        between = self.text[last.key_end : last.value.start]
        return self.style.colon if "\n" in between else between

    def fresh(self, value: Any, outer: str | None, depth: int) -> str:
        """Return the text of a new value; with `outer`, on several lines indented by that.

        Raises ValueError inside of so many objects and lists that the file couldn't be read again.
        """
        if measured(value)[1] > DEPTH_LIMIT - depth:
            raise ValueError("nested too deeply")
        style = self.style
        if outer is None:
            return self.dumps(value, separators=("," + style.gap, style.colon))
        text = self.dumps(value, indent=style.unit, separators=(",", style.colon))
        return text.replace("\n", style.newline + outer)

    def dumps(self, value: Any, **layout: Any) -> str:
        """Return a value as JSON text. Raises ValueError for what JSON can't hold."""
        return json.dumps(value, ensure_ascii=self.escaped, allow_nan=False, **layout)
