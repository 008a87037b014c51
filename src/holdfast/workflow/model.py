"""The neutral view of a workflow, whatever format it is kept in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast.formats import RECORDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Status = Literal["pending", "active", "completed", "failed", "blocked"]
Origin = Literal["agent", "plan"]


@dataclass(frozen=True, slots=True)
class Phase:
    """One step of a workflow.

    `number` counts from 1; `handover` is the context this phase leaves for the next one; `place` is its own file,
    relative to the root, where it has one.
    """

    id: str
    number: int
    title: str
    status: Status
    agent: str = ""
    deliverables: tuple[str, ...] = ()
    handover: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow as its file says, bounded and typed.

    Attributes:
        format: the name of the format it is kept in.
        id: what the format calls it: `wf_…` for hybrid, the file's stem for compaction; never that of an earlier
            workflow at the same path.
        title: the workflow's name or the user's request.
        kind: `workflow_type`; empty where the format has none.
        phases: all that the format knows; may be fewer than `total`.
        current: the number of the current phase from 1, or None before the first and after the last.
        phase: the current phase's title, empty where there is none; `phase_status` likewise.
        reading: entries with `@` in front.
        updated_at: the file's `st_mtime` as a UTC stamp.
        raw: the file's bytes (of the generation, if `recovered`).
        origin: whether an agent keeps it, or it was derived from a plan and nobody touched it since (I001-9).
        plan_at: when that plan was last changed (UTC stamp); empty where there is none.
        recovered: the file is broken and this is its last generation.
        beside: another file, relative to the root, that holds a part of it; empty if none does.
        paused: whether it was paused on purpose: it waits for somebody to resume it, and is not given back unasked.
        due: the ids of the phases to work on, the active ones in front of those that can be begun now; empty where the
            phases follow one another.
        needs: the ids of the phases whose results the first of those is built on; empty likewise.
    """

    format: str
    id: str
    title: str
    kind: str
    status: Status
    phases: tuple[Phase, ...]
    current: int | None
    total: int
    phase: str
    phase_status: Status | Literal[""]
    reading: tuple[str, ...]
    reminders: tuple[str, ...]
    context: Mapping[str, Any]
    created_at: str
    updated_at: str
    path: Path
    raw: bytes
    root: Path | None = None
    origin: Origin = "agent"
    plan_at: str = ""
    warnings: tuple[str, ...] = ()
    recovered: bool = False
    beside: str = ""
    paused: bool = False
    due: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The word for its phases: phase, task."""
        return RECORDS[self.format].UNIT

    @property
    def in_order(self) -> bool:
        """Whether its phases follow one another and are called by number; else by id."""
        return RECORDS[self.format].IN_ORDER

    @property
    def spread(self) -> bool:
        """Whether it has a folder to itself, with its phases in files of their own."""
        return RECORDS[self.format].SPREAD

    def named(self, phase: Phase) -> str:
        """Return what a phase is called in a sentence: `phase 2/5`, or `task IMPL-1.2`."""
        return f"{self.unit} {phase.number}/{self.total}" if self.in_order else f"{self.unit} {phase.id}"

    @property
    def finished(self) -> bool:
        """Whether nothing follows: all of it is done. A failed workflow is not unless its format says so (I000-9)."""
        return self.status in RECORDS[self.format].FINAL

    @property
    def resumable(self) -> bool:
        """Whether a session that comes may go on with it unasked: it is neither finished nor paused."""
        return not self.finished and not self.paused

    @property
    def ref(self) -> str:
        """A stable key within the project: `format:path`, the path relative to the root."""
        return f"{self.format}:{self.place}"

    @property
    def key(self) -> str:
        """What the ledger calls it: where it lies and which one it is, for a path may be used again."""
        return f"{self.ref}#{self.id}"

    @property
    def place(self) -> str:
        """The state file's path relative to the root, or whole when it lies elsewhere."""
        place = self.path.as_posix()  # asked for over and over: text is ten times as fast as paths here
        return place if self.root is None else place.removeprefix(f"{self.root.as_posix().rstrip('/')}/")

    @property
    def position(self) -> str:
        """`2/5`: the current phase of all; `0/5` before the first, `5/5` when finished.

        Of tasks, which need not be worked on in their order, it is how many are completed.
        """
        if not self.in_order:
            return f"{sum(phase.status == 'completed' for phase in self.phases)}/{self.total}"
        return f"{self.total if self.status == 'completed' else self.current or 0}/{self.total}"

    @property
    def progress_text(self) -> str:
        """Where it stands, in a sentence: `phase 2/5`, or `4/7 tasks completed`."""
        return f"{self.unit} {self.position}" if self.in_order else f"{self.position} {self.unit}s completed"

    @property
    def current_name(self) -> str:
        """What its current phase is called in lists: its title, and of a task the id in front."""
        if self.in_order or self.current is None or not self.phase:
            return self.phase
        return f"{self.phases[self.current - 1].id} {self.phase}"

    @property
    def word(self) -> str:
        """The status that people see: `paused`, or its own."""
        return "paused" if self.paused else self.status

    @property
    def percent(self) -> int:
        """How much of it is done, 0 to 100: completed phases of all."""
        if self.status == "completed" and self.in_order:
            return 100
        # A format that does not list every phase counts those behind the current one.
        unlisted = max((self.current or 1) - 1, 0) - sum(phase.number < (self.current or 1) for phase in self.phases)
        done = sum(phase.status == "completed" for phase in self.phases) + unlisted
        return 100 * done // self.total if self.total else 0


class Problem(NamedTuple):
    """A file that could not be read as the workflow it should be."""

    path: Path
    reason: str


class Foreign(NamedTuple):
    """Another program's file at one of a format's places. Holdfast leaves it alone.

    Attributes:
        path: where it is.
        meaning: what this means for you; follows the path in a sentence.
        in_the_way: whether you can't use the format while the file is there.
    """

    path: Path
    meaning: str
    in_the_way: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What a format found in a project, the newest first.

    `left` is how many were not looked at: changed before those that were, or too large beside them.
    """

    workflows: tuple[Workflow, ...] = ()
    problems: tuple[Problem, ...] = ()
    left: int = 0


class Step(NamedTuple):
    """What to do next: the phase, the agent for it, the prompt to hand that agent and one sentence for the model."""

    number: int
    total: int
    title: str
    agent: str
    prompt: str
    text: str


@dataclass(frozen=True, slots=True)
class Start:
    """What a new workflow is made of; `phases` are (title, agent) pairs and `total` counts phases not yet named.

    With `replace` an unfinished workflow that is in its way gives way, and stays in the archive as it was.
    """

    title: str
    kind: str = ""
    phases: tuple[tuple[str, str], ...] = ()
    total: int | None = None
    reading: tuple[str, ...] = ()
    reminders: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    session: str | None = None
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What to change in a workflow: None leaves a value as it is, lists and `context` are added to what is there.

    `current` counts from 1, `phase` is the current phase's title, `status` its status; `deliverables` and `handover`
    belong to the current phase, where the format keeps them. `error` is what failed or blocks it; the ledger keeps it.
    """

    current: int | None = None
    total: int | None = None
    phase: str | None = None
    status: Status | None = None
    reading: tuple[str, ...] = ()
    reminders: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    deliverables: tuple[str, ...] = ()
    handover: str | None = None
    error: str = ""


class Restored(NamedTuple):
    """What came of putting an earlier content back.

    Attributes:
        workflow: as it is now.
        changed: whether the file was written; it may have held that very content.
        aside: a copy of what it held, where that is no generation; None where it is one.
    """

    workflow: Workflow
    changed: bool
    aside: Path | None = None


class Judged(NamedTuple):
    """What came of a phase's agent.

    Attributes:
        workflow: as it is now.
        changed: whether anything changed.
        remark: what is out of the ordinary about it, in a few words.
        notes: what the model is to be told beside, a sentence each.
    """

    workflow: Workflow
    changed: bool
    remark: str = ""
    notes: tuple[str, ...] = ()


class Brief(NamedTuple):
    """What an agent is given of the phase it was launched for.

    Attributes:
        lines: its text, which may be long.
        command: what prints all of it.
    """

    lines: tuple[str, ...]
    command: str


class Detected(NamedTuple):
    """What was done about the files in which people describe a workflow.

    Attributes:
        path: the state file that has it now, if there is one.
        report: what to note in the log; empty where nothing was found.
        failed: whether it could not be saved.
        unread: the key of the workflow, if the file that describes it was not read to its end.
        removed: the key of the workflow, if its state file was removed and it is not saved again for that.
        outdated: a file that is in progress and too old to be saved unasked, relative to the root.
    """

    path: Path | None = None
    report: str = ""
    failed: bool = False
    unread: str = ""
    removed: str = ""
    outdated: str = ""
