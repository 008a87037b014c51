"""What contradicts itself in a run, and how to mend what has only one answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import StateError
from holdfast.formats.orchestrator import amounts, bounds, moves, schema, snapshots, task_document
from holdfast.formats.orchestrator.run import ENDED_EARLY, EXECUTOR, REVIEWER
from holdfast.workflow import values, wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.records import Records


class Fault(NamedTuple):
    """Something that is wrong with a run.

    Attributes:
        code: what kind of fault it is, in one word.
        text: a sentence that says what is wrong.
        mend: corrects the run; None if only a person knows what is meant.
        remedy: what that person can do.
        path: the file that it is about, if that isn't the state.
    """

    code: str
    text: str
    mend: Callable[[Run], object] | None = None
    remedy: str = ""
    path: Path | None = None


def settle(run: Run) -> None:
    """Put each task into one list, and bring up to date what follows from the lists."""
    mend_lists(run)
    mend_counters(run)
    run.head.update(run.position())


def contradictions(run: Run) -> Iterator[Fault]:
    """Yield what in a state contradicts something else in it (I003-1, I003-3, I003-4, I003-11, I003-14)."""
    yield from (Fault("lists", text, mend_lists) for text in _lists(run))
    yield from (Fault("phases", text, mend_phases) for text in _phases(run))
    yield from (Fault("sums", text, mend_sums) for text in _sums(run))
    yield from (Fault("counters", text, mend_counters) for text in _counters(run))
    yield from (Fault("end", text, mend_end) for text in _end(run))
    yield from _unclear(run)


def disagreements(project: Records, run: Run) -> Iterator[Fault]:
    """Yield what a checkpoint, the clock or the task document says otherwise than the state (R003-29, R003-30)."""
    if run.terminal:
        return
    done = {id_ for id_, status in run.statuses().items() if status == "completed"}
    for snapshot in snapshots.newest(project, snapshots.listed(run.data), schema.run_id(run.data)):
        there = {schema.task_of(each) for each in schema.objects(snapshot.document.data.get("completed_tasks"))}
        if ahead := sorted(there - done, key=schema.key):
            name = snapshot.document.path.name
            text = f"{', '.join(ahead[:5])} {_are(ahead)} completed in {name}"
            yield Fault("checkpoint", text, remedy=f"holdfast orchestrator checkpoint --restore {name}")
        break
    for entry in schema.objects(run.data.get("active_agents")):
        if entry.get("status") != "blocked" and bounds.elapsed(run, entry) >= bounds.STALE_S:
            who = f"{values.text(entry.get('type'))} of task {schema.task_of(entry)}"
            yield Fault("agent", f"the {who} was started on {values.text(entry.get('started'))}", mend_agents)
    yield from _document(project, run)


def _document(project: Records, run: Run) -> Iterator[Fault]:
    try:
        path = task_document.path(project, run)
        doc = task_document.parse(task_document.of_run(project, run))
    except StateError as error:
        way = "move it into the project" if error.reason == task_document.OUTSIDE else "put it back"
        remedy = f'{way}, or correct "orchestrator.task_doc" in .claude/agent-state.json'
        yield Fault("document", f"the task document can't be read: {error}", remedy=remedy, path=error.path)
        return
    if not doc.tasks:
        text, remedy = f"{path} names no task any more", "put its headings back, such as `#### Task 1.1: Name`"
        yield Fault("document", text, remedy=remedy, path=path)
    yield from (Fault("document", f"{path}: {each}", remedy=f"correct {path}", path=path) for each in doc.faults)


def _lists(run: Run) -> Iterator[str]:
    ids = {name: [schema.task_of(each) for each in schema.objects(run.data.get(name))] for name in schema.LISTS}
    for name in ("completed_tasks", "pending_tasks"):
        yield from (f"task {each} is in {name} twice" for each, times in Counter(ids[name]).items() if times > 1)
    pending, completed = set(ids["pending_tasks"]), set(ids["completed_tasks"])
    yield from (f"task {each} is pending and completed" for each in sorted(pending & completed, key=schema.key))
    for each in dict.fromkeys(ids["active_agents"]):
        if run.executor(each):
            yield from (f"task {each} has an agent and is pending" for _ in range(each in pending))
            yield from (f"task {each} has an agent and is completed" for _ in range(each in completed))
    yield from (f"task {each} is in no list" for each in run.unlisted())


def mend_lists(run: Run) -> None:
    """Leave a task in one list only, once: a completed one isn't active, and an active one isn't pending (I003-3).

    A task that is in no list becomes pending, such as one whose agent's entry was removed by hand.
    """
    if unlisted := run.unlisted():
        run.requeue(*unlisted)
    for name in ("completed_tasks", "pending_tasks"):
        entries = schema.objects(run.data.get(name))
        first = {schema.task_of(each): each for each in reversed(entries)}
        if len(first) < len(entries):
            run.data[name] = [each for each in entries if first[schema.task_of(each)] is each]
    begun = {id_ for id_, status in run.statuses().items() if status != "pending"}
    if queued := begun.intersection(schema.task_of(each) for each in schema.objects(run.data.get("pending_tasks"))):
        run.unqueue(*queued)
    completed = {schema.task_of(each) for each in schema.objects(run.data.get("completed_tasks"))}
    _remove_agents(run, lambda entry: entry.get("type") == EXECUTOR and schema.task_of(entry) in completed)


def _phases(run: Run) -> Iterator[str]:
    for name in ("pending_tasks", "checkpoints"):
        for each in schema.objects(run.data.get(name)):
            task, phase = schema.task_of(each), values.number(each.get("phase"))
            number = schema.phase_of(task)
            if number is not None and phase is not None and phase not in (number - 1, number):
                yield f"task {task} is in phase {phase} of {name}; phases count from 0, so {number - 1} is expected"


def mend_phases(run: Run) -> None:
    """Number the phases of entries as the schema does, if neither way of counting gives what is there (I003-1)."""
    for name in ("pending_tasks", "checkpoints"):
        for each in schema.objects(run.data.get(name)):
            number = schema.phase_of(schema.task_of(each))
            if number is not None and values.number(each.get("phase")) not in (number - 1, number):
                each["phase"] = number - 1


def _sums(run: Run) -> Iterator[str]:
    safety = values.members(run.data.get("safety_bounds"))
    cost, elapsed = sums(run)
    present_cost, present_time = amounts.money(safety.get("cost_so_far")), amounts.seconds(safety.get("elapsed_time"))
    if present_cost is not None and present_cost != amounts.money(cost):
        yield f"cost_so_far is {safety['cost_so_far']}, but the tasks' costs add up to {cost}"
    if present_time is not None and present_time != amounts.seconds(elapsed):
        yield f"elapsed_time is {safety['elapsed_time']}, but the tasks' times add up to {elapsed}"


def mend_sums(run: Run) -> None:
    """Write what the tasks add up to."""
    safety = run.part("safety_bounds")
    safety["cost_so_far"], safety["elapsed_time"] = sums(run)


def sums(run: Run) -> tuple[str, str]:
    """Return what the tasks cost and took, attempts that failed included (I003-10, I003-11)."""
    done = schema.objects(run.data.get("completed_tasks"))
    tried = run.all_noted().values()
    cost = amounts.sum_money([*(each.get("cost") for each in done), *(each.get("cost") for each in tried)])
    time = amounts.sum_seconds([*(each.get("time_elapsed") for each in done), *(each.get("time") for each in tried)])
    return amounts.as_money(cost), amounts.as_time(time, hours=True)


def _counters(run: Run) -> Iterator[str]:
    supervisor = values.members(run.data.get("supervisor"))
    for name, least in _counts(run).items():
        count = values.number(supervisor.get(name))
        if count is not None and count < least:
            yield f"{name} is {count}, but {wording.count(least, 'such intervention')} {_are(range(least))} listed"


def mend_counters(run: Run) -> None:
    """Raise the supervisor's counters to what is listed; a higher one stays, since the list may be incomplete."""
    supervisor = run.part("supervisor")
    for name, least in _counts(run).items():
        supervisor[name] = max(values.number(supervisor.get(name)) or 0, least)


def _counts(run: Run) -> dict[str, int]:
    """Return what the supervisor's counters have to be at least, going by the interventions that are listed."""
    listed = schema.objects(values.members(run.data.get("supervisor")).get("interventions"))
    actions = Counter(values.text(each.get("action")) for each in listed)
    return {
        "conflicts_detected": len(listed),
        "auto_fixes_applied": actions["auto_fix"],
        "re_plans_triggered": actions["re_plan"],
    }


def _end(run: Run) -> Iterator[str]:
    if run.terminal and run.head.get("outer_ralph") is True:
        yield f"the run is {run.status}, but its outer review is running"
    if run.terminal and run.head.get("end_time") is None:
        yield f"the run is {run.status}, but has no end_time"
    if not run.terminal and run.head.get("end_time") is not None:
        yield f"the run is {run.status}, but has an end_time"


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
    stale = [
        each
        for each in schema.objects(run.data.get("active_agents"))
        if each.get("status") != "blocked" and bounds.elapsed(run, each) >= bounds.STALE_S
    ]
    for each in stale:
        if each.get("type") == EXECUTOR:
            moves.remove_agent(run, schema.task_of(each))
    _remove_agents(run, lambda entry: any(entry is each for each in stale))
    if any(each.get("type") == REVIEWER for each in stale):
        run.head["outer_ralph"] = run.under_review


def _remove_agents(run: Run, gone: Callable[[dict[str, Any]], bool]) -> None:
    entries = schema.objects(run.data.get("active_agents"))
    if any(map(gone, entries)):
        run.data["active_agents"] = [each for each in entries if not gone(each)]


def _unclear(run: Run) -> Iterator[Fault]:
    """Yield what only you can correct, because only you know what is meant."""
    current, total = (values.number(run.head.get(name)) for name in ("current_phase", "total_phases"))
    if current is not None and total is not None and current >= max(total, 1):
        text = f"current_phase is {current}, but the run has {wording.count(total, 'phase')}, counted from 0"
        yield Fault("position", text, remedy='correct "orchestrator.current_phase", or start a task')
    left = [] if run.notes.get(ENDED_EARLY) is True else [each.id for each in run.unfinished()]
    if run.status == "completed" and left:
        text = f"the run is completed, but {', '.join(left[:5])} {_are(left)} not"
        yield Fault("early", text, remedy="`holdfast restore` goes back to what it was before")
    if run.status == "planning" and schema.objects(run.data.get("completed_tasks")):
        text = "the run is planning, but some of its tasks are completed"
        yield Fault("planning", text, remedy="`holdfast orchestrator approve` begins it")


def _are(things: range | list[str]) -> str:
    return "is" if len(things) == 1 else "are"
