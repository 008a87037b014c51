"""The `skills` format: state machines of skills in `.claude/workflow-state/` (document 004)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, StateError, TransitionError
from holdfast.formats.skills import candidates as candidate
from holdfast.formats.skills import display, folder, lookup, places, reader, store, transitions, units, view
from holdfast.formats.skills import file as files
from holdfast.formats.skills.next import step
from holdfast.formats.skills.past import parsed, restore, written
from holdfast.workflow import assignments, extras, statefile, values
from holdfast.workflow.model import Brief, Changes, Found, Judged, Problem, Start, Workflow

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from holdfast.files.transcript import Work
    from holdfast.formats.skills.machine import Machine
    from holdfast.workflow.model import Phase, Status
    from holdfast.workflow.records import Records

__all__ = [
    "NAME",
    "asked",
    "begin",
    "brief",
    "candidates",
    "compacted",
    "done",
    "evidence",
    "find",
    "judge",
    "match_phase",
    "parsed",
    "ready",
    "restore",
    "start",
    "step",
    "undoing",
    "update",
    "with_keys",
    "written",
]

NAME = files.NAME
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


def begin(project: Records, workflow: Workflow) -> Workflow:
    """Begin the first phase or task that is pending; do nothing while one is in progress."""
    return store.change(project, workflow, units.begin_next, why="begin")[0]


def done(project: Records, workflow: Workflow, *, note: str = "", everything: bool = False) -> Workflow:
    """Complete the current phase or task and begin the next; the last one completes the workflow.

    With `everything`, the workflow ends. The active phase or task is completed if it can be; what is left stays open.
    Nothing happens if somebody else completed it meanwhile. Raises TransitionError while a checkpoint of the phase is
    open or failed, or if the workflow is blocked.
    """
    if not workflow.phases and not everything:
        raise TransitionError(f"{workflow.place} has no phases recorded; `holdfast done --all` completes the workflow")
    unit = _due(workflow)

    def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
        if files.status(data) in files.FINAL:
            return
        if unit and units.status(data, unit) == "completed":
            return
        _note(data, unit, note)
        if everything:
            if unit and units.status(data, unit) == "in_progress":
                with suppress(TransitionError):  # its checkpoints are open, so nobody can say that it is completed
                    units.complete(data, rules, unit, at)
            transitions.end(data, rules, at, early=True)
            return
        if unit:
            units.complete(data, rules, unit, at)
        if units.are_completed(data, rules):
            transitions.end(data, rules, at)
        else:
            units.begin_next(data, rules, at)

    with store.held(project, workflow):
        now, _ = store.change(project, workflow, edit, why="done")
        return store.move_away(project, now) if now.finished else now


def update(project: Records, workflow: Workflow, changes: Changes) -> Workflow:
    """Change the status, name or note of the current phase or task, or of number `changes.current`.

    Reading and reminders are kept in `extra/`, the context in the state. A broken state file is replaced by its last
    content with the changes applied, even if they change nothing. Raises TransitionError.
    """
    unit = _meant(workflow, changes)
    if changes.total not in (None, workflow.total) or changes.deliverables:
        raise TransitionError(f"a skill's workflow has the phases it lists, {workflow.total}, and no deliverables")
    if changes.error and changes.status not in ("blocked", "failed"):
        raise TransitionError("an error belongs to a phase that is blocked; give --status blocked with it")

    def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
        if unit:
            _apply(data, rules, unit, changes, at)
        if changes.context:
            data["context"] = {**values.mapping(data.get("context"), "context", []), **changes.context}
            data["workflow"]["updated_at"] = at

    with store.held(project, workflow):
        store.change(project, workflow, edit, why="update", error=changes.error, repair=True)
        extras.add(project, workflow.path, workflow.id, replace(changes, context={}))
        return view.merged(project, view.read(project, workflow.path))[0]


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
    from holdfast.formats.skills import evidence as taking  # here, for only three kinds of events have any

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
    return Brief(display.brief(seen, number, task), f"holdfast show {workflow.id}")


def ready(workflow: Workflow) -> tuple[Phase, ...]:
    """Return the phase or task that is due, if none is in progress: they follow one another."""
    if workflow.status == "blocked" or any(each.status == "active" for each in workflow.phases):
        return ()
    return tuple(each for each in workflow.phases if each.id == _due(workflow))


def undoing(phase_id: str) -> str:
    """Return the command with which a person makes a completed phase or task active again."""
    number = files.task_number(phase_id)
    return f"holdfast skills task {number} --reopen" if number is not None else f"holdfast skills phase {phase_id}"


def _due(workflow: Workflow) -> str:
    """Return the id of the current unit, else of the first that isn't completed; empty at the end."""
    if workflow.current is not None:
        return workflow.phases[workflow.current - 1].id
    return next((each.id for each in workflow.phases if each.status != "completed"), "")


def _meant(workflow: Workflow, changes: Changes) -> str:
    """Return the id of the unit that a change is about, empty for none. Raises TransitionError."""
    wanted = changes.phase or changes.status or changes.handover is not None or changes.current is not None
    if not wanted:
        return ""
    if changes.current is not None:
        if not 1 <= changes.current <= workflow.total:
            raise TransitionError(f"{workflow.unit} {changes.current} is not one of the {workflow.total}")
        return workflow.phases[changes.current - 1].id
    due = _due(workflow)
    if not due:
        raise TransitionError(f"no {workflow.unit} is current; name one with --current")
    return due


def _apply(data: dict[str, Any], rules: Machine, unit: str, changes: Changes, at: str) -> None:
    status = changes.status or ("active" if changes.current is not None else None)
    number = files.task_number(unit)
    if status == "pending":
        raise TransitionError("a phase that has begun can't become pending again; block it instead")
    if status in ("blocked", "failed"):
        _block(data, unit, number, changes.error, at)
    elif status == "active":
        if units.status(data, unit) == "blocked":
            transitions.unblock(data, at)
        units.begin(data, rules, unit, at)
    elif status == "completed":
        units.complete(data, rules, unit, at)
    if changes.phase:
        _rename(data, rules, unit, changes.phase, at)
    _note(data, unit, changes.handover or "")


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
