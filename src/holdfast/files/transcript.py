"""The protocol for reading the transcripts that a client writes of its sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from re import Pattern

Reached = Literal["confirmed", "absent", "unknown"]


class Transcripts(Protocol):
    """Reads one client's transcripts, which are never trusted. A module in the client's folder implements it."""

    TAIL: int
    """The number of bytes read at the end of a transcript."""
    BOUNDARY: bytes
    """Bytes that are in every entry about a compaction."""

    def size(self, path: str, /) -> int:
        """Return a transcript's size in bytes; 0 if there is none."""

    def tail(self, path: str, /, *, most: int = ..., only: Pattern[bytes] | None = None) -> list[dict[str, Any]]:
        """Return the entries of a transcript's last `most` bytes, oldest first; only from lines that match `only`."""

    def divided(
        self, path: str, at: int, /, *, since: int = 0, only: Pattern[bytes] | None = None
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
        """Return the entries at a transcript's end before byte `at`, those from there on, and the byte after them."""

    def head(self, path: str, /) -> list[dict[str, Any]]:
        """Return the first entries of a transcript."""

    def reached(self, path: str, mark: str, since: int, /) -> Reached:
        """Return whether a text with this mark has reached the model, according to the entries from byte `since` on."""

    def compacted(self, path: str, since: int, /) -> bool:
        """Return whether there is a complete compaction from byte `since` on."""

    def shares(self, path: str, other: str, /) -> bool:
        """Return whether two transcripts share entries, because one session continues the other."""


class Unread:
    """Reads nothing: the transcripts of a project that was opened without its client."""

    TAIL, BOUNDARY = 0, b""

    def size(self, path: str) -> int:
        """Return 0."""
        return 0

    def tail(self, path: str, *, most: int = 0, only: Pattern[bytes] | None = None) -> list[dict[str, Any]]:
        """Return no entries."""
        return []

    def divided(
        self, path: str, at: int, *, since: int = 0, only: Pattern[bytes] | None = None
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
        """Return no entries."""
        return [], [], 0

    def head(self, path: str) -> list[dict[str, Any]]:
        """Return no entries."""
        return []

    def reached(self, path: str, mark: str, since: int) -> Reached:
        """Return "unknown"."""
        return "unknown"

    def compacted(self, path: str, since: int) -> bool:
        """Return False."""
        return False

    def shares(self, path: str, other: str) -> bool:
        """Return False."""
        return False
