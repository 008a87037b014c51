"""What can be mended in a state without guessing: lists that overlap, sums, counters, tasks that are in no list."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast.errors import StateError
from holdfast.formats.orchestrator import amounts, check, plan, schema
from holdfast.formats.orchestrator import bounds as limits
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.records import Records


def repair(project: Records, run: Run) -> list[str]:
    """Mend a state in place and return what was done, as sentences. What has two possible answers is left alone."""
    return [*_lists(run), *_missing(project, run), *_sums(run), *_counters(run), *_place(run), *_end(run)]


def _lists(run: Run) -> Iterator[str]:
    """Take a task out of the pending ones if it was started or completed, and out of a list that has it twice."""
    done = _once(run, "completed_tasks")
    yield from (f"task {each} was listed as completed twice" for each in done)
    twice = _once(run, "pending_tasks")
    yield from (f"task {each} was pending twice" for each in twice)
    begun = {id_ for id_, status in run.statuses().items() if status != "pending"}
    pending = schema.objects(run.data.get("pending_tasks"))
    wrong = [schema.task_of(each) for each in pending if schema.task_of(each) in begun]
    for each in pending:
        if schema.task_of(each) in wrong and not run.noted(schema.task_of(each)).get("name"):
            run.note(schema.task_of(each))["name"] = values.text(each.get("name"))  # the agent's entry has none
    if wrong:
        run.unqueue(*wrong)
    yield from (f"task {each} was started or completed, so it is no longer pending" for each in wrong)
    completed = {schema.task_of(each) for each in schema.objects(run.data.get("completed_tasks"))}
    over = [each for each in completed if run.executor(each)]
    if over:
        agents = schema.objects(run.data.get("active_agents"))
        run.data["active_agents"] = [each for each in agents if schema.task_of(each) not in over]
    yield from (f"task {each} is completed, so no agent works on it" for each in sorted(over, key=schema.key))


def _once(run: Run, name: str) -> list[str]:
    """Leave the first entry of each task in a list; return the ids that were there more than once."""
    kept, twice = dict[str, dict[str, Any]](), list[str]()
    for each in schema.objects(run.data.get(name)):
        id_ = schema.task_of(each)
        if id_ in kept:
            twice.append(id_)
        kept.setdefault(id_, each)
    if twice:
        run.data[name] = list(kept.values())
    return list(dict.fromkeys(twice))


def _missing(project: Records, run: Run) -> Iterator[str]:
    """Make the document's tasks pending that are in no list, such as those whose agent's entry was removed by hand."""
    if run.terminal:
        return
    with suppress(StateError):
        doc, mtime = plan.load(project, run)
        there = set(run.statuses()) | set(run.skipped())
        new = [each for each in doc.tasks if each.id not in there]
        if new:
            run.queue(*(plan.pending(each.id, each.name) for each in new))
            run.head["total_phases"] = max(values.number(run.head.get("total_phases")) or 0, len(doc.phases), 1)
        plan.note(run, doc, mtime)
        yield from (f"task {each.id} was in no list, so it is pending now" for each in new)


def _sums(run: Run) -> Iterator[str]:
    cost, elapsed = check.sums(run)
    bounds = run.part("safety_bounds")
    if amounts.money(bounds.get("cost_so_far")) != amounts.money(cost):
        yield f"cost_so_far was {values.text(bounds.get('cost_so_far')) or 'missing'}, and the tasks add up to {cost}"
        bounds["cost_so_far"] = cost
    if amounts.seconds(bounds.get("elapsed_time")) != amounts.seconds(elapsed):
        said = values.text(bounds.get("elapsed_time")) or "missing"
        yield f"elapsed_time was {said}, and the tasks add up to {elapsed}"
        bounds["elapsed_time"] = elapsed
    if not run.terminal:
        yield from (f"the warning {each!r} held no more" for each in limits.withdraw(run))


def _counters(run: Run) -> Iterator[str]:
    """Raise the supervisor's counters to what is listed; a higher one stays, since the list may be incomplete."""
    supervisor = run.part("supervisor")
    for name, number in check.counts(run).items():
        count = values.number(supervisor.get(name))
        if count is None or count < number:
            yield f"{name} was {count if count is not None else 'missing'}, and {number} are listed"
            supervisor[name] = number


def _place(run: Run) -> Iterator[str]:
    """Say anew where the current task stands in its phase, if what is said can't be right."""
    said, mine = run.head.get("current_task"), run.in_phase((values.number(run.head.get("current_phase")) or 0) + 1)
    if check.RULES["orchestrator"]["current_task"][0](said) and not (said == "0/0" and mine):
        return
    place = run.place(run.at_work()) if run.at_work() in mine else f"0/{len(mine)}"
    run.head["current_task"] = place
    yield f"current_task was {values.text(said) or 'missing'}, and is {place} now"


def _end(run: Run) -> Iterator[str]:
    if not run.terminal and run.head.get("end_time") is not None:
        run.head["end_time"] = None
        yield f"the run is {run.status}, so it has no end_time yet"
    if run.terminal and run.head.get("end_time") is None:
        run.head["end_time"] = run.stamp
        yield f"the run is {run.status}, so it has an end_time now"
    if run.terminal and run.head.get("outer_ralph") is True:
        run.head["outer_ralph"] = False
        yield "the run is over, so its outer review is too"
