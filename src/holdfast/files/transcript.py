"""The protocol for reading the transcripts that a client writes of its sessions, with the values it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from re import Pattern

Reached = Literal["confirmed", "absent", "unknown"]


@dataclass(frozen=True, slots=True)
class Todo:
    """An item of a to-do list: its words and `pending`, `in_progress`, `completed` or what else it says."""

    text: str
    status: str


@dataclass(frozen=True, slots=True)
class Run:
    """The last run of a command: what it put out, and whether it failed by its exit code."""

    command: str
    output: str
    failed: bool = True


class Answer(NamedTuple):
    """What the model asked a person, and the answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Job:
    """An agent, or a command in the background.

    Attributes:
        id: what the client calls it.
        text: its description, or the command.
        kind: the agent's type; "" where it is not known, and for a command.
        output: the path of the file its output goes to; "" where it is not known.
        status: `running`, or how it ended.
        result: what an agent that ended said last.
    """

    id: str
    text: str
    kind: str = ""
    output: str = ""
    status: str = "running"
    result: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """A file that was created or edited, and how often it was written."""

    path: str
    count: int
    created: bool


@dataclass(frozen=True, slots=True)
class Trail:
    """What a session did, as it stands in its transcript: nothing is redacted yet.

    Attributes:
        requests: what the person asked, oldest first, the same words only once.
        todos: the open to-dos, those in progress first, else in their order.
        completed: how many to-dos are completed.
        runs: the commands that were run, newest first.
        agents: the agents that were launched and have not reported their end, newest first.
        commands: the commands that run in the background, newest first.
        finished: the agents that ended, newest first.
        edits: the files that were created or edited, newest first.
        plan: the plan's file; "" without one.
        plan_title: the first line of the plan, where it is known.
        branch: the branch the last entry was written on; "" where there is none.
        said: what the model said and the person answered, newest first.
        reads: the files that were read and not edited, newest first.
    """

    requests: tuple[str, ...] = ()
    todos: tuple[Todo, ...] = ()
    completed: int = 0
    runs: tuple[Run, ...] = ()
    agents: tuple[Job, ...] = ()
    commands: tuple[Job, ...] = ()
    finished: tuple[Job, ...] = ()
    edits: tuple[Edit, ...] = ()
    plan: str = ""
    plan_title: str = ""
    branch: str = ""
    said: tuple[str | Answer, ...] = ()
    reads: tuple[str, ...] = ()


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

    def trail(self, entries: Sequence[dict[str, Any]], /) -> Trail:
        """Return what a session did, by its transcript's entries, oldest first; never raises for what they hold."""


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

    def trail(self, entries: Sequence[dict[str, Any]]) -> Trail:
        """Return an empty trail."""
        return Trail()
