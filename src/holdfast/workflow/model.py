"""The neutral view of a workflow, whatever its format."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast.clock import from_mtime, now, parse, stamp
from holdfast.formats import RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from holdfast.files.document import Document

Status = Literal["pending", "active", "completed", "failed", "blocked"]
Origin = Literal["agent", "plan"]


UNKNOWN = "position unknown, see the plan"
"""The title of the current phase where nothing tells which it is."""

_CHANGED = ("updated_at", "last_activity", "completed_at")


def changed(data: Mapping[str, Any], mtime: float) -> str:
    """Return when a state last changed (UTC stamp): what it says itself, else its file's `st_mtime`.

    A state says so in `updated_at`, `last_activity` or `completed_at`, at its top or in an object there; the latest
    counts. A clone or a copy gives an old file a new `st_mtime`. A time to come comes from a wrong clock and says
    nothing.
    """
    groups = (data, *(each for each in data.values() if isinstance(each, dict)))
    said = [parse(text) for each in groups for name in _CHANGED if isinstance(text := each.get(name), str)]
    present = now()
    past = [moment for moment in said if moment is not None and moment <= present]
    return stamp(max(past) if past else from_mtime(mtime))


LABEL = r"(?:\d{1,4}(?:\.\d{1,3})*[A-Za-z]?|[IVXL]{1,6}|[A-Z])"
"""A regular expression of what a phase may be called: `2`, `2.1`, `3A`, `0`, `IV`, `B`."""

_LABELLED = re.compile(rf"phase (?P<label>{LABEL})(?:: (?P<name>.+))?", re.IGNORECASE)  # of a title


class Phase(NamedTuple):
    """One step of a workflow.

    `number` counts from 1. `handover` is the context that this phase leaves for the next one. `place` is its own file,
    relative to the root, if it has one.
    """

    id: str
    number: int
    title: str
    status: Status
    agent: str = ""
    deliverables: tuple[str, ...] = ()
    handover: str = ""
    place: str = ""

    @property
    def label(self) -> str:
        """What its title `Phase 2.1: Fixes` calls it instead of its number; empty if it has no such title.

        A title `Phase 2` may come from an id and gives no label.
        """
        match = _LABELLED.fullmatch(self.title)
        if match is None or match["label"] == str(self.number) or (match["label"].isdecimal() and not match["name"]):
            return ""
        return match["label"]

    @property
    def name(self) -> str:
        """Its title without the label."""
        match = _LABELLED.fullmatch(self.title) if self.label else None
        return (match["name"] or "") if match else self.title


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow as in its file, with valid types and bounds.

    Attributes:
        format: the name of its format.
        id: its id in the format: `wf_…` for hybrid, the file's stem for compaction; never that of an earlier workflow
            at the same path.
        title: its name or the user's request.
        kind: its `workflow_type`; empty if the format has none.
        phases: all phases that the format knows; may be fewer than `total`.
        current: the number of the current phase from 1; None before the first and after the last.
        phase: the current phase's title, empty for none; `phase_status` likewise.
        reading: entries, each with a leading `@`.
        updated_at: when it last changed, as far as its file tells (`changed`).
        raw: the file's bytes (of the version, if `recovered`).
        origin: `agent` if agents maintain it, `plan` if it was derived from a plan and not touched since (I001-9).
        plan_at: when that plan last changed (UTC stamp); empty without one.
        recovered: whether the file is broken and this is its last version.
        beside: another file, relative to the root, that holds a part of it; empty for none.
        paused: whether it was paused on purpose: it waits for somebody to resume it and isn't restored unasked.
        due: the ids of the phases to work on, the active ones before those that can be begun now; empty if the phases
            follow one another.
        needs: the ids of the phases whose results the first of `due` builds on; empty if the phases follow one another.
        abandoned: whether it was cancelled; its status is then `failed`.
        ended: what became of the file that it was saved from, if that file no longer describes it as unfinished; empty
            otherwise. The workflow is then completed, unless an agent changed it since (I001-9).
        warnings: what the model and people must know of it.
        remarks: what is odd in the state file but changes nothing in the guidance; only people are told.
        next_step: the next step in somebody's own words; empty for none.
        skipped: the phases that were left out of it, of which only the log speaks.
    """

    format: str
    id: str
    title: str
    status: Status
    phases: tuple[Phase, ...]
    current: int | None
    total: int
    phase: str
    phase_status: Status | Literal[""]
    updated_at: str
    path: Path
    raw: bytes
    kind: str = ""
    reading: tuple[str, ...] = ()
    reminders: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    created_at: str = ""
    root: Path | None = None
    origin: Origin = "agent"
    plan_at: str = ""
    warnings: tuple[str, ...] = ()
    recovered: bool = False
    beside: str = ""
    paused: bool = False
    due: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    abandoned: bool = False
    ended: str = ""
    remarks: tuple[str, ...] = ()
    next_step: str = ""
    skipped: tuple[Phase, ...] = ()

    @classmethod
    def of(
        cls,
        document: Document,
        *,
        phases: tuple[Phase, ...],
        current: Phase | None,
        warnings: Iterable[str] = (),
        **values: Any,
    ) -> Workflow:
        """Return the workflow in a file that holds all its phases. The file says when it was last updated.

        Args:
            document: the file, or its last version.
            phases: all of its phases.
            current: the current one of them; None before the first and after the last.
            warnings: what the model and people must know of it.
            values: the other attributes of the class that aren't empty.
        """
        return cls(
            phases=phases,
            current=current.number if current else None,
            total=len(phases),
            phase=current.title if current else "",
            phase_status=current.status if current else "",
            updated_at=changed(document.data, document.mtime),
            path=document.path,
            raw=document.raw,
            warnings=tuple(warnings),
            **values,
        )

    @property
    def unit(self) -> str:
        """The word for its phases: phase, task."""
        return RECORDS[self.format].UNIT

    @property
    def in_order(self) -> bool:
        """Whether its phases follow one another and are named by number; otherwise they are named by id."""
        return RECORDS[self.format].IN_ORDER

    @property
    def spread(self) -> bool:
        """Whether it has its own folder, with its phases in separate files."""
        return RECORDS[self.format].SPREAD

    def named(self, phase: Phase) -> str:
        """Return a phase's name in a sentence: `phase 2/5`, `phase 2.1 (3rd of 5)`, or `task IMPL-1.2`."""
        if not self.in_order:
            return f"{self.unit} {phase.id}"
        return UNKNOWN if phase.title == UNKNOWN else f"{self.unit} {self._placed(phase)}"

    def _placed(self, phase: Phase) -> str:
        """Return a phase's label, or its number, and its place among all; a label alone if the others are unknown."""
        if not phase.label:
            return f"{phase.number}/{self.total}"
        return phase.label if self.total == 1 else f"{phase.label} ({ordinal(phase.number)} of {self.total})"

    @property
    def finished(self) -> bool:
        """Whether it is over. A failed workflow is only if it was cancelled, or if its format says so (I000-9)."""
        return self.abandoned or self.status in RECORDS[self.format].FINAL

    @property
    def resumable(self) -> bool:
        """Whether a session may go on with it unasked: it is neither finished nor paused."""
        return not self.finished and not self.paused

    def cancelled(self) -> Workflow:
        """Return this workflow as it is once it was given up: nothing in it goes on."""
        phases = tuple(each._replace(status="pending") if each.status == "active" else each for each in self.phases)
        stands = "pending" if self.phase_status == "active" else self.phase_status
        return replace(self, status="failed", abandoned=True, phases=phases, phase_status=stands)

    def with_warnings(self, *texts: str) -> Workflow:
        """Return this workflow with further warnings, each once."""
        return replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *texts))))

    @property
    def ref(self) -> str:
        """A stable key within the project: `format:path`, the path relative to the root."""
        return f"{self.format}:{self.place}"

    @property
    def key(self) -> str:
        """Its key in the ledger: its path and its id, because a path may be used again."""
        return f"{self.ref}#{self.id}"

    @property
    def place(self) -> str:
        """The state file's path: relative to the root, or absolute if it is outside."""
        place = str(self.path)  # called very often, and text is ten times as fast as paths here
        return place if self.root is None else place.removeprefix(f"{str(self.root).rstrip('/')}/")

    @property
    def position(self) -> str:
        """`2/5`: the current phase of all, with its label if that isn't its number; `0/5` before the first.

        Without a current one, and for tasks, which need not be done in order, the number of completed ones.
        """
        if not self.in_order or self.status == "completed":
            return f"{self.completed}/{self.total}"
        if self.phase == UNKNOWN:
            return UNKNOWN
        current = next((phase for phase in self.phases if phase.number == self.current), None)
        return self._placed(current) if current else f"{self.current or self.completed}/{self.total}"

    @property
    def progress_text(self) -> str:
        """Its progress in a sentence: `phase 2/5`, or `4/7 tasks completed`."""
        if self.position == UNKNOWN:
            return UNKNOWN
        return f"{self.unit} {self.position}" if self.in_order else f"{self.position} {self.unit}s completed"

    @property
    def current_name(self) -> str:
        """Its current phase's name in lists: the title without a label, for a task with the id in front."""
        if self.in_order and self.phase:
            return "" if self.phase == UNKNOWN else Phase("", self.current or 0, self.phase, "active").name
        if self.current is None or not self.phase:
            return self.phase
        return f"{self.phases[self.current - 1].id} {self.phase}"

    @property
    def word(self) -> str:
        """The status that people see: `cancelled` or `paused` if it is, else its own."""
        if self.abandoned:
            return "cancelled"
        return "paused" if self.paused else self.status

    @property
    def percent(self) -> int:
        """The percentage of completed phases, 0 to 100."""
        if not self.total:
            return 100 if self.status == "completed" else 0
        return 100 * self.completed // self.total

    @property
    def completed(self) -> int:
        """The number of completed phases; fewer than `total` in a completed workflow that was ended early."""
        listed = [phase.status for phase in self.phases].count("completed")
        if not self.in_order:
            return listed
        # If the format doesn't list every phase, unlisted phases before the current one count as completed.
        first = self.current or 1
        return listed + max(first - 1, 0) - sum(phase.number < first for phase in self.phases)


def place_of(key: str) -> str:
    """Return the path of the state file that a workflow's key names, as `Workflow.place` writes it."""
    return key.partition(":")[2].rpartition("#")[0]


def ordinal(number: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th`, …"""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


class Problem(NamedTuple):
    """A file that could not be read as the workflow it should be.

    Attributes:
        path: the file.
        fault: what is wrong with it.
        fallback: what is used instead; empty for nothing.
        remedy: what puts it right, with the command; empty if that isn't known.
        foreign: whether it is another program's file.
    """

    path: Path
    fault: str
    fallback: str = ""
    remedy: str = ""
    foreign: bool = False

    @property
    def reason(self) -> str:
        """All of it in one sentence."""
        return "; ".join(filter(None, (self.fault, self.fallback, self.remedy)))


class Foreign(NamedTuple):
    """Another program's file at one of a format's places. Holdfast leaves it alone.

    Attributes:
        path: where it is.
        meaning: what this means for you, as the rest of a sentence that begins with the path.
        in_the_way: whether you can't use the format while the file is there.
        remedy: the command that makes use of the file; empty if there is none.
        field: the field to correct if the file would be the format's own but for that; empty otherwise.
    """

    path: Path
    meaning: str
    in_the_way: bool = False
    remedy: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a format found in a project, the newest first.

    `left` is the number of workflows that were not looked at, because others changed later, or because the search was
    out of time (`search.SEARCH_TIMEOUT_S`).
    """

    workflows: tuple[Workflow, ...] = ()
    problems: tuple[Problem, ...] = ()
    left: int = 0


class Step(NamedTuple):
    """The next step: the phase, its agent, the prompt for that agent and one sentence for the model."""

    number: int
    total: int
    title: str
    agent: str
    prompt: str
    text: str


@dataclass(frozen=True, slots=True)
class Start:
    """The values of a new workflow: `phases` are (title, agent) pairs, and `total` counts phases without a name too.

    With `replace`, an unfinished workflow in its way is archived as it is.
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
    """What to change in a workflow: None leaves a value as it is, lists and `context` are added to the present ones.

    `current` counts from 1, `phase` is the current phase's title, `status` its status. `deliverables` and `handover`
    belong to the current phase, if the format stores them. `error` is what failed or blocks it, for the ledger.
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

    def with_handover(self, workflow: Workflow, note: str) -> Changes:
        """Return the changes with a note added to what the current phase hands over."""
        number = self.current or workflow.current
        before = next((each.handover for each in workflow.phases if each.number == number), "")
        return replace(self, handover="\n".join(filter(None, (before, self.handover, note))))

    def with_note(self, workflow: Workflow, note: str) -> Changes:
        """Return the changes with a note on the current phase as a context value, `phase_notes` by number or id."""
        name, current = f"{workflow.unit}_notes", self.current or workflow.current or 1
        key = next((each.id for each in workflow.phases if each.number == current and not workflow.in_order), current)
        before = self.context.get(name, workflow.context.get(name, {}))
        notes = dict(before) if isinstance(before, dict) else {"": before}
        text = "\n".join(filter(None, (str(notes.get(str(key), "")), note)))
        return replace(self, context={**self.context, name: {**notes, str(key): text}})


class Restored(NamedTuple):
    """The result of restoring an earlier content.

    Attributes:
        workflow: the workflow as it is now.
        changed: whether the file was written; not if it held that very content.
        aside: a copy of the file's previous content if that isn't a version; else None.
    """

    workflow: Workflow
    changed: bool
    aside: Path | None = None


class Judged(NamedTuple):
    """The result of moving a phase because of its agent.

    Attributes:
        workflow: the workflow as it is now.
        changed: whether anything changed.
        remark: what is unusual about it, in a few words.
        notes: further sentences for the model.
    """

    workflow: Workflow
    changed: bool
    remark: str = ""
    notes: tuple[str, ...] = ()


class Brief(NamedTuple):
    """What an agent is told about the phase that it was launched for.

    Attributes:
        lines: its text, which may be long.
        command: the command that prints all of it.
    """

    lines: tuple[str, ...]
    command: str


class Detected(NamedTuple):
    """The result of saving what people's own files describe.

    Attributes:
        path: the state file that has it now, None for none.
        report: what to write to the log; empty if nothing was found.
        failed: whether it could not be saved.
        unread: the key of the workflow if the file that describes it was not read to its end; else empty.
        removed: the key of the workflow if it isn't saved because its state file was removed; else empty.
        waiting: files in progress that aren't saved unasked, relative to the root: they are too old, or nothing shows
            which one the session works on.
    """

    path: Path | None = None
    report: str = ""
    failed: bool = False
    unread: str = ""
    removed: str = ""
    waiting: tuple[str, ...] = ()


class DetectionReport(NamedTuple):
    """What a format sees in people's own files, and what it would save next.

    Attributes:
        candidates: the files that were looked at: path, method, accepted, reasons, warnings.
        detected: the workflow that was found (`name`, `current`, `total`, `phase`, `source`, …), or None.
        action: what the next save would do: created, updated, unchanged, buried, none, or why it can't do anything.
        path: the state file that it would do that to.
        saved: the workflow after that; None if nothing would be written.
        files: the workflow in every state file of the format, older files of the same workflow included.
    """

    candidates: tuple[Mapping[str, Any], ...] = ()
    detected: Mapping[str, Any] | None = None
    action: str = "none"
    path: Path | None = None
    saved: Workflow | None = None
    files: tuple[Workflow, ...] = ()
