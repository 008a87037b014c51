"""Parse strict JSON into spans of the text instead of values."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Literal, NamedTuple

from holdfast.errors import HoldfastError

Kind = Literal["object", "array", "string", "number", "literal"]

DEEPEST = 100
"""The deepest nesting that is accepted: no settings file needs more, and recursion has a limit."""

_BLANK = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_SCALARS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("string", _STRING),
    ("number", re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])")),
    ("literal", re.compile(r"(?:true|false|null)(?!\w)")),
)
_CLOSER = {"{": "}", "[": "]"}
_BLANKS = (" ", "\t", "\n", "\r")


class JSONTextError(HoldfastError):
    """A text that is not strict JSON; `line` and `column` count characters from 1."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.line = line
        self.column = column
        self.message = message


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

    def get(self, key: str) -> Node | None:
        """Return the value of an object's member, None if there is none (or this is no object)."""
        return next((entry.value for entry in self.entries if entry.key == key), None)

    def value(self, text: str) -> Any:
        """Return this node of `text` as Python data."""
        return json.loads(text[self.start : self.end])


def parse(text: str) -> Node:
    """Return the root of a strict JSON `text`, which may begin with a byte order mark.

    Raises JSONTextError for anything else: comments, trailing commas, `NaN`, a key twice in one object.
    """
    return _Parser(text).document()


def outline(text: str, at: int | None = None, most: int = sys.maxsize) -> Node:
    """Return the value at an offset of a JSON text with its entries, but not with theirs; by default the text's root.

    The values are skipped in C. Only `parse` refuses everything that isn't strict JSON.

    Args:
        text: the text.
        at: the offset.
        most: how many entries are wanted. If there are more, the node ends with the last of these.

    Raises:
        ValueError: the text isn't JSON.
    """
    blank, value = _Parser(text).skip, json.JSONDecoder().raw_decode
    start = blank(1 if text.startswith("\ufeff") else 0) if at is None else at
    opener = text[start : start + 1]
    if opener not in _CLOSER:
        return Node("literal", start, value(text, start)[1])
    closer, entries, gap, colon = _CLOSER[opener], list[Entry](), "", ""
    here = blank(start + 1)
    while entries or text[here : here + 1] != closer:
        key, key_end, first = None, here, here
        if opener == "{":
            key, key_end = value(text, here)
            first = key_end + len(colon)
            if not colon or text[key_end:first] != colon or text[first : first + 1] in _BLANKS:
                first = blank(blank(key_end) + 1)
                colon = text[key_end:first]
        end = value(text, first)[1]
        entries.append(Entry(here, key, key_end, Node("literal", first, end)))
        if len(entries) == most:
            here = end - 1
            break
        if gap and text.startswith(gap, end):  # as between the two before: of a state's thousand entries, nearly all
            here = end + len(gap) - 1
            continue
        here = blank(end)
        if text[here : here + 1] != ",":
            break
        here = blank(here + 1)
        gap = text[end : here + 1]  # with the entry's first character, so that it begins there
    return Node("object" if opener == "{" else "array", start, here + 1, tuple(entries))


class _Parser:
    """One left-to-right pass over a text. Every method takes an offset and returns what it finds there."""

    def __init__(self, text: str) -> None:
        self.text = text

    def document(self) -> Node:
        start = self.skip(1 if self.text.startswith("\ufeff") else 0)
        root = self.value(start, 0)
        end = self.skip(root.end)
        if end != len(self.text):
            raise self.wrong(end, "the document is complete before this")
        return root

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.wrong(at, f"nested deeper than {DEEPEST} levels")
        opener = self.text[at : at + 1]
        if opener == "{" or opener == "[":
            return self.container(at, opener, depth)
        for kind, pattern in _SCALARS:
            if found := pattern.match(self.text, at):
                return Node(kind, at, found.end())
        raise self.wrong(at, "a string that is not valid JSON" if opener == '"' else "no JSON value")

    def container(self, start: int, opener: str, depth: int) -> Node:
        closer = _CLOSER[opener]
        entries: list[Entry] = []
        keys: set[str] = set()
        at = self.skip(start + 1)
        while self.text[at : at + 1] != closer:
            if entries:
                at = self.after_comma(at, closer)
            entry = self.member(at, depth, keys) if opener == "{" else self.element(at, depth)
            entries.append(entry)
            at = self.skip(entry.end)
        return Node("object" if opener == "{" else "array", start, at + 1, tuple(entries))

    def after_comma(self, at: int, closer: str) -> int:
        if self.text[at : at + 1] != ",":
            raise self.wrong(at, f"a comma or {closer!r} is missing")
        after = self.skip(at + 1)
        if self.text[after : after + 1] == closer:
            raise self.wrong(at, "a trailing comma, which JSON does not allow")
        return after

    def element(self, at: int, depth: int) -> Entry:
        return Entry(at, None, at, self.value(at, depth + 1))

    def member(self, at: int, depth: int, keys: set[str]) -> Entry:
        found = _STRING.match(self.text, at)
        if not found:
            raise self.wrong(at, "a key in double quotes is missing")
        key = json.loads(found.group())
        if key in keys:
            raise self.wrong(at, f"the key {json.dumps(key)} is there twice; keep one of the two")
        keys.add(key)
        colon = self.skip(found.end())
        if self.text[colon : colon + 1] != ":":
            raise self.wrong(colon, f"the colon after {json.dumps(key)} is missing")
        return Entry(at, key, found.end(), self.value(self.skip(colon + 1), depth + 1))

    def skip(self, at: int) -> int:
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def wrong(self, at: int, message: str) -> JSONTextError:
        if self.text.startswith(("//", "/*", "#"), at):
            message = "a comment, which JSON does not allow"
        elif at >= len(self.text):
            message = f"the text ends here: {message}"
        before = self.text[:at].removeprefix("\ufeff")
        line_start = before.rfind("\n") + 1
        return JSONTextError(before.count("\n") + 1, len(before) - line_start + 1, message)
