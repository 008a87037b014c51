"""The transitions of a skill's workflow, and the moves of its units: phases and tasks alike (R004-25 to R004-29)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import TransitionError, command_line
from holdfast.formats.skills import paths, schema
from holdfast.formats.skills.schema import set_status, status_of, task_number
from holdfast.workflow import values
from holdfast.workflow.wording import plural, quoted

if TYPE_CHECKING:
    from holdfast.formats.skills.schema import State

UNBLOCK = "holdfast update --status active"


def enter(state: State, name: str) -> None:
    """Make a phase the current one (I004-11). The phase before it is completed (I004-10), unless this goes back.

    Nothing changes if the phase is current already. A machine with a cycle begins the next round with its first phase.

    Raises:
        TransitionError: the workflow is blocked or over, the machine doesn't allow this now, or the phase before can't
            be completed yet.
    """
    wanted, before, order = state.phase(name), state.current, state.rules.order
    ensure_unblocked(state)
    if before == name and status_of(wanted) == "in_progress":
        return
    allowed = state.rules.allowed(before)
    if name not in allowed and not (name == before and status_of(wanted) != "pending"):
        start = f"{before} can't be followed by" if before in order else "a workflow can't begin with"
        ways = f"allowed: {', '.join(allowed)}" if allowed else "nothing follows it"
        raise TransitionError(f"{start} {name!r}; {ways}")
    is_forward = before not in order or order.index(name) > order.index(before)
    is_next_round = bool(state.rules.cycle) and name == order[0] and before == order[-1]
    if before in order and before != name and (is_forward or is_next_round):
        complete(state, before)
    if is_next_round:
        _begin_round(state)
    _go_to(state, name)
    state.note("phase_started", phase=name)


def complete(state: State, name: str) -> None:
    """Complete a phase; nothing changes if it is completed.

    Raises TransitionError while its tasks or checkpoints are open, or if a checkpoint failed (I004-8).
    """
    phase = state.phase(name)
    ensure_unblocked(state)
    if status_of(phase) == "completed":
        return
    if name == state.rules.tasks.phase and (left := _open_tasks(state)):
        raise TransitionError(
            f"{name} can't be completed while {plural(len(left), 'task')} {', '.join(map(str, left))} of "
            f"{len(state.tasks)} {'is' if len(left) == 1 else 'are'} open"
        )
    if unmet := state.open_checkpoints(state.rules.stage(name).needed):
        reasons = "; ".join(f"{', '.join(names)} {word}" for word, names in unmet.items())
        ways = "`holdfast skills checkpoint NAME --passed` records that one passed"
        raise TransitionError(f"{name} can't be completed: {reasons}. {ways}")
    phase["status"] = "completed"
    phase["completed_at"] = state.at
    state.note("phase_completed", phase=name)


def start_task(state: State, number: int) -> None:
    """Begin a task, and the phase of tasks with it. Raises TransitionError if it is completed or the phase can't be."""
    task = state.task(number)
    ensure_unblocked(state)
    if status_of(task) == "completed":
        raise TransitionError(f"task {number} is completed; start another one")
    if state.rules.tasks.phase in state.phases:
        enter(state, state.rules.tasks.phase)
    if status_of(task) != "in_progress":
        task["status"] = "in_progress"
        state.note("task_started", task=number)


def complete_task(state: State, number: int, *, commit: str = "") -> None:
    """Complete a task, with the commit that has it (R004-26).

    Nothing changes if it is completed, but a commit is added to a task that has none. Raises TransitionError for
    another commit.
    """
    task = state.task(number)
    ensure_unblocked(state)
    recorded, is_done = values.text(task.get("commit_sha")), status_of(task) == "completed"
    if is_done and (not commit or commit == recorded):
        return
    if is_done and recorded:
        ways = f"`holdfast skills task {number} --reopen` lets you change that"
        raise TransitionError(f"task {number} is completed with commit {recorded}; {ways}")
    if commit:
        task["commit_sha"] = commit
    task["status"] = "completed"
    if isinstance(parts := task.get("tdd_phases"), dict):
        task["tdd_phases"] = {
            name: "completed" if schema.status_word(value) == "in_progress" else value for name, value in parts.items()
        }
    event = "commit_recorded" if is_done else "task_completed"
    state.note(event, task=number, **({"commit": commit} if commit else {}))


def block(state: State, reason: str, *, task: int | None = None) -> None:
    """Block the workflow with its current phase, or with a task (R004-03, I004-19)."""
    _ensure_not_over(state)
    current = state.phases.get(state.current) or next(iter(state.phases.values()), None)
    unit = current if task is None else state.task(task)
    is_blocked = unit is None or status_of(unit) == "blocked"
    if state.status == "blocked" and is_blocked and state.workflow.get("block_reason") == (reason or None):
        return
    state.workflow.update(status="blocked", blocked_at=state.at, block_reason=reason or None)
    if unit is not None and status_of(unit) != "completed":
        unit["status"] = "blocked"
    state.note("workflow_blocked", **({} if task is None else {"task": task}), reason=reason or None)


def unblock(state: State) -> None:
    """Let a blocked workflow go on where it stopped. Raises TransitionError if it is over."""
    _ensure_not_over(state)
    for each in (*state.phases.values(), *state.tasks):
        if status_of(each) == "blocked":
            each["status"] = "in_progress"
    state.workflow["status"] = "in_progress"
    for name in ("blocked_at", "block_reason"):
        state.workflow.pop(name, None)
    state.note("workflow_unblocked")


def end(state: State, *, early: bool) -> None:
    """Complete the workflow (R004-28).

    Args:
        state: the state.
        early: leave phases and tasks that are open as they are, so that nothing says that they were worked on. Without
            it, `verbs.done` has made sure that every unit is completed.

    Raises:
        TransitionError: a checkpoint failed, or without `early` one of the phase of tasks is open.
    """
    ensure_unblocked(state)
    if failed := state.open_checkpoints(state.checkpoints).get("failed"):
        identity = paths.identity(state.data, state.path)
        raise TransitionError(
            f"{', '.join(failed)} failed, so the workflow can't be completed; run it again and record it with "
            f"`{command_line('skills', 'checkpoint', failed[0], '--passed', '--workflow', identity)}`, or give the "
            f"workflow up with `{command_line('cancel', identity)}`"
        )
    if not early and state.rules.tasks.phase in state.phases:
        complete(state, state.rules.tasks.phase)  # which may be the last one, and whose tasks are the units
    state.workflow.update(status="completed", completed_at=state.at)
    state.note("workflow_completed")


def abandon(state: State, reason: str) -> None:
    """Give the workflow up for good (I004-19); nothing changes if it is. Raises TransitionError if it is completed."""
    if state.status == "abandoned":
        return
    _ensure_not_over(state)
    state.workflow.update(status="abandoned", abandoned_at=state.at, abandon_reason=reason or None)
    state.note("workflow_abandoned", reason=reason or None)


def ensure_unblocked(state: State) -> None:
    """Raise TransitionError if a workflow is blocked or over."""
    if state.status == "blocked":
        reason = values.text(state.workflow.get("block_reason"))
        why = f": {quoted(reason, 200)}" if reason else ""
        raise TransitionError(f"the workflow is blocked{why}; `{UNBLOCK}` continues it")
    _ensure_not_over(state)


def begin_unit(state: State, unit: str) -> None:
    """Begin a unit; nothing changes if it is in progress. Raises TransitionError if it can't begin now."""
    number = task_number(unit)
    if number is not None:
        start_task(state, number)
        return
    order, task_phase = list(state.phases), state.rules.tasks.phase
    before = order[max(order.index(unit) - 1, 0)] if unit in order else ""
    if before == task_phase and state.tasks and state.current not in (before, unit):
        enter(state, before)  # its tasks were completed before it began
    enter(state, unit)


def complete_unit(state: State, unit: str) -> None:
    """Complete a unit, which begins before if it is pending. Raises TransitionError if it can't be completed now."""
    if status_of(state.unit(unit)) == "pending":
        begin_unit(state, unit)
    number = task_number(unit)
    if number is None:
        complete(state, unit)
    else:
        complete_task(state, number)


def block_unit(state: State, unit: str, reason: str) -> None:
    """Block the workflow at a unit. Raises TransitionError for a phase that isn't the current one."""
    number = task_number(unit)
    if number is None and state.current != unit:
        raise TransitionError(f"{unit} is not the current phase, so it can't be blocked")
    block(state, reason, task=number)


def reopen_unit(state: State, unit: str) -> None:
    """Make a completed unit active again, for people only: whatever the machine allows.

    Later phases are pending again, and so is another task in progress. Nothing changes if it isn't completed.
    """
    number, entry = task_number(unit), state.unit(unit)
    ensure_unblocked(state)
    if status_of(entry) != "completed":
        return
    if number is None:
        _go_to(state, unit)
        state.note("phase_reopened", phase=unit)
        return
    for each in state.tasks:
        if status_of(each) == "in_progress":
            each["status"] = "pending"
    if state.rules.tasks.phase in state.phases:
        _go_to(state, state.rules.tasks.phase)
    entry["status"] = "in_progress"
    state.note("task_reopened", task=number)


def rename_unit(state: State, unit: str, title: str) -> None:
    """Give a unit another title. Raises TransitionError for a phase that is named by its machine."""
    entry = state.unit(unit)
    if task_number(unit) is not None:
        entry["description"] = title
    elif state.rules.stage(unit).label or state.rules.cycle:
        raise TransitionError(f"the phases of {state.rules.name} have the names that its machine gives them")
    else:
        entry["name"] = title
        if state.current == unit:
            state.machine_state["current_phase"] = title
    state.workflow["updated_at"] = state.at


def due(state: State) -> str:
    """Return the unit that is in progress or blocked, else the next one that is open; empty if all are completed.

    The next one comes after the current phase, unless nothing is open there.
    """
    statuses = {unit: status_of(each) for unit, each in state.units.items()}
    name, order = state.current, list(statuses)
    begun = [unit for unit, word in statuses.items() if word in ("in_progress", "blocked")]
    if begun:
        return name if name in begun else begun[0]
    following = order[order.index(name) :] if name in order else []
    return next((unit for unit in (*following, *order) if statuses[unit] != "completed"), "")


def _open_tasks(state: State) -> list[int]:
    return [number for number, each in enumerate(state.tasks, 1) if status_of(each) != "completed"]


def _ensure_not_over(state: State) -> None:
    if state.is_over:
        raise TransitionError(f"the workflow is {state.status}; `holdfast start` starts another")


def _go_to(state: State, name: str) -> None:
    """Make a phase the current one, and the statuses of all agree with that."""
    phase = state.phase(name)
    state.machine_state["current_phase"] = name
    state.machine_state.pop("current_step", None)
    if phase.get("status") != "in_progress":
        set_status(phase, "in_progress")
        phase["started_at"] = state.at
    state.settle()


def _begin_round(state: State) -> None:
    """Begin the next round: phases are pending again, without what the last round wrote into them."""
    count = state.rules.cycle
    state.machine_state[count] = (values.number(state.machine_state.get(count)) or 1) + 1
    for id_, each in state.phases.items():
        set_status(each, "pending")
        for name in state.rules.stage(id_).fields:
            each.pop(name, None)
