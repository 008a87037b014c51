"""The transitions of a run: tasks, phases and the run itself. Counters and lists move together."""

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

_FILE = re.compile(r"\S*[./]\S*")  # a deliverable that is a path, and not a description
EVERY = 5
"""Completed tasks after which there is a checkpoint, besides that at the end of a phase."""


def approve(run: Run) -> None:
    """Go from planning to executing. Raises TransitionError if the run is over."""
    insist_open(run)
    if run.status == "planning":
        run.head["status"] = "executing"


def begin(run: Run, id_: str) -> None:
    """Start a task, or go on with one that failed as its next iteration; nothing happens if it is active.

    It leaves the pending ones (I003-3), and its iterations count from 0 (R003-08). An attempt that failed counts as one
    iteration at least.
    Raises TransitionError if the task is completed or the run is over.
    """
    insist_open(run)
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


def iterate(run: Run, id_: str) -> int:
    """Begin the next iteration of an active task and return its number. Raises TransitionError for any other."""
    insist_open(run)
    entry = run.executor(id_)
    if entry is None or entry.get("status") == "blocked":
        status = run.task(id_).status
        way = "" if status == "completed" else f"; `holdfast orchestrator task start {id_}` starts it"
        raise TransitionError(f"task {id_} is {status}, so it has no next iteration{way}")
    entry["iteration"] = (values.number(entry.get("iteration")) or 0) + 1
    return int(entry["iteration"])


def finish(
    run: Run,
    id_: str,
    *,
    cost: str | None = None,
    files: Sequence[str] = (),
    criteria: Mapping[str, bool] | None = None,
    handover: str = "",
) -> None:
    """Complete a task (R003-15): its entry, the sums, the phase's milestone and the checkpoint move in one step.

    A task whose start was forgotten is started first. Its time and cost include those of attempts that failed. The last
    task of all makes the run `reviewing`; nothing completes the run but `complete`.

    Args:
        run: the run.
        id_: the task.
        cost: what the last attempt cost; None if nobody knows.
        files: the files that it modified.
        criteria: its success criteria, and whether each is met.
        handover: what the next task has to know.

    Raises:
        TransitionError: the task is completed, failed or unknown, or the run is over.
        HoldfastError: the cost is no money.
    """
    insist_open(run)
    task = run.task(id_)
    if task.status in ("completed", "failed", "blocked"):
        if task.status == "completed":
            raise TransitionError(f"task {id_} is completed already")
        raise TransitionError(f"task {id_} is {task.status}; retry it first: `holdfast orchestrator task retry {id_}`")
    begin(run, id_)
    entry = run.executor(id_) or {}
    note = run.note(id_)
    earlier = note.get("unknown", False)
    _charge(run, entry, cost)
    unknown = note.pop("unknown", False)
    spent = amounts.UNKNOWN if unknown else note.pop("cost")  # the known part of an unknown cost stays in the notes
    if unknown and not earlier:
        note["uncharged"] = True  # its agent's transcript may still say what the last attempt cost
    known = [*values.texts(note.pop("files", None), "files", []), *files]
    run.listed("completed_tasks").append(
        {
            "task": id_,
            "name": task.title,
            "completed": run.stamp,
            "iterations": max(values.number(entry.get("iteration")) or 0, 1),
            "time_elapsed": note.pop("time", amounts.as_time(0)),
            "cost": spent,
            "files_modified": list(dict.fromkeys(known)),
            "success_criteria_met": {**values.members(note.pop("criteria", None)), **(criteria or {})},
        }
    )
    if handover:
        note["handover"] = handover
    run.unqueue(id_)
    note.pop("name", None)  # which the entry has
    _leave(run, id_)
    _settle(run, id_)


def deliver(run: Run, id_: str, deliverables: Sequence[str], handover: str) -> None:
    """Add what an agent's result names to its completed task: files, other deliverables, and what the next one needs.

    A hand-over that is there stays, because the agent wrote it itself (I000-8).
    """
    note, entry = run.note(id_), _completed(run, id_)
    files = [each for each in deliverables if _FILE.fullmatch(each)]
    entry["files_modified"] = list(dict.fromkeys([*values.texts(entry.get("files_modified"), "", []), *files]))
    if others := [each for each in deliverables if each not in files]:
        note["delivered"] = others
    if handover:
        note.setdefault("handover", handover)


def reopen(run: Run, id_: str) -> None:
    """Make a task active again that is completed or failed, and the run too; for people only, never for a hook.

    What the task took and cost stays in the sums, and counts with its next completion. The milestone of its phase goes,
    unless it has an issue. Raises HoldfastError if there is no such task.
    """
    task = run.task(id_)
    run.head.update(status="executing", end_time=None)
    run.notes.pop(ENDED_EARLY, None)
    run.notes.pop(CANCELLED, None)
    if task.status != "completed":
        begin(run, id_)
        return
    before, note = _completed(run, id_), run.note(id_)
    kept = {"time": "time_elapsed", "cost": "cost", "files": "files_modified", "criteria": "success_criteria_met"}
    note.update({name: before.get(key) for name, key in kept.items() if before.get(key) != amounts.UNKNOWN})
    note["unknown"] = before.get("cost") == amounts.UNKNOWN
    note.pop("uncharged", None)
    note["name"] = task.title
    run.data["completed_tasks"] = [each for each in run.listed("completed_tasks") if schema.task_of(each) != id_]
    phase = run.phase_name(schema.key(id_)[0])
    run.data["milestones"] = [e for e in run.listed("milestones") if e.get("name") != phase or e.get("issue_url")]
    begin(run, id_)
    (run.executor(id_) or {})["iteration"] = values.number(before.get("iterations")) or 0


def fail(run: Run, id_: str, why: str, *, cost: str | None = None) -> None:
    """End an attempt at a task without success; it is blocked until somebody retries or skips it.

    It isn't listed as completed, and what it cost and took is in the sums. Raises TransitionError if it is completed.
    """
    insist_open(run)
    task = run.task(id_)
    if task.status == "completed":
        raise TransitionError(f"task {id_} is completed, so it can't fail")
    if run.executor(id_) is None:
        begin(run, id_)
    entry = run.executor(id_) or {}
    if entry.get("status") != "blocked":
        _charge(run, entry, cost)
        entry["status"] = "blocked"
    run.note(id_)["failed"] = why or "no reason given"


def retry(run: Run, id_: str) -> None:
    """Go on with a task that failed or was skipped. Raises TransitionError for any other."""
    insist_open(run)
    task = run.task(id_)
    if task.status not in ("failed", "blocked") and not run.noted(id_).get("skipped"):
        way = f"; `holdfast orchestrator task start {id_}` starts it" if task.status == "pending" else ""
        raise TransitionError(f"task {id_} is {task.status}; you can only retry one that failed or was skipped{way}")
    begin(run, id_)


def skip(run: Run, id_: str) -> None:
    """Leave a task out of the run; it is neither pending nor completed then. Raises TransitionError if it is done."""
    insist_open(run)
    task = run.task(id_)
    if task.status == "completed":
        raise TransitionError(f"task {id_} is completed, so it can't be skipped")
    entry = run.executor(id_)
    if entry is not None and entry.get("status") != "blocked":
        _charge(run, entry, None)
    run.unqueue(id_)
    run.note(id_)["skipped"] = True
    _leave(run, id_)
    _settle(run, id_)


def finish_phase(run: Run, number: int, issue_url: str = "") -> None:
    """Write a phase's milestone, or the URL of its issue into the one that it has (R003-19).

    Args:
        run: the run.
        number: the phase as the document counts, from 1.
        issue_url: the URL of its issue; empty for none yet.

    Raises:
        TransitionError: tasks of it are left, or it has none.
    """
    tasks = {each: status for each, status in run.statuses().items() if schema.phase_of(each) == number}
    if not tasks:
        known = sorted({phase for each in run.statuses() if (phase := schema.phase_of(each)) is not None})
        raise TransitionError(
            f"phase {number} has no tasks; those with tasks are {', '.join(map(str, known)) or 'none'}"
        )
    _insist_none(sorted((each for each, status in tasks.items() if status != "completed"), key=schema.key))
    listed = schema.objects(run.data.get("milestones"))
    name = run.phase_name(number)
    found = next((each for each in listed if each.get("name") == name), None)  # by hand, phases are counted either way
    if found is None:
        found = {"phase": number - 1, "name": name, "completed": run.stamp, "issue_url": ""}
        run.listed("milestones").append(found)
    if issue_url:
        found["issue_url"] = issue_url


def review(run: Run) -> None:
    """Note that the outer review (outer Ralph) runs (R003-09, I003-14). Raises TransitionError while tasks are left."""
    insist_open(run)
    insist_done(run)
    run.head.update(status="reviewing", outer_ralph=True)


def complete(run: Run, *, anyway: bool = False) -> None:
    """End the run with success (R003-10, I003-14). Raises TransitionError while tasks are left, unless `anyway`."""
    insist_open(run)
    if not anyway:
        insist_done(run)
    elif run.unfinished():
        run.notes[ENDED_EARLY] = True
    _end(run, "completed")


def abort(run: Run) -> None:
    """End the run without success; possible from any state that isn't final (I003-13)."""
    insist_open(run)
    _end(run, "failed")


def cancel(run: Run, reason: str) -> None:
    """End the run without success because a person gives it up; the notes say why. Raises TransitionError."""
    abort(run)
    run.notes[CANCELLED] = reason


def insist_open(run: Run) -> None:
    """Raise TransitionError if the run is over."""
    if run.terminal:
        raise TransitionError(
            f"the run is {run.status}, which is final; `holdfast orchestrator start TASK_DOC` starts another"
        )


def insist_done(run: Run) -> None:
    """Raise TransitionError while a task is neither completed nor skipped."""
    _insist_none([each.id for each in run.unfinished()])


def _insist_none(left: Sequence[str]) -> None:
    if left:
        named = f"{', '.join(left[:5])}{', …' if len(left) > 5 else ''}"
        if len(left) == 1:
            said = f"task {named} is not completed; complete it, or leave it out with"
        else:
            said = f"tasks {named} are not completed; complete them, or leave one out with"
        raise TransitionError(f"{said} `holdfast orchestrator task skip {left[0] if len(left) == 1 else 'ID'}`")


def _end(run: Run, status: str) -> None:
    run.head.update(status=status, outer_ralph=False, end_time=run.stamp)
    running = [each for each in run.listed("active_agents") if each.get("type") == EXECUTOR]
    for entry in running:
        id_ = schema.task_of(entry)
        if entry.get("status") != "blocked":
            _charge(run, entry, None)
        run.requeue(id_)
    run.data["active_agents"] = []


def _settle(run: Run, id_: str) -> None:
    """Write what follows from a task that is over: the milestone, the checkpoint, the run's status."""
    statuses = run.statuses()
    number = schema.phase_of(id_)
    mine = [] if number is None else [status for each, status in statuses.items() if schema.key(each)[0] == number]
    done = list(statuses.values()).count("completed")
    if number is not None and mine and all(status == "completed" for status in mine):
        finish_phase(run, number)
        run.checkpoint = id_
    elif done and done % EVERY == 0 and statuses.get(id_) == "completed":
        run.checkpoint = id_
    if statuses and done == len(statuses):
        run.head["status"] = "reviewing"


def _charge(run: Run, entry: Mapping[str, Any], cost: str | None) -> None:
    """Add an attempt's cost and time to its task's and to the run's sums; an unknown cost to none (I003-10)."""
    note, sums = run.note(schema.task_of(entry)), run.part("safety_bounds")
    spent = bounds.worked(run, dict(entry))
    note["time"] = amounts.as_time((amounts.seconds(note.get("time")) or 0) + spent)
    sums["elapsed_time"] = amounts.as_time((amounts.seconds(sums.get("elapsed_time")) or 0) + spent, hours=True)
    cost = note.pop("spent", None) if cost is None else cost
    note.pop("spent", None)
    if cost is None:
        note["unknown"] = True
        return
    note["cost"] = charge(run, note.get("cost"), cost)


def charge(run: Run, before: Any, cost: str) -> str:
    """Add a cost to the run's sum, and return it with what the task cost before. Raises HoldfastError for no money."""
    sums = run.part("safety_bounds")
    given = amounts.money(amounts.asked_money(cost)) or Decimal(0)
    sums["cost_so_far"] = amounts.as_money((amounts.money(sums.get("cost_so_far")) or Decimal(0)) + given)
    return amounts.as_money((amounts.money(before) or Decimal(0)) + given)


def _completed(run: Run, id_: str) -> dict[str, Any]:
    """Return the entry of a completed task."""
    return next(each for each in schema.objects(run.data.get("completed_tasks")) if schema.task_of(each) == id_)


def _leave(run: Run, id_: str) -> None:
    agents = run.listed("active_agents")
    run.data["active_agents"] = [each for each in agents if schema.task_of(each) != id_ or each.get("type") != EXECUTOR]
