"""What is asked of the transcripts that a client writes of its sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from re import Pattern

Reached = Literal["confirmed", "absent", "unknown"]


class Transcripts(Protocol):
    """Reads the transcripts of one client, which are never trusted. A module of the client's is one."""

    TAIL: int
    """How many bytes of a transcript's end are read."""
    BOUNDARY: bytes
    """What stands in the entry that notes a compaction."""

    def size(self, path: str, /) -> int:
        """Return a transcript's size in bytes; 0 where there is none."""

    def tail(self, path: str, /, *, most: int = ..., only: Pattern[bytes] | None = None) -> list[dict[str, Any]]:
        """Return the entries of a transcript's last `most` bytes, oldest first; of lines that hold `only`."""

    def divided(
        self, path: str, at: int, /, *, since: int = 0, only: Pattern[bytes] | None = None
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
        """Return the entries of a transcript's end before byte `at` and from there on, and the byte behind them."""

    def head(self, path: str, /) -> list[dict[str, Any]]:
        """Return the entries a transcript begins with."""

    def reached(self, path: str, mark: str, since: int, /) -> Reached:
        """Tell whether a text with this mark has reached the model, by what was written from byte `since` on."""

    def compacted(self, path: str, since: int, /) -> bool:
        """Tell whether a compaction is noted whole from byte `since` on."""

    def shares(self, path: str, other: str, /) -> bool:
        """Tell whether two transcripts have entries in common, because one session goes on where the other was."""


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
        """Return that nobody knows."""
        return "unknown"

    def compacted(self, path: str, since: int) -> bool:
        """Tell of none."""
        return False

    def shares(self, path: str, other: str) -> bool:
        """Tell of none."""
        return False
