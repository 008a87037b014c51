"""Ids of tasks in the `wfs` format: `IMPL-N`, and `IMPL-N.M` for a task's subtasks (R002-15)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from holdfast.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

_ID = regex(r"IMPL-([0-9]{1,9})(?:\.([0-9]{1,9}))?")
# No \\w around it: a language without blanks may stand right beside it.
_MENTIONED = regex(r"(?<![A-Za-z0-9_.-])IMPL-[0-9]{1,9}(?:\.[0-9]{1,9})?(?![A-Za-z0-9_-]|\.[0-9])")
_WHOLE = -1  # stands for no subtask, so that a task comes before its own


class Key(NamedTuple):
    """What an id means, whatever zeros it is written with: IMPL-1 and IMPL-001 are one task's (I002-2).

    Keys sort in the order of their numbers.
    """

    main: int
    sub: int = _WHOLE

    @property
    def is_sub(self) -> bool:
        """Whether it is a subtask's."""
        return self.sub != _WHOLE

    @property
    def parent(self) -> Key | None:
        """The task it is a subtask of, None for one that is none."""
        return Key(self.main) if self.is_sub else None


@lru_cache(maxsize=4_096)  # an event asks for those of the same tasks over and over
def key(text: str) -> Key | None:
    """Return what an id means, or None where the text is none."""
    match = _ID.fullmatch(text)
    return Key(int(match[1]), int(match[2]) if match[2] else _WHOLE) if match else None


def parent(text: str) -> str:
    """Return the id of the task that a subtask's id names as its parent, written as there; empty where it is none."""
    match = _ID.fullmatch(text)
    return f"IMPL-{match[1]}" if match and match[2] else ""


def mentioned(text: str) -> list[str]:
    """Return the ids that a text names, in their order, each once and as it is written there first."""
    found: dict[Key | None, str] = {}
    for match in _MENTIONED.finditer(text):
        found.setdefault(key(match[0]), match[0])
    return list(found.values())


def following(known: Iterable[str], parent: str = "") -> str:
    """Return the id of a new task: the number after the largest, written with as many digits as those before it.

    Args:
        known: the ids there are.
        parent: the id of the task that the new one is to be a subtask of; empty for none.
    """
    top = key(parent) if parent else None
    numbers = []
    for each in known:
        found = _ID.fullmatch(each)
        if not found or bool(found[2]) != bool(top) or (top and int(found[1]) != top.main):
            continue
        numbers.append(found[2] if top else found[1])
    largest = max(numbers, key=int, default="0")
    width = len(largest) if numbers and largest.startswith("0") else 0
    number = f"{int(largest) + 1:0{width}d}"
    return f"{parent}.{number}" if parent else f"IMPL-{number}"
