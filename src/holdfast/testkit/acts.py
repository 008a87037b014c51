"""The steps of a story told on a stage, and the error that ends it when a promise isn't kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class NotShown(Exception):
    """Something the story promised didn't happen; the message says what."""


class Panel(NamedTuple):
    """A text to show, with a title that names its file or its origin."""

    title: str
    text: str


@dataclass(frozen=True)
class Shown:
    """One step of a story.

    Attributes:
        title: what the step shows.
        did: the event that was sent, or the command that was run.
        panels: what was said, and the present content of files; a panel without text isn't shown.
        words: an explanation.
    """

    title: str
    did: str
    panels: Sequence[Panel] = ()
    words: str = ""


def promise(kept: bool, words: str) -> None:
    """Raise NotShown if something that a story promises didn't happen.

    Args:
        kept: whether it happened.
        words: what should have happened.
    """
    if not kept:
        raise NotShown(f"not shown: {words}")
