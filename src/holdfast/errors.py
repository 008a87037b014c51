"""The exceptions Holdfast raises on purpose, and the commands that messages name.

The text of each exception is a complete message for the user.
"""

from __future__ import annotations

from difflib import get_close_matches
from shlex import join
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


class HoldfastError(Exception):
    """Something the user can fix; its text is a sentence that says what is wrong and what to do."""


class EventError(HoldfastError):
    """A payload that can't be read as an event; the message names the event and the field."""


class StateError(HoldfastError):
    """A file or folder that can't be read or written; the message is `<path>: <reason>`."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def command_line(*words: str) -> str:
    """Return a `holdfast` command for a message, its arguments quoted for a shell."""
    return join(["holdfast", *words])


def did_you_mean(name: str, known: Iterable[str], *, else_all: bool = False) -> str:
    """Return the end of a message about an unknown name: the nearest known one, in any case; empty if none is near.

    Args:
        name: the unknown name.
        known: the known ones.
        else_all: whether all known ones are named if none is near.
    """
    folded = {each.casefold(): each for each in known}
    near = get_close_matches(name.casefold(), folded, n=1)
    if near:
        return f"; did you mean {folded[near[0]]}?"
    return f"; there are {', '.join(folded.values())}" if else_all else ""


def because(error: OSError) -> str:
    """Return the operating system's reason in lower case, without the error's number and path."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


class MissingError(StateError):
    """A file that doesn't exist; a class of its own, so that callers can tell absent from broken."""


class BrokenError(StateError):
    """A file that was read completely but can't be parsed. Only such a file is ever set aside.

    A file that can't be read (permissions, a link, no regular file, too large, a failing disk) is not broken.
    """


class LargeError(StateError):
    """A file that is too large to read or write; it stays as it is."""


class ChangedError(StateError):
    """A file that another program saved between reading and writing it; the other program's version stays."""


class SchemaMismatch(StateError):
    """A file in the place of a state file that has another schema; it is never overwritten."""


class TransitionError(HoldfastError):
    """A change to a workflow that was refused; the message says why."""


class ConfigError(HoldfastError):
    """A configuration that can't be used; the message names its file and key."""


class ChoiceError(HoldfastError):
    """A name that fits no workflow, or several. The message lists those that can be named.

    Attributes:
        reason: why one has to be named.
        choices: what you can type for each, and what it is.
        more: how many are not listed.
        wanted: the name that fits none of them, or several; None if there is none.
        paused: whether all are paused, so that a command that moves one is refused until it is claimed.
    """

    def __init__(
        self,
        reason: str,
        choices: Sequence[tuple[str, str]],
        *,
        more: int = 0,
        wanted: str | None = None,
        paused: bool = False,
    ) -> None:
        listed = ", ".join(f"{name} ({label})" for name, label in choices)
        super().__init__(f"{reason}: {listed}" + (f" and {more} more" if more else ""))
        self.reason = reason
        self.choices = tuple(choices)
        self.more = more
        self.wanted = wanted
        self.paused = paused


class LedgerError(HoldfastError):
    """A statement that the ledger couldn't execute: locked too long, disk full, read-only or damaged."""
