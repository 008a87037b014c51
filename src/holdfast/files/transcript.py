"""The protocol for reading the transcripts that a client writes of its sessions, with the values it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from re import Pattern

Reached = Literal["confirmed", "absent", "unknown"]


@dataclass(frozen=True, slots=True)
class Todo:
    """An item of a to-do list: its words and `pending`, `in_progress`, `completed` or what else it says."""

    text: str
    status: str


@dataclass(frozen=True, slots=True)
class Run:
    """The last run of a command: what it put out, whether it failed by its exit code, and when, if that is known."""

    command: str
    output: str
    failed: bool = True
    at: str = ""


class Tokens(NamedTuple):
    """Tokens that a model was paid for: read, put out, and written to or read from its cache.

    `cache_write` stays for five minutes, `long_cache_write` for an hour; the two have different prices.
    """

    input: int = 0
    output: int = 0
    cache_write: int = 0
    long_cache_write: int = 0
    cache_read: int = 0


class Answer(NamedTuple):
    """What the model asked a person, and the answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Job:
    """A command in the background.

    Attributes:
        id: what the client calls it.
        text: the command.
        output: the path of the file its output goes to; "" where it is not known.
    """

    id: str
    text: str
    output: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """A file that was created or edited, and how often it was written."""

    path: str
    count: int
    created: bool


class Work(NamedTuple):
    """A command that ran, or an edit of a file.

    Attributes:
        at: when it ended (UTC stamp).
        command: the command; empty for an edit.
        output: what it put out.
        failed: whether it failed by its exit code.
        path: the file that was edited; empty for a command.
        lines_added: how many lines the edit added.
    """

    at: str
    command: str = ""
    output: str = ""
    failed: bool = False
    path: str = ""
    lines_added: int = 0


@dataclass(frozen=True, slots=True)
class Trail:
    """What a session did, as it stands in its transcript: nothing is redacted yet.

    Attributes:
        requests: what the person asked, oldest first, the same words only once.
        todos: the open to-dos, those in progress first, else in their order.
        completed: how many to-dos are completed.
        runs: the commands that were run, newest first.
        commands: the commands that run in the background, newest first.
        edits: the files that were created or edited, newest first.
        plan: the plan's file; "" without one.
        plan_title: the first line of the plan, where it is known.
        branch: the branch the last entry was written on; "" where there is none.
        statements: what the model said and the person answered, newest first.
        reads: the files that were read and not edited, newest first.
    """

    requests: tuple[str, ...] = ()
    todos: tuple[Todo, ...] = ()
    completed: int = 0
    runs: tuple[Run, ...] = ()
    commands: tuple[Job, ...] = ()
    edits: tuple[Edit, ...] = ()
    plan: str = ""
    plan_title: str = ""
    branch: str = ""
    statements: tuple[str | Answer, ...] = ()
    reads: tuple[str, ...] = ()


class Result(Protocol):
    """What a call of the Agent tool returned."""

    @property
    def status(self) -> str:
        """`completed`, or another word if the agent goes on."""

    @property
    def agent_id(self) -> str:
        """The run's id; empty if unknown."""

    @property
    def agent_type(self) -> str:
        """The kind of agent; empty if unknown."""

    @property
    def text(self) -> str:
        """The agent's last message."""

    @property
    def output_file(self) -> str:
        """The path that a background agent writes its output to; empty for none."""

    @property
    def failed(self) -> bool:
        """Whether anything shows a failure, whatever the status is."""


class Returned(Protocol):
    """The result of a call, read from a transcript."""

    @property
    def call(self) -> str:
        """The id of the call."""

    @property
    def result(self) -> Result:
        """What it returned."""

    @property
    def error(self) -> str:
        """What went wrong; empty unless it failed."""


class Notice(Protocol):
    """A notification of the client that an agent has ended."""

    @property
    def task_id(self) -> str:
        """The id of the run."""

    @property
    def tool_use_id(self) -> str:
        """The id of the call."""

    @property
    def status(self) -> str:
        """How the agent ended."""

    @property
    def words(self) -> str:
        """Its last message or its error; empty if it completed without a message."""

    @property
    def output_file(self) -> str:
        """The path of its whole output."""


class Noted(Protocol):
    """An entry about a compaction, a file that the model was shown, or one that it was refused."""

    @property
    def kind(self) -> Literal["boundary", "shown", "refused"]:
        """Which of the three."""

    @property
    def value(self) -> Any:
        """The compaction's id; the Read's response or an attachment of the same form; the path that was refused."""

    @property
    def attached(self) -> bool:
        """Whether the client attached the file without a Read."""

    @property
    def cut(self) -> bool:
        """Whether the client attached only a part of the file."""


class Transcripts(Protocol):
    """Reads one client's transcripts, which are never trusted. A module in the client's folder implements it."""

    TAIL_BYTES: int
    """The number of bytes read at the end of a transcript."""

    def find(self, path: str, /) -> str:
        """Return a transcript's path, or if it is missing, that of its namesake in a sibling folder; empty for none."""

    def size(self, path: str, /) -> int:
        """Return a transcript's size in bytes; 0 if there is none."""

    def tail(self, path: str, /) -> list[dict[str, Any]]:
        """Return the entries at the end of a transcript, oldest first."""

    def reading(
        self, path: str, at: int, /, *, since: int = 0, files: bool = True
    ) -> tuple[Sequence[Noted], Sequence[Noted], int]:
        """Return which files the main conversation was shown, and its compactions, oldest first.

        Args:
            path: the path of the transcript, of which the end is read.
            at: the byte that divides the result.
            since: the first byte that is read.
            files: whether to look for files, not only for compactions.

        Returns:
            What comes before byte `at`, what comes from there on, and the byte after it.
        """

    def notices(self, path: str, /, *, most: int = ...) -> Iterator[tuple[Notice, object]]:
        """Yield the notifications of ended agents in a transcript's last `most` bytes, each with its time."""

    def returned(self, path: str, calls: Iterable[str], /, *, most: int) -> Iterator[Returned]:
        """Yield what `calls` returned, and maybe others, from a transcript's last `most` bytes."""

    def agent_prompt(self, path: str, agent: str, /) -> str:
        """Return the first prompt of an agent in the session with this transcript; empty if unknown."""

    def reached(self, path: str, mark: str, since: int, after: str = "", /) -> Reached:
        """Return whether a text with this mark has reached the model, according to the entries from byte `since` on.

        Entries before the UTC stamp `after` are skipped: the client may write them later than that, or again.
        """

    def compacted(self, path: str, since: int, after: str = "", /) -> bool:
        """Return whether there is a complete compaction from byte `since` on, and not before the UTC stamp `after`."""

    def shares(self, path: str, other: str, /) -> bool:
        """Return whether two transcripts share entries, because one session continues the other."""

    def trail(self, entries: Sequence[dict[str, Any]], /) -> Trail:
        """Return what a session did, from its transcript's entries, oldest first; never raises."""

    def work(self, entries: Sequence[dict[str, Any]], /) -> Sequence[Work]:
        """Return what a session ran and edited, from its transcript's entries, oldest first; never raises."""

    def edited(self, path: str, /) -> Sequence[str]:
        """Return the files that an agent edited, in their order, from the end of its own transcript; never raises."""

    def edited_since(self, path: str, since: str, /) -> bool:
        """Return whether a session or one of its agents edited a file after a UTC stamp; never raises."""

    def usage(self, path: str, since: str = "", /) -> Mapping[str, Tokens] | None:
        """Return the tokens that each model used in an agent's own transcript after a UTC stamp; never raises.

        None if they can't be counted exactly, or if some have a price of their own: then nobody knows the cost. If the
        transcript ends in a call or its result, it waits a moment for the answer: the client may write it later.
        """

    def runs(self, path: str, commands: Pattern[str], /, *, aside: bool = False) -> Sequence[Run]:
        """Return the runs of shell commands that match, oldest first, from the end of a transcript; never raises.

        `aside` reads an agent's own transcript, else only what the main conversation ran counts.
        """
