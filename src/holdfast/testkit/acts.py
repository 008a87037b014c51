"""What a story told on a stage shows, step by step as far as its promises are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class NotShown(Exception):
    """Something that was promised did not happen; the message says what."""


class Panel(NamedTuple):
    """A text worth reading: whose it is or which file it is, and what it says."""

    title: str
    text: str


@dataclass(frozen=True)
class Shown:
    """One step of a story that is told on a stage.

    Attributes:
        title: what it shows.
        did: the event and how it was sent, or the command that was run.
        panels: what was said and what stands in the files now; one without text is not worth showing.
        words: what is going on, in plain words.
    """

    title: str
    did: str
    panels: Sequence[Panel] = ()
    words: str = ""


def promise(kept: bool, words: str) -> None:
    """Raise NotShown when something that a story promises did not happen.

    Args:
        kept: whether it did.
        words: what should have.
    """
    if not kept:
        raise NotShown(f"not shown: {words}")
