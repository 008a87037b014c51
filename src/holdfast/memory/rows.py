"""The tables of a project's ledger: one class for each, whose fields are the columns.

There is one file for each project. Times are UTC stamps (`clock.stamp`). A row belongs to a conversation, not to a
session id, because a compaction, a resume or `/clear` may change the id (`sessions.conversations`).

This module is the schema. `schema` creates the tables from it, and `Ledger.table(Class)` reads and writes them. Change
`SCHEMA_VERSION` with the schema: a new ledger begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

CUT_OFF = "it was stopped before it had ended"  # what there is to say in place of an agent's result


@dataclass(frozen=True)
class Row:
    """A row of a table. `str`, `int`, `bool` and `bytes` columns are never NULL, except with `| None`.

    `RETENTION` is a column with a time, and how many rows of a project stay by it; the oldest go. None keeps all.
    `COUNTERS` are columns that are added up where two rows become one.
    """

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]] = ("id",)
    RETENTION: ClassVar[tuple[str, int] | None] = None
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = ()
    COUNTERS: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class Conversation(Row):
    """A conversation of the client, under whichever session ids it has had.

    Attributes:
        id: the session id that it began with.
        session: the session id that it has now.
        worktree: the checkout it works in.
        process: its client process (`liveness.identity`); empty if unknown.
        attended: whether a person sits at it; None if unknown.
        transcript: the path of its transcript; empty if unknown.
        idle: whether its last event was the end of a turn.
        first_seen: when it was first seen alive (`sessions.conversations.join`); empty before.
        last_seen: when its last event came, or one of its last five minutes.
        ended_at: when its session ended; None while it may live.
        forked_from: the conversation that it is a fork of, which may live on; empty for none, None while it is unknown.
        prompt: the id of the prompt that a person gave last.
        epoch: how often its conversation has restarted: after a compaction, a resume, or `/clear`.
        size: the transcript's size at the last compaction, in bytes.
        boundary: the id of that compaction's boundary in the transcript; empty for none, None while it is awaited.
        reminded: whether the model was reminded of its reading since then.
    """

    TABLE: ClassVar[str] = "conversations"
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("worktree", "ended_at", "last_seen"),
        ("worktree", "last_seen"),
        ("process", "first_seen"),
        ("last_seen",),
    )

    id: str
    session: str
    worktree: str
    process: str = ""
    attended: bool | None = None
    transcript: str = ""
    idle: bool = False
    first_seen: str = ""
    last_seen: str = ""
    ended_at: str | None = None
    forked_from: str | None = ""
    prompt: str = ""
    epoch: int = 0
    size: int = 0
    boundary: str | None = ""
    reminded: bool = False


@dataclass(frozen=True)
class SessionId(Row):
    """A session id under which a conversation went on. The id that it began with has no row.

    Attributes:
        id: the session id.
        conversation: the conversation.
        since: when it first went on under this id.
    """

    TABLE: ClassVar[str] = "session_ids"
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (("conversation",),)

    id: str
    conversation: str
    since: str


@dataclass(frozen=True)
class WorkflowRow(Row):
    """The facts about a workflow that its file doesn't hold.

    Attributes:
        worktree: the checkout.
        workflow: its key.
        owner: the conversation that owns it; empty for none.
        previous_owner: the last other conversation that owned it; empty for none.
        branch: the branch that was checked out when its owner last worked on it; empty if unknown.
        since: when its owner changed last, or when it was last released for the next session; empty for never.
        released_at: when it was last released for the next session, which makes it fresh; empty for never.
        phases: its phases when they were last looked at: id, number and status of each, as JSON; empty before.
        finished: whether it was over then.
        observed_at: when it had last moved then.
        completed_at: when it was put into the archive; None if it isn't there.
        fields: the archived workflow's fields, as JSON.
        content: the archived file's content.
    """

    TABLE: ClassVar[str] = "workflows"
    KEY: ClassVar[tuple[str, ...]] = ("worktree", "workflow")
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("worktree", "owner", "since"),
        ("worktree", "previous_owner", "since"),
        ("worktree", "since"),
        ("owner",),
        ("completed_at",),
    )

    worktree: str
    workflow: str
    owner: str = ""
    previous_owner: str = ""
    branch: str = ""
    since: str = ""
    released_at: str = ""
    phases: str = ""
    finished: bool = False
    observed_at: str = ""
    completed_at: str | None = None
    fields: str = ""
    content: bytes = b""


@dataclass(frozen=True)
class Told(Row):
    """A message that a conversation gets once (`sessions.messages`), or the digest of its to-do list.

    Attributes:
        conversation: whose; empty for guidance that was printed in a terminal.
        topic: what kind of thing it is.
        key: what it is about: mostly a workflow's key; empty for nothing in particular.
        value: the digest of the to-do list, or the workflow whose guidance was printed.
        due: whether the conversation still has to get it.
        at: when the conversation got it or, while it is due, since when.
    """

    TABLE: ClassVar[str] = "told"
    RETENTION: ClassVar[tuple[str, int] | None] = ("at", 2_000)
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
    """A task of the client's Task tools.

    Attributes:
        conversation: whose task it is.
        task_id: the client's id of it.
        subject: its subject, which may name a phase.
        changed_at: when it last changed.
    """

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
        path: the file's name (`sessions.reads.name`).
        content: the SHA-256 of the content that it has seen whole; empty if it never has.
        in_context: whether it saw that since the last compaction.
        parts: the ranges of lines that it has seen since the last compaction, as JSON; empty for none.
        refused: whether a Read of it has failed since the last compaction.
        read_at: when this last changed.
    """

    TABLE: ClassVar[str] = "reads"
    RETENTION: ClassVar[tuple[str, int] | None] = ("read_at", 5_000)
    KEY: ClassVar[tuple[str, ...]] = ("conversation", "path")
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (("read_at",),)

    conversation: str
    path: str
    content: str = ""
    in_context: bool = False
    parts: str = ""
    refused: bool = False
    read_at: str = ""


@dataclass(frozen=True)
class Event(Row):
    """One thing that happened: the only log there is.

    Attributes:
        id: unique across machines; of events of one moment, the later one has the greater id.
        at: when.
        kind: what kind of thing: `session`, `owner`, `compaction`, `delivery`, `phase`, `agent`, `decision`, ….
        worktree: the checkout.
        conversation: its conversation; empty for none.
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
class Agent(Row):
    """An agent, a teammate, a script that starts agents, or one of a script's agents.

    Its launching call and its run become known in either order, because the client says which run a call started only
    when the call returns (client fact §3.4). Until then there may be a row for each (`sessions.agents.name_run`).

    Attributes:
        id: of this row.
        conversation: whose agent it is.
        worktree: the checkout it was launched in.
        kind: `agent`, `teammate`, `script`, or `script agent`.
        parent: the run of the script that started it; empty for none.
        call: the call that launched it; empty for a run that no call is known for.
        run: the client's id of its run; empty if that is unknown.
        agent_type: the kind of agent, such as `code-reviewer`.
        name: what a teammate or a script is called.
        workflow: the key of the workflow it works for; empty for none.
        phase: the id of the phase it works for; empty for none.
        description: the short description that the call gave, or what the script calls its agent; of a script, what it
            uses of an earlier run.
        prompt: the beginning of its prompt.
        fingerprint: what makes two calls the same work; of a script, the digests of its text and of its arguments.
        prompt_id: the person's prompt under which it was called (`conversations.Request`).
        epoch: which beginning of the conversation it was called in.
        process: the client process that called it (`liveness.identity`); empty if unknown.
        answered: the epoch in which it has answered another call for the same work; empty for none.
        source: the row of the agent that answered this refused call, or of the run whose results this script uses.
        task: the id of a script's background task.
        script: the path of a script.
        launched_at: when it was called or, if that is unknown, when its run's first event came.
        since: when its present run began: `launched_at`, or when it was sent on.
        state: what was reported last: `called`, `launched`, `running`, `missing`, `stopped`, `completed` or `failed`.
        resumed: whether it runs again after that.
        result: its last message or its error.
        changed_at: when `state` last changed; empty before.
        used_at: when the main conversation got its result; empty if nothing shows that.
        verdict: how it was judged: `completed`, `failed`, `abandoned` (no result will come), `disputed` (it failed
            after its phase was completed), `refused` (never started), or `unwritten` (its phase can't be moved yet).
            Empty before.
        output: the path that the client writes its output to; empty if unknown.
        transcript: the path of its own transcript; of a script, the folder with its journal. Empty if unknown.
        reminded: whether it got its workflow's reminders.
        discarded: whether a person wants the work done again (`holdfast agents ID --rerun`).
        open: whether it runs, or is still to be judged or reported. An index finds these few.
    """

    TABLE: ClassVar[str] = "agents"
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("conversation", "call"),
        ("run", "conversation"),
        ("open", "conversation"),
        ("conversation", "changed_at"),
        ("fingerprint", "launched_at"),
        ("kind", "launched_at"),
        ("task", "conversation"),
    )

    id: str
    conversation: str
    worktree: str
    kind: str = "agent"
    parent: str = ""
    call: str = ""
    run: str = ""
    agent_type: str = ""
    name: str = ""
    workflow: str = ""
    phase: str = ""
    description: str = ""
    prompt: str = ""
    fingerprint: str = ""
    prompt_id: str = ""
    epoch: str = ""
    process: str = ""
    answered: str = ""
    source: str = ""
    task: str = ""
    script: str = ""
    launched_at: str = ""
    since: str = ""
    state: str = "called"
    resumed: bool = False
    result: str = ""
    changed_at: str = ""
    used_at: str = ""
    verdict: str = ""
    output: str = ""
    transcript: str = ""
    reminded: bool = False
    discarded: bool = False
    open: bool = True

    @property
    def status(self) -> Literal["running", "finished", "failed", "used"]:
        """Where it stands; nothing else answers that.

        `finished` or `failed` if it has ended and nothing shows that its result reached the main conversation; `used`
        if it did, or if no result will come.
        """
        began = self.state in ("called", "launched", "running")
        if self.resumed or (began and not self.verdict):
            return "running"
        if self.used_at or began:
            return "used"
        return "failed" if self.outcome == "failed" else "finished"

    @property
    def named(self) -> bool:
        """Whether the client has named the run that a call started.

        For a background agent it does so at once, for a foreground agent when the call returns.
        """
        return bool(self.call and self.run)

    @property
    def outcome(self) -> Literal["completed", "failed"]:
        """How it ended, as last reported: `completed` unless it failed or went missing."""
        return "failed" if self.state in ("failed", "missing") else "completed"

    @property
    def failed(self) -> bool:
        """Whether it ended with a failure, whether or not the main conversation has the result."""
        return self.status != "running" and self.outcome == "failed"

    @property
    def unused(self) -> bool:
        """Whether it has ended and nothing shows that its result reached the main conversation."""
        return self.status in ("finished", "failed")

    @property
    def judged(self) -> bool:
        """Whether it has its final verdict."""
        return self.verdict not in ("", "unwritten")

    @property
    def ended_at(self) -> str:
        """When it ended; empty while it runs."""
        return "" if self.status == "running" else self.changed_at

    @property
    def words(self) -> str:
        """Its result, or what there is to say in place of one."""
        return self.result or (CUT_OFF if self.state == "missing" else "")


@dataclass(frozen=True)
class Compaction(Row):
    """A compaction, announced by PreCompact or seen when its conversation came back from it.

    Attributes:
        id: unique across machines.
        worktree: the checkout.
        conversation: the conversation that was to be compacted.
        trigger: `manual`, `auto` or `unknown`; `none` if it came without a PreCompact.
        workflows: the workflows that the conversation had: key, title, phase, digest of each, as JSON.
        announced_at: when PreCompact fired or, without one, when it came.
        transcript: the path of the transcript; empty if unknown.
        size: the transcript's size when it was announced, in bytes.
        restored_in: the conversation that claimed it; empty while none has.
        restored_at: when the conversation came back from it; None while it has not, or if another one came instead.
        facts: how many facts of the restored workflow were looked for in the client's summary; 0 without one.
        facts_kept: how many of them the summary has word for word.
    """

    TABLE: ClassVar[str] = "compactions"
    RETENTION: ClassVar[tuple[str, int] | None] = ("announced_at", 200)
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("conversation", "announced_at"),
        ("restored_in", "announced_at"),
        ("worktree", "announced_at"),
        ("announced_at",),
    )

    id: str
    worktree: str
    conversation: str
    trigger: str
    workflows: str
    announced_at: str
    transcript: str = ""
    size: int = 0
    restored_in: str = ""
    restored_at: str | None = None
    facts: int = 0
    facts_kept: int = 0


@dataclass(frozen=True)
class Delivery(Row):
    """One piece of guidance for the model, or the refusal to give it.

    Attributes:
        id: unique across machines.
        worktree: the checkout.
        conversation: the conversation that gets it.
        compaction: the id of the compaction that it answers; empty for none.
        event: the event whose reply carries it.
        workflow: the key of the workflow it restores; empty for a trail.
        title: that workflow's title.
        digest: the guidance's digest, which is part of its text.
        characters: its length in UTF-16 units.
        omitted: how many lines are only in the full version.
        transcript: the path of the transcript in which it is looked for.
        size: the byte of the transcript from which it is looked for.
        state: `pending` until the reply is written, then `delivered`; `confirmed` once the transcript holds it as
            context, `absent` once the transcript proves that it doesn't, `unconfirmed` if the transcript never showed
            either; `refused` if nothing was given, because another live session could own the workflow.
        made_at: when it was made.
        changed_at: when its state last changed.
    """

    TABLE: ClassVar[str] = "deliveries"
    RETENTION: ClassVar[tuple[str, int] | None] = ("made_at", 500)
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (("conversation", "made_at"), ("compaction",), ("made_at",))

    id: str
    worktree: str
    conversation: str
    compaction: str
    event: str
    workflow: str
    title: str
    digest: str
    characters: int
    omitted: int
    transcript: str
    size: int
    state: str
    made_at: str
    changed_at: str


@dataclass(frozen=True)
class Content(Row):
    """A version of a state file: one earlier content, byte for byte. The next version always differs from it.

    Attributes:
        worktree: the checkout.
        path: the file, relative to the root; absolute if it is outside.
        number: counts the file's versions from 1.
        digest: the content's SHA-256.
        why: what stored it, such as `done 1` or `PreCompact auto`; `before …` if a write found it in the file.
        at: when it was stored.
        content: the bytes.
    """

    TABLE: ClassVar[str] = "contents"
    KEY: ClassVar[tuple[str, ...]] = ("worktree", "path", "number")

    worktree: str
    path: str
    number: int
    digest: str
    why: str
    at: str
    content: bytes


@dataclass(frozen=True)
class Import(Row):
    """A workflow taken over from a memory file or plan into a state file, or one that must never be taken over again.

    Attributes:
        worktree: the checkout.
        path: the state file, relative to the root; empty for a workflow that is done with and must not come back.
        name: the workflow's name as `names.key` writes it, or a hash of it once the workflow was forgotten.
        digest: the hash of its part of the memory file.
        content: that part, as JSON; empty for a buried one.
        at: when.
    """

    TABLE: ClassVar[str] = "imports"
    KEY: ClassVar[tuple[str, ...]] = ("worktree", "path", "name", "digest")
    INDEXES: ClassVar[tuple[tuple[str, ...], ...]] = (("worktree", "name", "digest"),)

    worktree: str
    path: str
    name: str
    digest: str
    content: str
    at: str


@dataclass(frozen=True)
class Cost(Row):
    """What one handler put into the model's context at one kind of event of a conversation, all replies together.

    Attributes:
        conversation: the conversation.
        event: the event whose replies carried it.
        handler: `place/name` of the handler's file.
        agent: whether it was a subagent's context, not the main conversation's.
        characters: UTF-16 units in all.
        replies: the number of replies.
        last_at: when the last reply was written.
    """

    TABLE: ClassVar[str] = "costs"
    KEY: ClassVar[tuple[str, ...]] = ("conversation", "event", "handler", "agent")
    COUNTERS: ClassVar[tuple[str, ...]] = ("characters", "replies")

    conversation: str
    event: str
    handler: str
    agent: bool
    characters: int
    replies: int
    last_at: str


@dataclass(frozen=True)
class StepRun(Row):
    """The result of a unit's step when it ran last.

    Attributes:
        worktree: the checkout.
        workflow: the workflow's key.
        unit: the id of the unit, such as a task.
        step: the step's name.
        outcome: `completed`, `failed` or `skipped`.
        output: its output, secrets masked and cut.
        failures: how often it has failed in a row.
        at: when it was last recorded.
    """

    TABLE: ClassVar[str] = "step_runs"
    RETENTION: ClassVar[tuple[str, int] | None] = ("at", 2_000)
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
    """What a handler remembers (`plugins.state`).

    Attributes:
        handler: `place/name` of the handler's file.
        scope: how long it lasts: `turn`, `session` or `project`.
        conversation: the conversation; empty in a wider scope.
        turn: the turn; empty in a wider scope.
        agent: the agent; empty for the main conversation.
        value: a JSON object.
        changed_at: when it last changed.
    """

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
    *(Agent, Compaction, Content, Conversation, Cost, Delivery, Event, HandlerState, Import, Read, SessionId),
    *(StepRun, Task, Told, WorkflowRow),
)
