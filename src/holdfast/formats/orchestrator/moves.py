"""The moves of a run: tasks, phases and the run itself. Counters and lists move together."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from holdfast.errors import TransitionError
from holdfast.formats.orchestrator import amounts, bounds, schema
from holdfast.formats.orchestrator.run import CANCELLED, ENDED_EARLY, EXECUTOR
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.formats.orchestrator.run import Run

CHECKPOINT_TASKS = 5
"""Completed tasks after which there is a checkpoint, besides that at the end of a phase."""
_FILE = re.compile(r"\S*[./]\S*")  # a deliverable that is a path, and not a description


def approve(run: Run) -> None:
    """Go from planning to executing. Raises TransitionError if the run is over."""
    ensure_open(run)
    if run.status == "planning":
        run.head["status"] = "executing"


def begin(run: Run, id_: str) -> None:
    """Start a task, or go on with one that failed as its next iteration; nothing happens if it is active.

    It leaves the pending ones (I003-3), and its iterations count from 0 (R003-08). An attempt that failed counts as one
    iteration at least.
    Raises TransitionError if the task is completed or the run is over.
    """
    ensure_open(run)
    task = run.task(id_)
    if task.status == "completed":
        raise TransitionError(f"task {id_} is completed; it can't be started again")
    run.unqueue(id_)
    if task.status == "active":
        return
    entry = run.executor(id_)
    run.head.update(status="executing", outer_ralph=run.under_review)
    if entry is None:
        entry = {"type": EXECUTOR, "task": id_, "started": run.stamp, "iteration": 0, "status": "in_progress"}
        run.listed("active_agents").append(entry)
    else:
        iteration = max(values.number(entry.get("iteration")) or 0, 1) + 1
        entry.update(started=run.stamp, iteration=iteration, status="in_progress")
    note = run.note(id_)
    note.pop("skipped", None)
    note.pop("failed", None)


def iterate(run: Run, id_: str) -> None:
    """Begin the next iteration of a task, also of one that failed or was skipped.

    Raises TransitionError for a task that is pending or completed.
    """
    ensure_open(run)
    task, entry = run.task(id_), run.executor(id_)
    if task.status == "active" and entry is not None:
        entry["iteration"] = (values.number(entry.get("iteration")) or 0) + 1
    elif task.status in ("failed", "blocked") or run.noted(id_).get("skipped"):
        begin(run, id_)
    else:
        way = f"; `holdfast update --phase {id_} --status active` starts it" if task.status == "pending" else ""
        raise TransitionError(f"task {id_} is {task.status}, so it has no next iteration{way}")


def finish(run: Run, id_: str, *, handover: str = "") -> None:
    """Complete a task (R003-15): its entry, the sums, the phase's milestone and the checkpoint move in one step.

    A task whose start was forgotten is started first. Its time includes that of attempts that failed. The last task
    of all makes the run `reviewing`; nothing completes the run but `complete`.

    Args:
        run: the run.
        id_: the task.
        handover: what the next task has to know.

    Raises:
        TransitionError: the task is completed, failed or unknown, or the run is over.
    """
    ensure_open(run)
    task = run.task(id_)
    if task.status == "completed":
        raise TransitionError(f"task {id_} is completed already")
    if task.status in ("failed", "blocked"):
        again = f"`holdfast update --phase {id_} --status active`"
        raise TransitionError(f"task {id_} is {task.status}; start it again first: {again}")
    begin(run, id_)
    entry, note = run.executor(id_) or {}, run.note(id_)
    _end_attempt(run, entry)
    run.listed("completed_tasks").append(
        {
            "task": id_,
            "name": task.title,
            "completed": run.stamp,
            "iterations": max(values.number(entry.get("iteration")) or 0, 1),
            "time_elapsed": note.pop("time", amounts.as_time(0)),
            "cost": note.pop("cost", amounts.UNKNOWN),
            "files_modified": list(dict.fromkeys(values.texts(note.pop("files", None), "files", []))),
            "success_criteria_met": values.members(note.pop("criteria", None)),
        }
    )
    if handover:
        note["handover"] = handover
    run.unqueue(id_)
    note.pop("name", None)  # which the entry has
    run.remove_agents(lambda entry: _is_executor(entry, id_))
    _settle(run, id_)


def deliver(run: Run, id_: str, deliverables: Sequence[str]) -> None:
    """Add what a task delivered: files to those that it modified, anything else to the notes."""
    entry, note = run.completed(id_), run.note(id_)
    files = [each for each in deliverables if _FILE.fullmatch(each)]
    into, key = (note, "files") if entry is None else (entry, "files_modified")
    if files:
        into[key] = list(dict.fromkeys([*values.texts(into.get(key), key, []), *files]))
    if others := [each for each in deliverables if each not in files]:
        note["delivered"] = list(dict.fromkeys([*values.texts(note.get("delivered"), "delivered", []), *others]))


def judge_criteria(run: Run, id_: str, criteria: Mapping[str, bool]) -> None:
    """Record which success criteria a task meets (R003-15)."""
    entry = run.completed(id_)
    into, key = (run.note(id_), "criteria") if entry is None else (entry, "success_criteria_met")
    into[key] = {**values.members(into.get(key)), **criteria}


def price(run: Run, id_: str, cost: str) -> None:
    """Record what a task has cost, all of its attempts together. Raises HoldfastError if the cost is no money."""
    ensure_open(run)
    holder, sums = run.completed(id_) or run.note(id_), run.part("safety_bounds")
    now, before = amounts.asked_money(cost), amounts.money(holder.get("cost")) or Decimal(0)
    holder["cost"] = amounts.as_money(now)
    sums["cost_so_far"] = amounts.as_money((amounts.money(sums.get("cost_so_far")) or Decimal(0)) - before + now)


def reopen(run: Run, id_: str) -> None:
    """Make a task active again that is completed or failed, and the run too; for people only, never for a hook.

    What the task took and cost stays in the sums, and counts with its next completion. The milestone of its phase goes,
    unless it has an issue. Raises HoldfastError if there is no such task.
    """
    task = run.task(id_)
    run.head.update(status="executing", end_time=None)
    run.notes.pop(ENDED_EARLY, None)
    run.notes.pop(CANCELLED, None)
    before, note = run.completed(id_), run.note(id_)
    if before is None:
        begin(run, id_)
        return
    names = {"time": "time_elapsed", "cost": "cost", "files": "files_modified", "criteria": "success_criteria_met"}
    note.update({name: before.get(key) for name, key in names.items() if before.get(key) != amounts.UNKNOWN})
    note["name"] = task.title
    run.data["completed_tasks"] = [each for each in run.listed("completed_tasks") if schema.task_of(each) != id_]
    phase = run.phase_name(schema.key(id_)[0])
    run.data["milestones"] = [e for e in run.listed("milestones") if e.get("name") != phase or e.get("issue_url")]
    begin(run, id_)
    (run.executor(id_) or {})["iteration"] = values.number(before.get("iterations")) or 0


def fail(run: Run, id_: str, reason: str) -> None:
    """End an attempt at a task without success; it is blocked until somebody starts it again or skips it.

    It isn't listed as completed, and what it took is in the sums. Raises TransitionError if it is completed.
    """
    ensure_open(run)
    if run.task(id_).status == "completed":
        raise TransitionError(f"task {id_} is completed, so it can't fail")
    if run.executor(id_) is None:
        begin(run, id_)
    entry = run.executor(id_) or {}
    if entry.get("status") != "blocked":
        _end_attempt(run, entry)
        entry["status"] = "blocked"
    run.note(id_)["failed"] = reason or "no reason given"


def skip(run: Run, id_: str) -> None:
    """Leave a task out of the run; it is neither pending nor completed then. Raises TransitionError if it is done."""
    ensure_open(run)
    if run.task(id_).status == "completed":
        raise TransitionError(f"task {id_} is completed, so it can't be skipped")
    entry = run.executor(id_)
    if entry is not None and entry.get("status") != "blocked":
        _end_attempt(run, entry)
    run.unqueue(id_)
    run.note(id_)["skipped"] = True
    run.remove_agents(lambda entry: _is_executor(entry, id_))
    _settle(run, id_)


def remove_agent(run: Run, id_: str) -> None:
    """Make a task pending again whose agent is gone (R003-30, I003-8).

    The time of its attempt counts for nothing, since nobody knows when it ended.
    """
    ensure_open(run)
    run.remove_agents(lambda entry: _is_executor(entry, id_))
    run.requeue(id_)


def name_issue(run: Run, id_: str, url: str) -> None:
    """Write the URL of its issue into the milestone of a task's phase (R003-19).

    Raises TransitionError if that has none because tasks of the phase are left.
    """
    number = schema.phase_of(run.task(id_).id) or 0
    _ensure_none([each.id for each in run.unfinished() if schema.phase_of(each.id) == number])
    _milestone(run, number)["issue_url"] = url


def complete(run: Run, *, early: bool = False) -> None:
    """End the run with success (R003-10, I003-14). Raises TransitionError while tasks are left, unless `early`."""
    ensure_open(run)
    left = [each.id for each in run.unfinished()]
    if not early:
        _ensure_none(left)
    elif left:
        run.notes[ENDED_EARLY] = True
    _end(run, "completed")


def cancel(run: Run, reason: str) -> None:
    """End the run without success, from any state that isn't final (I003-13); the notes say why."""
    ensure_open(run)
    _end(run, "failed")
    run.notes[CANCELLED] = reason


def ensure_open(run: Run) -> None:
    """Raise TransitionError if the run is over."""
    if run.terminal:
        raise TransitionError(
            f"the run is {run.status}, which is final; `holdfast start TASK_DOC --format orchestrator` starts another"
        )


def _ensure_none(left: Sequence[str]) -> None:
    if left:
        names = f"{', '.join(left[:5])}{', …' if len(left) > 5 else ''}"
        text = f"task {names} is not completed; complete it" if len(left) == 1 else f"tasks {names} are not completed"
        raise TransitionError(f"{text}, or leave it out with `holdfast orchestrator task {left[0]} --skip`")


def _end(run: Run, status: str) -> None:
    run.head.update(status=status, outer_ralph=False, end_time=run.stamp)
    for entry in [each for each in run.listed("active_agents") if each.get("type") == EXECUTOR]:
        if entry.get("status") != "blocked":
            _end_attempt(run, entry)
        run.requeue(schema.task_of(entry))
    run.data["active_agents"] = []


def _settle(run: Run, id_: str) -> None:
    """Write what follows from a task that is over: the milestone, the checkpoint, the run's status."""
    statuses = run.statuses()
    number = schema.phase_of(id_)
    mine = [] if number is None else [status for each, status in statuses.items() if schema.phase_of(each) == number]
    done = [*statuses.values()].count("completed")
    if number is not None and mine and all(status == "completed" for status in mine):
        _milestone(run, number)
        run.checkpoint = id_
    elif done and done % CHECKPOINT_TASKS == 0 and statuses.get(id_) == "completed":
        run.checkpoint = id_
    if statuses and done == len(statuses):
        run.head["status"] = "reviewing"


def _milestone(run: Run, number: int) -> dict[str, Any]:
    """Return the milestone of a phase, counted from 1; a missing one is added."""
    name = run.phase_name(number)
    listed = run.listed("milestones")
    there = next((each for each in values.objects(listed) if each.get("name") == name), None)  # counted either way
    if there is None:
        there = {"phase": number - 1, "name": name, "completed": run.stamp, "issue_url": ""}
        listed.append(there)
    return there


def _end_attempt(run: Run, entry: Mapping[str, Any]) -> None:
    """Add an attempt's time to its task's and to the run's sums (I003-10)."""
    note, sums, spent = run.note(schema.task_of(entry)), run.part("safety_bounds"), bounds.worked(run, entry)
    note["time"] = amounts.as_time((amounts.seconds(note.get("time")) or 0) + spent)
    sums["elapsed_time"] = amounts.as_time((amounts.seconds(sums.get("elapsed_time")) or 0) + spent, hours=True)


def _is_executor(entry: Mapping[str, Any], id_: str) -> bool:
    return entry.get("type") == EXECUTOR and schema.task_of(entry) == id_
