"""The exceptions Holdfast raises on purpose: each one's text is the whole message a user needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class HoldfastError(Exception):
    """Something the user can fix; `str()` is a sentence that says what and how."""


class EventError(HoldfastError):
    """A payload that cannot be read as an event; the message names the event and the field."""


class StateError(HoldfastError):
    """A file or folder that cannot be read or written as it must be; reads `<path>: <reason>`."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class MissingError(StateError):
    """A file that is not there, so that callers can tell absent from broken."""


class BrokenError(StateError):
    """A file that was read whole and cannot be parsed: only such a file is ever set aside.

    A file that may not be read (permissions, a link, no regular file, too large, a failing disk) is not broken.
    """


class LargeError(StateError):
    """A file that is larger than it may be; it was not read, or not written, and stays as it is."""


class ChangedError(StateError):
    """A file that somebody else saved between our reading it and our writing it: what they saved stands."""


class SchemaMismatch(StateError):
    """A file in our place that does not have our schema: it is never overwritten."""


class TransitionError(HoldfastError):
    """A change of a workflow that was refused, with the reason."""


class ConfigError(HoldfastError):
    """A configuration that cannot be used, with its file and key."""


class LedgerError(HoldfastError):
    """A statement the ledger could not carry out: locked too long, disk full, read-only or damaged."""
