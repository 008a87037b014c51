"""The `skills` format: state machines of skills in `.claude/workflow-state/` (document 004)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, StateError, TransitionError
from holdfast.formats.skills import candidates as candidate
from holdfast.formats.skills import display, folder, lookup, places, reader, store, transitions, units, view
from holdfast.formats.skills import evidence as taking
from holdfast.formats.skills import file as files
from holdfast.formats.skills.next import step
from holdfast.formats.skills.past import parsed, restore, written
from holdfast.workflow import assignments, extras, statefile, values
from holdfast.workflow.draft import Draft
from holdfast.workflow.model import Brief, Changes, Found, Judged, Problem, Start, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from holdfast.clients.client import Work
    from holdfast.formats.skills.machine import Machine
    from holdfast.workflow.model import Phase, Status
    from holdfast.workflow.records import Records

__all__ = [
    "CLEARS_FINISHED",
    "NAME",
    "asked",
    "brief",
    "candidates",
    "change",
    "compacted",
    "evidence",
    "find",
    "judge",
    "match_phase",
    "parsed",
    "restore",
    "start",
    "step",
    "with_keys",
    "written",
]

NAME = files.NAME
CLEARS_FINISHED = True
_BUDGET_BYTES = 16 * statefile.LIMIT_BYTES  # bytes of them


def find(project: Records) -> Found:
    """Return the project's unfinished workflows, and those that were finished but not moved away yet.

    Of very many files the last changed ones are read, as far as `folder.MOST` and `_BUDGET_BYTES` go. A
    problem says how many were not.
    """
    try:
        names, others = folder.readable(project)
    except StateError as error:
        return Found(problems=(Problem(error.path, error.reason),))
    found = reader.read(project, names, statefile.Room(_BUDGET_BYTES))
    left = found.left + others
    if not left:
        return found
    said = f"{folder.left_out(len(names) + others, left)}. `{folder.CLEANUP}` removes old ones"
    told = Problem(places.active(project), said)
    return replace(found, left=left, problems=(told, *found.problems))


def candidates(project: Records, keys: Collection[str]) -> Found:
    """Return the workflows that an event can be about: those with these keys, and the last changed."""
    try:
        names, left = candidate.names(project, keys)
    except StateError as error:
        return Found(problems=(Problem(error.path, error.reason),))
    found = reader.read(project, names, statefile.Room())
    return replace(found, left=found.left + left)


def with_keys(project: Records, keys: Collection[str]) -> Found:
    """Return the workflows with these keys, and no others."""
    return reader.read(project, candidate.wanted(project, keys), statefile.Room())


def start(project: Records, start: Start) -> Workflow:
    """Start a workflow of the skill that is its type, or of phases of its own; nothing begins yet."""
    made = store.create(project, store.planned(project, start), start)
    if made.aside is None:
        return made.workflow
    warning = f"{store.CORRUPTED} It is kept as {made.aside.name}"
    return replace(made.workflow, warnings=(*made.workflow.warnings, warning))


def change(
    project: Records,
    workflow: Workflow,
    edit: Callable[[Draft], None],
    *,
    why: str,
    error: str = "",
    repair: bool = False,
) -> Workflow:
    """Run `edit` on the workflow's draft, then write its state; one that is over is moved to `completed/`.

    `repair` writes a broken file again from its last content, even if nothing changes. Raises TransitionError,
    StateError.
    """
    made: list[_Draft] = []

    def apply(data: dict[str, Any], rules: Machine, at: str) -> None:
        made[:] = [_Draft(data, rules, at)]
        edit(made[0])

    with store.held(project, workflow):
        now, _ = store.change(project, workflow, apply, why=why, error=error, repair=repair)
        if made[0].extra is not None:
            extras.add(project, workflow.path, workflow.id, made[0].extra)
            now = view.merged(project, view.read(project, workflow.path))[0]
        return store.move_away(project, now) if now.finished else now


class _Draft(Draft):
    """The JSON of one state during one change, with the machine of its skill."""

    unit_word = "step"

    def __init__(self, data: dict[str, Any], rules: Machine, at: str) -> None:
        self.data, self.rules, self.at = data, rules, at
        self.extra: Changes | None = None

    def units(self) -> Sequence[Phase]:
        return view.read_units(self.data, self.rules, [])

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        number = files.task_number(id)
        _note(self.data, id, note)
        if status == "pending":
            self.refuse("a step that has begun can't become pending again; block it instead")
        if status in ("blocked", "failed"):
            _block(self.data, id, number, reason, self.at)
        elif status == "active":
            if units.status(self.data, id) == "blocked":
                transitions.unblock(self.data, self.at)
            units.begin(self.data, self.rules, id, self.at)
        else:
            units.complete(self.data, self.rules, id, self.at)

    def reopen(self, id: str) -> None:
        units.reopen(self.data, self.rules, id, self.at)

    def end(self, *, early: bool) -> None:
        if files.status(self.data) not in files.FINAL:
            transitions.end(self.data, self.rules, self.at, early=early)

    def cancel(self, reason: str) -> None:
        transitions.abandon(self.data, reason, self.at)

    def add(self, changes: Changes) -> None:
        if changes.context:
            self.data["context"] = {**values.mapping(self.data.get("context"), "context", []), **changes.context}
            self.data["workflow"]["updated_at"] = self.at
        if changes.reading or changes.reminders:
            self.extra = replace(changes, context={})

    def rename(self, id: str, title: str) -> None:
        _rename(self.data, self.rules, id, title, self.at)

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        if deliverables:
            self.refuse("a skill's workflow keeps no deliverables")
        _note(self.data, id, text or "")

    def following(self, completed: str = "") -> Phase | None:
        unit = units.due(self.data, self.rules)
        phase = self.unit(unit) if unit else None
        return phase if phase is not None and phase.status == "pending" else None


def judge(project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
    """Move a phase or task because of its agent: a failed one is blocked, and what can't move now stays as it is.

    What a completed one hands over is read from the agent's words and kept as its note.

    A hook never completes the workflow. If all is completed, that is left to whoever works on it.
    """

    def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
        number = files.task_number(phase_id)
        over = units.status(data, phase_id) == "completed"
        if over or files.status(data) != "in_progress":
            return
        if status == "active":
            units.begin(data, rules, phase_id, at)
        elif status == "completed":
            units.complete(data, rules, phase_id, at)
            _note(data, phase_id, assignments.extract_result(words)[1])
            units.begin_next(data, rules, at)
        else:
            _block(data, phase_id, number, words, at)

    try:
        now, changed = store.change(
            project, workflow, edit, why=f"{phase_id} {status}", error=words if status == "failed" else ""
        )
    except TransitionError as refused:
        return Judged(workflow, changed=False, remark=str(refused))
    return Judged(now, changed)


def match_phase(workflow: Workflow, text: str, agent: str) -> Phase | None:
    """Return the phase or task an agent was launched for (`assignments.match_phase`)."""
    return assignments.match_phase(workflow, text, agent)


def evidence(project: Records, workflow: Workflow, work: Sequence[Work]) -> list[str]:
    """Record what the transcript shows of a workflow, and return what its session should hear (`evidence.take`)."""
    return taking.take(project, workflow, work)


def compacted(project: Records, workflow: Workflow) -> Workflow:
    """Note in the history that a session goes on after a compaction (R004-18); nothing changes in one that is over."""

    def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
        if files.status(data) not in files.FINAL:
            transitions.note(data, at, "context_compacted", note="session resumed")

    return store.change(project, workflow, edit, why="compaction")[0]


def asked(project: Records, command: str, argument: str) -> list[Workflow]:
    """Return the unfinished workflows of the skill `command` that its argument means (R004-30, I004-17)."""
    try:
        return lookup.named(project, argument, command, briefly=True) if places.is_skill(command) else []
    except StateError:  # what can't be looked at is told where workflows are listed
        return []


def brief(project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
    """Return a task as its agent gets it, with the part of it that is due (red, green, refactor); None for a phase."""
    number = files.task_number(phase.id)
    if number is None:
        return None
    try:
        seen = view.read(project, workflow.path)
        task = transitions.task(seen.data, number)
    except HoldfastError:
        return None
    return Brief(display.brief(seen, number, task), f"holdfast status {workflow.id}")


def _block(data: dict[str, Any], unit: str, number: int | None, reason: str, at: str) -> None:
    if number is None and transitions.current(data) != unit:
        raise TransitionError(f"{unit} is not the current phase, so it can't be blocked")
    transitions.block(data, reason, at, number=number)


def _rename(data: dict[str, Any], rules: Machine, unit: str, name: str, at: str) -> None:
    entry = units.entry(data, unit)
    if files.task_number(unit) is not None:
        entry["description"] = name
    elif rules.stage(unit).label or rules.cycle:
        raise TransitionError(f"the phases of {rules.name} have the names that its machine gives them")
    else:
        entry["name"] = name
        if transitions.current(data) == unit:
            data["state_machine"]["current_phase"] = name
    data["workflow"]["updated_at"] = at


def _note(data: dict[str, Any], unit: str, note: str) -> None:
    if unit and note.strip():
        units.entry(data, unit)["note"] = note.strip()
