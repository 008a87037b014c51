"""The tables of a project's ledger: one class for each, whose fields are the columns.

This module is the schema. `schema` creates the tables from it, and `Ledger.table(Class)` reads and writes them. Times
are UTC stamps (`clock.stamp`). A row belongs to a conversation, not to a session id, because a compaction, a resume or
`/clear` may change the id (`sessions.conversations`). Change `SCHEMA_VERSION` with the schema: a new ledger begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Row:
    """A row of a table. `str`, `int`, `bool` and `bytes` columns are never NULL, except with `| None`."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]] = ("id",)
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = ()


@dataclass(frozen=True)
class Conversation(Row):
    """A conversation of the client, under whichever session ids it has had.

    Attributes:
        id: the session id that it began with.
        session: the session id that it has now.
        worktree: the checkout it works in.
        host: the machine its client process runs on.
        process: the number of that process; None if unknown.
        process_start: when the process started, which tells it from a later one of the same number.
        namespace: the process namespace (container) that the number means something in.
        attended: whether a person sits at it; None if unknown.
        transcript: the path of its transcript; empty if unknown.
        idle: whether its last event was the end of a turn.
        first_seen: when it was first seen alive (`sessions.conversations.join`); empty before.
        last_seen: when its last event came, or one of its last five minutes.
        ended_at: when its session ended; None while it may live.
        forked_from: the conversation that it is a fork of, which may live on; empty for none, None while it is unknown.
        prompt: the id of the prompt that a person gave last.
        epoch: how often its conversation has begun anew: after a compaction, a resume, or `/clear`.
        summary: the client's summary of its last compaction, until it is used.
        compactions: how many compactions its transcript has shown.
        size: the transcript's size at the last one, in bytes.
        boundary: the id of that compaction's boundary in the transcript; empty for none, None while it is awaited.
        reminded: the number of compactions when the model was last reminded of its reading; -1 for never.
        searched: the byte up to which the transcript has been searched for files.
        sought: a digest of what it was searched for.
    """

    TABLE: ClassVar[str] = "conversations"
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("session",),
        ("worktree", "ended_at", "last_seen"),
        ("worktree", "last_seen"),
        ("process", "first_seen"),
        ("last_seen",),
    )

    id: str
    session: str
    worktree: str
    host: str
    process: int | None = None
    process_start: str | None = None
    namespace: str | None = None
    attended: bool | None = None
    transcript: str = ""
    idle: bool = False
    first_seen: str = ""
    last_seen: str = ""
    ended_at: str | None = None
    forked_from: str | None = ""
    prompt: str = ""
    epoch: int = 0
    summary: str = ""
    compactions: int = 0
    size: int = 0
    boundary: str | None = ""
    reminded: int = -1
    searched: int = 0
    sought: str = ""


@dataclass(frozen=True)
class SessionId(Row):
    """A session id under which a conversation went on. The id that it began with has no row."""

    TABLE: ClassVar[str] = "session_ids"
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (("conversation",),)

    id: str
    conversation: str
    since: str


@dataclass(frozen=True)
class WorkflowRow(Row):
    """What is known of a workflow beside its file.

    Attributes:
        worktree: the checkout.
        workflow: its key.
        owner: the conversation that owns it; empty for none.
        previous_owner: the last other conversation that owned it; empty for none.
        branch: the branch that was checked out when its owner last worked on it; empty if unknown.
        since: when its owner changed last, if ever.
        released_at: when it was last released for the next session; empty for never.
    """

    TABLE: ClassVar[str] = "workflows"
    KEY: ClassVar[tuple[str, ...]] = ("worktree", "workflow")
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("worktree", "owner", "since"),
        ("worktree", "previous_owner", "since"),
        ("worktree", "since"),
        ("worktree", "released_at"),
        ("owner",),
    )

    worktree: str
    workflow: str
    owner: str = ""
    previous_owner: str = ""
    branch: str = ""
    since: str = ""
    released_at: str = ""


@dataclass(frozen=True)
class Told(Row):
    """Something that a conversation is told once (`sessions.messages`), or the digest of its to-do list.

    Attributes:
        conversation: whose; empty for guidance that was printed in a terminal.
        topic: what kind of thing it is.
        key: what it is about: mostly a workflow's key; empty for nothing in particular.
        value: the digest of the to-do list, or the workflow whose guidance was printed.
        due: whether it still has to be told.
        at: when it was told or, while it is due, since when.
    """

    TABLE: ClassVar[str] = "told"
    KEY: ClassVar[tuple[str, ...]] = ("conversation", "topic", "key")
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (("at",), ("topic", "key", "at"))

    conversation: str
    topic: str
    key: str
    value: str
    due: bool
    at: str


@dataclass(frozen=True)
class Task(Row):
    """A task of the client's Task tools: its subject, which may name a phase."""

    TABLE: ClassVar[str] = "todo_tasks"
    KEY: ClassVar[tuple[str, ...]] = ("conversation", "task_id")

    conversation: str
    task_id: str
    subject: str
    changed_at: str


@dataclass(frozen=True)
class Read(Row):
    """What a conversation's model has seen of a file.

    Attributes:
        conversation: whose model.
        path: the file's name (`sessions.file_contents.name`).
        content: the SHA-256 of the content that it has seen whole; empty if it never has.
        how: `read`, `attached` (by the client) or `inlined` (in guidance).
        compaction: the number of compactions when it saw that; -1 in an earlier context.
        parts: the ranges of lines that it has seen since the last compaction, as JSON; empty for none.
        refused: the number of compactions when a Read of it last failed; -1 for never.
        read_at: when this last changed.
    """

    TABLE: ClassVar[str] = "reads"
    KEY: ClassVar[tuple[str, ...]] = ("conversation", "path")
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (("read_at",),)

    conversation: str
    path: str
    content: str = ""
    how: str = "read"
    compaction: int = -1
    parts: str = ""
    refused: int = -1
    read_at: str = ""


@dataclass(frozen=True)
class Event(Row):
    """One thing that happened: the only log there is.

    Attributes:
        id: unique across machines.
        at: when.
        kind: what kind of thing: `session`, `owner`, `compaction`, `delivery`, `phase`, `agent`, `decision`, ….
        worktree: the checkout.
        conversation: whose; empty for nobody's.
        workflow: the key of the workflow it is about; empty for none.
        title: that workflow's title then; empty if unknown.
        phase: the id of the phase it is about; empty for none.
        what: what happened, one of a few fixed words of its kind.
        data: the details, a JSON object.
    """

    TABLE: ClassVar[str] = "events"
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("at",),
        ("conversation", "at"),
        ("worktree", "workflow", "at"),
        ("kind", "at"),
    )

    id: str
    at: str
    kind: str
    worktree: str
    conversation: str = ""
    workflow: str = ""
    title: str = ""
    phase: str = ""
    what: str = ""
    data: str = "{}"


@dataclass(frozen=True)
class StepRun(Row):
    """The result of a unit's step when it ran last: its outcome, its output, and how often it has failed."""

    TABLE: ClassVar[str] = "step_runs"
    KEY: ClassVar[tuple[str, ...]] = ("worktree", "workflow", "unit", "step")
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (("at",),)

    worktree: str
    workflow: str
    unit: str
    step: str
    outcome: str
    output: str
    failures: int
    at: str


@dataclass(frozen=True)
class HandlerState(Row):
    """What a handler remembers (`plugins.state`), as JSON. A wider scope has an empty `turn` or `conversation`."""

    TABLE: ClassVar[str] = "handler_state"
    KEY: ClassVar[tuple[str, ...]] = ("handler", "scope", "conversation", "turn", "agent")
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (("changed_at",),)

    handler: str
    scope: str
    conversation: str
    turn: str
    agent: str
    value: str
    changed_at: str


TABLES: tuple[type[Row], ...] = (
    *(Conversation, Event, HandlerState, Read, SessionId, StepRun, Task, Told, WorkflowRow),
)
