"""What can be mended in a state without guessing: lists that overlap, sums, counters, tasks that are in no list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.formats.orchestrator import amounts, check, plan, schema
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.records import Records


def repair(project: Records, run: Run) -> list[str]:
    """Mend a state in place and return what was done, as sentences. What has two possible answers is left alone."""
    plan.follow(project, run)
    return [*settle(run), *_sums(run), *_end(run)]


def settle(run: Run) -> list[str]:
    """Put each task into one list, and bring up to date what follows from the lists; return what was wrong."""
    return [*_lists(run), *_counters(run), *_position(run)]


def _lists(run: Run) -> Iterator[str]:
    """Leave a task in one list only, once: a completed one isn't active, and an active one isn't pending (I003-3).

    A task that is in no list becomes pending, such as one whose agent's entry was removed by hand.
    """
    if lost := run.unlisted():
        run.requeue(*lost)
    yield from (f"task {each} was in no list, so it is pending now" for each in lost)
    done = _once(run, "completed_tasks")
    yield from (f"task {each} was listed as completed twice" for each in done)
    twice = _once(run, "pending_tasks")
    yield from (f"task {each} was pending twice" for each in twice)
    begun = {id_ for id_, status in run.statuses().items() if status != "pending"}
    pending = schema.objects(run.data.get("pending_tasks"))
    wrong = [schema.task_of(each) for each in pending if schema.task_of(each) in begun]
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


def _counters(run: Run) -> Iterator[str]:
    """Raise the supervisor's counters to what is listed; a higher one stays, since the list may be incomplete."""
    supervisor = run.part("supervisor")
    for name, number in check.counts(run).items():
        count = values.number(supervisor.get(name))
        if count is None or count < number:
            yield f"{name} was {count if count is not None else 'missing'}, and {number} are listed"
            supervisor[name] = number


def _position(run: Run) -> Iterator[str]:
    for name, value in run.position().items():
        if run.head.get(name) != value:
            yield f"{name} was {values.text(run.head.get(name)) or 'missing'}, and is {value} now"
            run.head[name] = value


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
