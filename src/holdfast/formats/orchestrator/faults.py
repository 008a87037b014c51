"""What contradicts itself in a run, and how to mend what has only one answer."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.errors import StateError
from holdfast.formats.orchestrator import amounts, bounds, schema, snapshots, task_document
from holdfast.formats.orchestrator.run import ENDED_EARLY, EXECUTOR
from holdfast.workflow import values, wording
from holdfast.workflow.findings import Finding, notice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.records import Records


_PAST = {"is": "was", "lists": "listed"}


def settle(run: Run) -> None:
    """Put each task into one list, and bring up to date what follows from the lists."""
    mend_lists(run)
    mend_counters(run)
    run.head.update(run.position())


def contradictions(run: Run, path: Path, fix: Callable[[Callable[[Run], None]], str]) -> Iterator[Finding]:
    """Yield the contradictions within a state (I003-1, I003-3, I003-4, I003-11, I003-14).

    Args:
        run: the run.
        path: its state file.
        fix: corrects the file with a function, and says what was changed.
    """
    for code, mend, why in _MENDS:
        mended = run.copy()
        mend(mended)
        if changes := "; ".join(
            f"{name} {verb} {old}, not {new}" for name, verb, old, new in _changes(run.data, mended.data)
        ):
            text = f"{path}: {changes} ({why})"
            yield notice(text, "holdfast doctor --fix", partial(fix, mend), code=code, path=path)
    for code, field, text, remedy in (*_phases(run), *_unclear(run)):
        yield notice(f"{path}: {text}", remedy, code=code, path=path, field=field)


def corrected(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Say what was changed in a state."""
    found = list(_changes(before, after))
    changes = "; ".join(f"{name} {_PAST[verb]} {old}, and now {verb} {new}" for name, verb, old, new in found)
    return f"corrected the run: {changes}" if changes else "corrected the run"


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each key that was mended, `is` or `lists`, and what before and after; a key that it lacked is none."""
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, list) and value != old:
            yield name, "lists", _ids(old), _ids(value)
        elif isinstance(value, dict) and isinstance(old, dict):
            for key in old:
                if old[key] != value[key]:
                    yield key, "is", values.text(old[key]) or "null", values.text(value[key]) or "null"


def _ids(entries: Any) -> str:
    return ", ".join(schema.task_of(each) for each in values.objects(entries)) or "none"


def disagreements(project: Records, run: Run, path: Path) -> Iterator[Finding]:
    """Yield the differences between a checkpoint or the task document and the state (R003-29)."""
    if run.terminal:
        return
    done = {id_ for id_, status in run.statuses().items() if status == "completed"}
    snapshot = next(snapshots.newest(project, snapshots.listed(run.data), schema.run_id(run.data)), None)
    listed = values.objects(snapshot.document.data.get("completed_tasks")) if snapshot else []
    if snapshot and (ahead := sorted({schema.task_of(each) for each in listed} - done, key=schema.key)):
        name = snapshot.document.path.name
        text = f"{path}: {', '.join(ahead[:5])} {_are(ahead)} completed in {name}"
        yield notice(text, f"holdfast orchestrator checkpoint --restore {name}", code="checkpoint", path=path)
    yield from _document(project, run)


def _document(project: Records, run: Run) -> Iterator[Finding]:
    try:
        path = task_document.path(project, run)
        doc = task_document.parse(task_document.of_run(project, run))
    except StateError as error:
        way = "move it into the project" if isinstance(error, task_document.OutsideError) else "put it back"
        remedy = f'{way}, or correct "orchestrator.task_doc" in .claude/agent-state.json'
        yield notice(f"the task document can't be read: {error}", remedy, code="document", path=error.path)
        return
    if not doc.tasks:
        text, remedy = f"{path} names no task any more", "put its headings back, such as `#### Task 1.1: Name`"
        yield notice(text, remedy, code="document", path=path)
    for each in doc.faults:
        yield notice(f"{path}: {each}", f"correct {path}", code="document", path=path)


def mend_lists(run: Run) -> None:
    """Leave a task in one list only, once: a completed one isn't active, and an active one isn't pending (I003-3).

    A task that is in no list becomes pending, such as one whose agent's entry was removed by hand.
    """
    if unlisted := run.unlisted():
        run.requeue(*unlisted)
    for name in ("completed_tasks", "pending_tasks"):
        entries = run.entries(name)
        first = {schema.task_of(each): each for each in reversed(entries)}
        if len(first) < len(entries):
            run.data[name] = [each for each in entries if first[schema.task_of(each)] is each]
    begun = {id_ for id_, status in run.statuses().items() if status != "pending"}
    if queued := begun.intersection(schema.task_of(each) for each in run.entries("pending_tasks")):
        run.unqueue(*queued)
    completed = {schema.task_of(each) for each in run.entries("completed_tasks")}
    run.remove_agents(lambda entry: entry.get("type") == EXECUTOR and schema.task_of(entry) in completed)


def mend_sums(run: Run) -> None:
    """Write what the tasks cost and took, unfinished ones included (I003-10, I003-11)."""
    safety, done, tried = run.part("safety_bounds"), run.entries("completed_tasks"), run.all_noted()
    cost = amounts.sum_money([*(e.get("cost") for e in done), *(e.get("cost") for e in tried.values())])
    time = amounts.sum_seconds([*(e.get("time_elapsed") for e in done), *(e.get("time") for e in tried.values())])
    if amounts.money(safety.get("cost_so_far")) != cost:
        safety["cost_so_far"] = amounts.as_money(cost)
    if amounts.seconds(safety.get("elapsed_time")) != time:
        safety["elapsed_time"] = amounts.as_time(time, hours=True)


def mend_counters(run: Run) -> None:
    """Raise the supervisor's counters to what is listed; a higher one stays, since the list may be incomplete."""
    supervisor = run.part("supervisor")
    listed = values.objects(supervisor.get("interventions"))
    actions = Counter(values.text(each.get("action")) for each in listed)
    least = {"auto_fixes_applied": actions["auto_fix"], "re_plans_triggered": actions["re_plan"]}
    for name, count in {"conflicts_detected": len(listed), **least}.items():
        supervisor[name] = max(values.number(supervisor.get(name)) or 0, count)


def mend_end(run: Run) -> None:
    """Write what follows from a run's being over or not."""
    if not run.terminal:
        run.head["end_time"] = None
        return
    run.head["end_time"] = run.head.get("end_time") or run.stamp
    run.head["outer_ralph"] = False


def mend_agents(run: Run) -> None:
    """Remove agents that are gone; their tasks become pending, so that they start again (R003-30).

    An agent whose task failed stays until the task is started again or skipped.
    """
    if run.terminal:
        return

    def is_stale(entry: dict[str, Any]) -> bool:
        return entry.get("status") != "blocked" and bounds.elapsed(run, entry) >= bounds.STALE_S

    tasks = [schema.task_of(e) for e in run.entries("active_agents") if e.get("type") == EXECUTOR and is_stale(e)]
    run.remove_agents(is_stale)
    run.requeue(*tasks)


_MENDS: tuple[tuple[str, Callable[[Run], None], str], ...] = (
    ("lists", mend_lists, "each task is in one list, once"),
    ("sums", mend_sums, "the tasks add up to that"),
    ("counters", mend_counters, "so many interventions are listed"),
    ("end", mend_end, "it follows from the run's status"),
    ("agents", mend_agents, "an agent that was started more than a day ago is taken for gone"),
)
"""What has only one answer: its code, the function that corrects it, and why."""


def _phases(run: Run) -> Iterator[tuple[str, str, str, str]]:
    """Yield the entries of another phase than their tasks'. Each is a code, a field, a sentence and a remedy."""
    for name in ("pending_tasks", "checkpoints"):
        for each in run.entries(name):
            task, phase = schema.task_of(each), values.number(each.get("phase"))
            number = schema.phase_of(task)
            if number is not None and phase is not None and phase not in (number - 1, number):
                text = f"task {task} is in phase {phase} of {name}; phases count from 0, so {number - 1} is expected"
                yield "phases", name, text, f'correct "phase" in {name}'


def _unclear(run: Run) -> Iterator[tuple[str, str, str, str]]:
    """Yield, as `_phases` does, what only you can correct, because only you know the intent."""
    current, total = (values.number(run.head.get(name)) for name in ("current_phase", "total_phases"))
    if current is not None and total is not None and current >= max(total, 1):
        text = f"current_phase is {current}, but the run has {wording.count(total, 'phase')}, counted from 0"
        field = "orchestrator.current_phase"
        yield "position", field, text, f'correct "{field}", or start a task'
    left = [] if run.notes.get(ENDED_EARLY) is True else [each.id for each in run.unfinished()]
    if run.status == "completed" and left:
        text = f"the run is completed, but {', '.join(left[:5])} {_are(left)} not"
        yield "early", "orchestrator.status", text, "`holdfast restore` goes back to what it was before"
    if run.status == "planning" and run.entries("completed_tasks"):
        text = "the run is planning, but some of its tasks are completed"
        yield "planning", "orchestrator.status", text, "`holdfast orchestrator approve` begins it"


def _are(things: list[str]) -> str:
    return "is" if len(things) == 1 else "are"
