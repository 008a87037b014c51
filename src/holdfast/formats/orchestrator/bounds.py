"""The safety bounds of a run: what was used of them, and the warnings at 75 % and at 100 %."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import HoldfastError, TransitionError
from holdfast.formats.orchestrator import amounts, schema
from holdfast.formats.orchestrator.run import EXECUTOR
from holdfast.workflow import values, wording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.formats.orchestrator.run import Run

STALE_S = 86_400
"""Seconds after which an agent that the state lists is taken for gone."""
MARKS = (75, 100)
"""Percentages of a bound at which there is a warning, once each (I003-12)."""


class Used(NamedTuple):
    """How much of a bound was used: its name for people, the share in percent, and both amounts as texts."""

    name: str
    percent: Decimal
    used: str
    most: str


def used(run: Run) -> list[Used]:
    """Return the use of each bound that can be read. The time of attempts that still run counts."""
    bounds = values.members(run.data.get("safety_bounds"))
    cost, most_cost = amounts.money(bounds.get("cost_so_far")), amounts.money(bounds.get("max_cost"))
    time, most_time = amounts.seconds(bounds.get("elapsed_time")), amounts.seconds(bounds.get("max_time"))
    found = list[Used]()
    if cost is not None and most_cost:
        found.append(Used("Cost", 100 * cost / most_cost, str(bounds["cost_so_far"]), str(bounds["max_cost"])))
    if time is not None and most_time:
        total = time + sum(worked(run, each) for each in _working(run))
        share = Decimal(100 * total) / most_time
        found.append(Used("Time", share, amounts.as_time(total, hours=True), str(bounds["max_time"])))
    most = values.number(bounds.get("max_iterations_per_task"))
    for each in _executors(run) if most else ():
        count = values.number(each.get("iteration")) or 0
        name = f"Iterations of task {schema.task_of(each)}"
        found.append(Used(name, Decimal(100 * count) / (most or 1), str(count), str(most)))
    return found


def warn(run: Run) -> list[str]:
    """Write the warnings that are due into the state, each once; return the new ones (R003-17, I003-12).

    Those that hold no more go, so that they can come again.
    """
    if run.terminal:
        return []
    listed = run.part("safety_bounds").get("warnings")
    before = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    due = list(_due(run))
    new = [each for each in due if each not in before]
    after = [each for each in before if each in due or not is_mark(each)] + new
    if after != listed:
        run.part("safety_bounds")["warnings"] = after
    return new


def extend(run: Run, *, iterations: int | None = None, cost: str | None = None, time: str | None = None) -> None:
    """Raise or lower bounds (R003-31).

    Raises HoldfastError for a value that is none, TransitionError for a run that is over.
    """
    if run.terminal:
        raise TransitionError(f"the run is {run.status}, so its bounds stay as they are")
    given: dict[str, Any] = {"max_iterations_per_task": iterations}
    given["max_cost"] = None if cost is None else asked_cost(cost)
    given["max_time"] = None if time is None else asked_time(time)
    bounds = run.part("safety_bounds")
    bounds.update({name: value for name, value in given.items() if value is not None})


def asked_cost(text: str) -> str:
    """Return the bound of a cost that a person gave. Raises HoldfastError if it is none, or 0."""
    found = amounts.asked_money(text)
    _insist_above_zero(text, amounts.money(found))
    return found


def asked_time(text: str) -> str:
    """Return the bound of a time that a person gave. Raises HoldfastError if it is none, or 0."""
    found = amounts.asked_time(text)
    _insist_above_zero(text, amounts.seconds(found))
    return found


def is_mark(warning: str) -> bool:
    """Return whether a warning says that a bound's use reached one of the MARKS."""
    return warning.endswith(tuple(f" at {mark}% of limit" for mark in MARKS))


def elapsed(run: Run, entry: dict[str, Any]) -> int:
    """Return for how many seconds an agent has worked; 0 if its start can't be read."""
    started = clock.parse(values.text(entry.get("started")))
    return max(int((run.now - started).total_seconds()), 0) if started else 0


def worked(run: Run, entry: dict[str, Any]) -> int:
    """Return the seconds of an attempt that count: none if its agent is taken for gone, since nobody knows when."""
    seconds = elapsed(run, entry)
    return seconds if seconds < STALE_S else 0


def over(run: Run) -> str:
    """Return which bounds are used up and what to do about it; empty if none is."""
    done = [each for each in used(run) if each.percent >= MARKS[-1]]
    if run.terminal or not done:
        return ""
    said = "; ".join(f"{each.name}: {each.used} of {each.most}" for each in done)
    options = {"Cost": "--cost $N", "Time": "--time TIME"}
    needed = " ".join(dict.fromkeys(options.get(each.name, "--iterations N") for each in done))
    return (
        f"The run has used up a bound ({said}). Save what you have, and ask the user before you launch more agents. "
        f"To go on, a person runs `holdfast orchestrator bounds extend {needed}`."
    )


def _insist_above_zero(text: str, amount: Decimal | int | None) -> None:
    if not amount:
        raise HoldfastError(f"{text!r} can't be a bound; give one of more than 0")


def _executors(run: Run) -> list[dict[str, Any]]:
    return [each for each in schema.objects(run.data.get("active_agents")) if each.get("type") == EXECUTOR]


def _working(run: Run) -> list[dict[str, Any]]:
    return [each for each in _executors(run) if each.get("status") != "blocked"]


def _due(run: Run) -> Iterator[str]:
    for each in used(run):
        yield from (f"{each.name} at {mark}% of limit" for mark in MARKS if each.percent >= mark)


def unknown(run: Run) -> str:
    """Return how many costs are unknown, which the sum therefore leaves out; empty for none."""
    done = schema.objects(run.data.get("completed_tasks"))
    costs = [each.get("cost") for each in done]
    count = costs.count(amounts.UNKNOWN) + len([each for each in run.all_noted().values() if each.get("unknown")])
    return f"Cost is unknown for {wording.count(count, 'task')}, so the sum may be too low" if count else ""
