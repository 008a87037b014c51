"""The transitions of a skill's workflow, on the JSON state itself (R004-25 to R004-29)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import TransitionError
from holdfast.formats.skills import file as files
from holdfast.workflow import values
from holdfast.workflow.wording import missing, plural, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.formats.skills.machine import Machine

PULL_REQUEST = "pr_created"
"""The checkpoint of the pull request."""


def note(data: dict[str, Any], at: str, event: str, **more: Any) -> None:
    """Append an event to the history, and move `updated_at`. What the history holds already stays (I004-20)."""
    history = data.get("history")
    data["history"] = [*(history if isinstance(history, list) else []), {"at": at, "event": event, **more}]
    data["workflow"]["updated_at"] = at


def current(data: Mapping[str, Any]) -> str:
    """Return the name of the current phase."""
    return values.text(data["state_machine"].get("current_phase"))


def phase(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the phase of this name. Raises TransitionError that names those there are."""
    found = files.phases(data)
    if name not in found:
        raise TransitionError(missing(f"phase {name!r}", list(found), "no phases are recorded"))
    return found[name]


def task(data: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the task with this number from 1 (I004-12). Raises TransitionError if there is none."""
    found = files.tasks(data)
    if not 1 <= number <= len(found):
        there = f"tasks are numbered 1 to {len(found)}" if found else "the workflow has no tasks"
        raise TransitionError(f"there is no task {number}; {there}")
    return found[number - 1]


def settle(data: dict[str, Any], rules: Machine) -> None:
    """Make the statuses of the phases agree with the current phase, which decides: the document moves that alone.

    Phases before it are completed, later ones are pending, and it is in progress unless it is blocked or completed.
    While it isn't the phase of tasks, no task is in progress. If no phase is current, the statuses stay.
    """
    found, name = files.phases(data), current(data)
    listed = files.tasks(data) if rules.task_phase in found else []
    tasks = [each for each in listed if files.normal(each.get("status")) == "in_progress"]
    if name not in found and tasks:
        name = data["state_machine"]["current_phase"] = rules.task_phase
    if name not in found and files.normal(name) != "completed":
        return
    order = list(found)
    at = order.index(name) if name in found else len(order)
    for each in tasks if name != rules.task_phase else ():
        each["status"] = "pending"
    for id_ in order[:at]:
        _set(found[id_], "completed")
    if name in found and files.normal(found[name].get("status")) != "blocked" and not _is_left(data, order[at:]):
        _set(found[name], "in_progress")
    for id_ in order[at + 1 :]:
        _set(found[id_], "pending")


def _is_left(data: Mapping[str, Any], names: list[str]) -> bool:
    """Return whether the first of these phases is completed, and was not begun again by the document's transition."""
    found = files.phases(data)
    if not _is_done(found[names[0]]) or any(files.normal(found[each].get("status")) != "pending" for each in names[1:]):
        return False
    about = [each.get("event") for each in files.history(data) if each.get("phase") == names[0]]
    return about[-1:] != ["phase_started"]


def enter(data: dict[str, Any], rules: Machine, name: str, at: str) -> None:
    """Make a phase the current one (I004-11). The phase before it is completed (I004-10), unless this goes back.

    Nothing changes if the phase is current already. A machine with a cycle begins the next round with its first phase.

    Raises:
        TransitionError: the workflow is blocked or over, the machine doesn't allow this now, or the phase before can't
            be completed yet.
    """
    wanted, before = phase(data, name), current(data)
    must_go_on(data)
    if before == name and files.normal(wanted.get("status")) == "in_progress":
        return
    _must_be_allowed(rules, before, name, started=files.normal(wanted.get("status")) != "pending")
    order = [each.name for each in rules.stages]
    forward = before not in order or order.index(name) > order.index(before)
    again = bool(rules.cycle) and name == order[0] and before == order[-1]
    if before in order and before != name and (forward or again):
        complete(data, rules, before, at)
    if again:
        _next_round(data, rules)
    _go_to(data, rules, name, at)
    note(data, at, "phase_started", phase=name)


def complete(data: dict[str, Any], rules: Machine, name: str, at: str) -> None:
    """Complete a phase; nothing changes if it is completed.

    Raises TransitionError while its tasks or checkpoints are open, or if a checkpoint failed (I004-8).
    """
    done = phase(data, name)
    must_go_on(data)
    if files.normal(done.get("status")) == "completed":
        return
    if name == rules.task_phase:
        left = [str(number) for number, each in enumerate(files.tasks(data), 1) if not _is_done(each)]
        if left:
            raise TransitionError(
                f"{name} can't be completed while {plural(len(left), 'task')} {', '.join(left)} of "
                f"{len(files.tasks(data))} {'is' if len(left) == 1 else 'are'} open"
            )
    if waits := unmet(data, rules.stage(name).requires):
        ways = "`holdfast skills checkpoint NAME --passed` records that one passed"
        if rules.stage(name).requires == (PULL_REQUEST,):
            ways = "`holdfast skills pr --number N` records the pull request"
        raise TransitionError(f"{name} can't be completed: {'; '.join(waits)}. {ways}")
    done["status"] = "completed"
    done["completed_at"] = at
    note(data, at, "phase_completed", phase=name)


def unmet(data: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    """Return which of these checkpoints are pending or failed, in words."""
    points = files.checkpoints(data)
    open_ = [name for name in names if name in points and not files.ran(points[name])]
    bad = [name for name in names if name in points and files.failed(points[name])]
    said = [f"{', '.join(open_)} pending"] if open_ else []
    return said + ([f"{', '.join(bad)} failed"] if bad else [])


def start_task(data: dict[str, Any], rules: Machine, number: int, at: str) -> None:
    """Begin a task, and the phase of tasks with it. Raises TransitionError if it is completed or the phase can't be."""
    found = task(data, number)
    must_go_on(data)
    if _is_done(found):
        raise TransitionError(f"task {number} is completed; start another one")
    if rules.task_phase in files.phases(data):
        enter(data, rules, rules.task_phase, at)
    if files.normal(found.get("status")) == "in_progress":
        return
    found["status"] = "in_progress"
    note(data, at, "task_started", task=number)


def complete_task(data: dict[str, Any], number: int, at: str, *, commit: str = "", **more: Any) -> None:
    """Complete a task, with the commit that has it (R004-26).

    Nothing changes if it is completed, but a commit is added to a task that has none. Raises TransitionError for
    another commit.
    """
    found = task(data, number)
    must_go_on(data)
    had = values.text(found.get("commit_sha"))
    if _is_done(found) and (not commit or commit == had):
        return
    if _is_done(found) and had:
        ways = f"`holdfast skills task {number} --reopen` lets you change that"
        raise TransitionError(f"task {number} is completed with commit {had}; {ways}")
    if commit:
        found["commit_sha"] = commit
    event = "commit_recorded" if _is_done(found) else "task_completed"
    found["status"] = "completed"
    if isinstance(found.get("tdd_phases"), dict):
        found["tdd_phases"] = {
            name: "completed" if files.normal(value) == "in_progress" else value
            for name, value in found["tdd_phases"].items()
        }
    note(data, at, event, task=number, **({"commit": commit} if commit else {}), **more)


def reopen(data: dict[str, Any], rules: Machine, name: str, at: str) -> None:
    """Make a completed phase the current one again, for people only: whatever the machine allows.

    Later phases are pending again. Nothing changes if it isn't completed.
    """
    found = phase(data, name)
    must_go_on(data)
    if _is_done(found):
        _go_to(data, rules, name, at)
        note(data, at, "phase_reopened", phase=name)


def reopen_task(data: dict[str, Any], rules: Machine, number: int, at: str) -> None:
    """Make a completed task active again, for people only, and the phase of tasks the current one.

    Later phases are pending again, and so is another task in progress. Nothing changes if it isn't completed.
    """
    found = task(data, number)
    must_go_on(data)
    if not _is_done(found):
        return
    for each in files.tasks(data):
        if files.normal(each.get("status")) == "in_progress":
            each["status"] = "pending"
    if rules.task_phase in files.phases(data):
        _go_to(data, rules, rules.task_phase, at)
    found["status"] = "in_progress"
    note(data, at, "task_reopened", task=number)


def block(data: dict[str, Any], reason: str, at: str, *, number: int | None = None) -> None:
    """Block the workflow with its current phase, or with task `number` (R004-03, I004-19)."""
    if files.status(data) in files.FINAL:
        raise TransitionError(f"the workflow is {files.status(data)}")
    unit = task(data, number) if number is not None else _current_phase(data)
    again = unit is None or files.normal(unit.get("status")) == "blocked"
    if files.status(data) == "blocked" and again and data["workflow"].get("block_reason") == (reason or None):
        return
    data["workflow"]["status"] = "blocked"
    data["workflow"]["blocked_at"] = at
    data["workflow"]["block_reason"] = reason or None
    if unit is not None and files.normal(unit.get("status")) != "completed":
        unit["status"] = "blocked"
    note(data, at, "workflow_blocked", **({"task": number} if number is not None else {}), reason=reason or None)


def unblock(data: dict[str, Any], at: str) -> None:
    """Let a blocked workflow go on where it stopped. Raises TransitionError if it is over."""
    if files.status(data) in files.FINAL:
        raise TransitionError(f"the workflow is {files.status(data)}")
    every = (*files.phases(data).values(), *files.tasks(data))
    units = [each for each in every if files.normal(each.get("status")) == "blocked"]
    if files.status(data) != "blocked" and not units:
        return
    for each in units:
        each["status"] = "in_progress"
    data["workflow"]["status"] = "in_progress"
    for name in ("blocked_at", "block_reason"):
        data["workflow"].pop(name, None)
    note(data, at, "workflow_unblocked")


def end(data: dict[str, Any], rules: Machine, at: str, *, everything: bool = False, early: bool = False) -> None:
    """Complete the workflow (R004-28).

    Args:
        data: the state.
        rules: the machine.
        at: the time, a UTC stamp.
        everything: complete the phases and tasks that are open before.
        early: leave them as they are, so that nothing says that they were worked on.

    Raises:
        TransitionError: phases are open, with neither of these. Or a checkpoint failed.
    """
    must_go_on(data)
    bad = [name for name, each in files.checkpoints(data).items() if files.failed(each)]
    if bad:
        raise TransitionError(
            f"{', '.join(bad)} failed, so the workflow can't be completed; run it again and record it with "
            f"`holdfast skills checkpoint {bad[0]} --passed`"
        )
    left = {id_: each for id_, each in files.phases(data).items() if not _is_done(each)}
    open_tasks = [number for number, each in enumerate(files.tasks(data), 1) if not _is_done(each)]
    if not (files.phases(data) or everything or early):
        raise TransitionError("no phases are recorded; `holdfast skills complete --all` completes the workflow")
    if (left or open_tasks) and not (everything or early):
        names = [*left, *(f"task {number}" for number in open_tasks)]
        said = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not completed"
        raise TransitionError(f"{said}; `holdfast skills complete --all` completes what is open, too")
    for number in open_tasks * everything:
        complete_task(data, number, at)
    for id_, each in left.items() if everything else ():
        each["status"] = "completed"
        each["completed_at"] = at
        note(data, at, "phase_completed", phase=id_)
    data["workflow"]["status"] = "completed"
    data["workflow"]["completed_at"] = at
    note(data, at, "workflow_completed")


def abandon(data: dict[str, Any], reason: str, at: str) -> None:
    """Give the workflow up for good (I004-19); nothing changes if it is. Raises TransitionError if it is completed."""
    if files.status(data) == "abandoned":
        return
    if files.status(data) == "completed":
        raise TransitionError("the workflow is completed")
    data["workflow"]["status"] = "abandoned"
    data["workflow"]["abandoned_at"] = at
    data["workflow"]["abandon_reason"] = reason or None
    note(data, at, "workflow_abandoned", reason=reason or None)


def must_go_on(data: Mapping[str, Any]) -> None:
    """Raise TransitionError if a workflow is blocked or over."""
    status = files.status(data)
    if status == "blocked":
        reason = values.text(data["workflow"].get("block_reason"))
        why = f": {quoted(reason, 200)}" if reason else ""
        raise TransitionError(f"the workflow is blocked{why}; `holdfast skills unblock` continues it")
    if status in files.FINAL:
        raise TransitionError(f"the workflow is {status}; `holdfast skills start` starts another")


def _must_be_allowed(rules: Machine, before: str, name: str, *, started: bool) -> None:
    allowed = rules.allowed(before)
    if name in allowed or (name == before and started):
        return
    here = before in {each.name for each in rules.stages}
    said = f"{before} can't be followed by {name!r}" if here else f"a workflow can't begin with {name!r}"
    ways = f"allowed: {', '.join(allowed)}" if allowed else "nothing follows it"
    raise TransitionError(f"{said}; {ways}")


def _go_to(data: dict[str, Any], rules: Machine, name: str, at: str) -> None:
    """Make a phase the current one, and the statuses of all agree with that."""
    found = phase(data, name)
    data["state_machine"]["current_phase"] = name
    data["state_machine"].pop("current_step", None)
    if found.get("status") != "in_progress":
        _set(found, "in_progress")
        found["started_at"] = at
    settle(data, rules)


def _set(entry: dict[str, Any], status: str) -> None:
    """Give a phase another status, without times that contradict it."""
    if files.normal(entry.get("status")) == status:
        return
    entry["status"] = status
    for name in {"pending": ("started_at", "completed_at"), "in_progress": ("completed_at",)}.get(status, ()):
        entry.pop(name, None)


def _next_round(data: dict[str, Any], rules: Machine) -> None:
    """Begin the next round: phases are pending again, without what the last round wrote into them."""
    state = data["state_machine"]
    state[rules.cycle] = (values.number(state.get(rules.cycle)) or 1) + 1
    for id_, each in files.phases(data).items():
        _set(each, "pending")
        for name in rules.stage(id_).fields:
            each.pop(name, None)


def _current_phase(data: Mapping[str, Any]) -> dict[str, Any] | None:
    found = files.phases(data)
    return found.get(current(data)) or next(iter(found.values()), None)


def _is_done(entry: Mapping[str, Any]) -> bool:
    return files.normal(entry.get("status")) == "completed"
