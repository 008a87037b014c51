"""Ids of tasks in the `wfs` format: `IMPL-N`, and `IMPL-N.M` for a task's subtasks (R002-15)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_ID = re.compile(r"IMPL-([0-9]{1,9})(?:\.([0-9]{1,9}))?")
# Not \w around it: words of a language without spaces may come right before or after it.
_MENTIONED = re.compile(r"(?<![A-Za-z0-9_.-])IMPL-[0-9]{1,9}(?:\.[0-9]{1,9})?(?![A-Za-z0-9_-]|\.[0-9])")
_WHOLE = -1  # the number for no subtask; it sorts a task before its subtasks


class Key(NamedTuple):
    """The numbers of an id, without leading zeros: IMPL-1 and IMPL-001 are the same task (I002-2).

    Keys sort by number.
    """

    main: int
    sub: int = _WHOLE

    @property
    def parent(self) -> Key | None:
        """The parent task's key, None for a top-level task."""
        return None if self.sub == _WHOLE else Key(self.main)


def key(text: str) -> Key | None:
    """Return an id's key, None if the text is no id."""
    match = _ID.fullmatch(text)
    return Key(int(match[1]), int(match[2]) if match[2] else _WHOLE) if match else None


def parent(text: str) -> str:
    """Return the parent in a subtask's id, as written there; empty for other texts."""
    match = _ID.fullmatch(text)
    return f"IMPL-{match[1]}" if match and match[2] else ""


def first_mentioned(text: str) -> str:
    """Return the first id in a text, as written there; empty for none."""
    match = _MENTIONED.search(text)
    return match[0] if match else ""


def following(known: Iterable[str], parent: str = "") -> str:
    """Return the id of a new task: the number after the largest, with as many digits if that has leading zeros.

    Args:
        known: the existing ids.
        parent: the id of the new task's parent; empty for none.
    """
    top = key(parent) if parent else None
    numbers = []
    for each in known:
        match = _ID.fullmatch(each)
        if match and bool(match[2]) == bool(top) and (top is None or int(match[1]) == top.main):
            numbers.append(match[2] if top else match[1])
    largest = max(numbers, key=int, default="0")
    width = len(largest) if numbers and largest.startswith("0") else 0
    number = f"{int(largest) + 1:0{width}d}"
    return f"{parent}.{number}" if parent else f"IMPL-{number}"
