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
    from collections.abc import Mapping

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
    limit: str


def used(run: Run) -> list[Used]:
    """Return the use of each bound that can be read. The time of attempts that still run counts."""
    bounds = values.members(run.data.get("safety_bounds"))
    cost, max_cost = amounts.money(bounds.get("cost_so_far")), amounts.money(bounds.get("max_cost"))
    time, max_time = amounts.seconds(bounds.get("elapsed_time")), amounts.seconds(bounds.get("max_time"))
    executors = [each for each in run.entries("active_agents") if each.get("type") == EXECUTOR]
    use = list[Used]()
    if cost is not None and max_cost:
        use.append(Used("Cost", 100 * cost / max_cost, str(bounds["cost_so_far"]), str(bounds["max_cost"])))
    if time is not None and max_time:
        total = time + sum(worked(run, each) for each in executors if each.get("status") != "blocked")
        share = Decimal(100 * total) / max_time
        use.append(Used("Time", share, amounts.as_time(total, hours=True), str(bounds["max_time"])))
    if limit := values.number(bounds.get("max_iterations_per_task")):
        for each in executors:
            count = values.number(each.get("iteration")) or 0
            name = f"Iterations of task {schema.task_of(each)}"
            use.append(Used(name, Decimal(100 * count) / limit, str(count), str(limit)))
    return use


def warn(run: Run) -> list[str]:
    """Write the warnings that are due into the state, each once; return the new ones (R003-17, I003-12).

    Those that hold no more go, so that they can come again.
    """
    if run.terminal:
        return []
    bounds = run.part("safety_bounds")
    before = list(values.texts(bounds.get("warnings"), "warnings", []))
    due = [f"{each.name} at {mark}% of limit" for each in used(run) for mark in MARKS if each.percent >= mark]
    new = [each for each in due if each not in before]
    after = [each for each in before if each in due or not _is_mark(each)] + new
    if after != before:
        bounds["warnings"] = after
    return new


def extend(run: Run, *, iterations: int | None = None, cost: str | None = None, time: str | None = None) -> None:
    """Raise or lower bounds (R003-31).

    Raises HoldfastError for a value that is none, TransitionError for a run that is over.
    """
    if run.terminal:
        raise TransitionError(f"the run is {run.status}, so its bounds stay as they are")
    for value, amount in ((cost, amounts.asked_money), (time, amounts.asked_time)):
        if value is not None and not amount(value):
            raise HoldfastError(f"{value!r} can't be a bound; give one of more than 0")
    named: dict[str, Any] = {
        "max_iterations_per_task": iterations,
        "max_cost": None if cost is None else f"${cost.strip().removeprefix('$').strip()}",
        "max_time": None if time is None else " ".join(time.split()),
    }
    run.part("safety_bounds").update({key: value for key, value in named.items() if value is not None})


def elapsed(run: Run, entry: Mapping[str, Any]) -> int:
    """Return for how many seconds an agent has worked; 0 if its start can't be read."""
    started = clock.parse(values.text(entry.get("started")))
    return max(int((run.now - started).total_seconds()), 0) if started else 0


def worked(run: Run, entry: Mapping[str, Any]) -> int:
    """Return the seconds of an attempt that count: none if its agent is taken for gone, since nobody knows when."""
    seconds = elapsed(run, entry)
    return seconds if seconds < STALE_S else 0


def exceeded(run: Run) -> str:
    """Return which bounds are used up and what to do about it; empty if none is."""
    over = [each for each in used(run) if each.percent >= MARKS[-1]]
    if run.terminal or not over:
        return ""
    named = "; ".join(f"{each.name}: {each.used} of {each.limit}" for each in over)
    options = {"Cost": "--cost $N", "Time": "--time TIME"}
    needed = " ".join(dict.fromkeys(options.get(each.name, "--iterations N") for each in over))
    return (
        f"The run has used up a bound ({named}). Save what you have, and ask the user before you launch more agents. "
        f"To go on, a person runs `holdfast orchestrator bounds {needed}`."
    )


def unknown_costs(run: Run) -> str:
    """Return how many completed tasks have an unknown cost, which no sum has; empty for none."""
    tasks = [each.get("cost") for each in run.entries("completed_tasks")].count(amounts.UNKNOWN)
    return f"Cost is unknown for {wording.count(tasks, 'task')}, so the sum may be too low" if tasks else ""


def _is_mark(warning: str) -> bool:
    """Return whether a warning says that a bound's use reached one of the MARKS."""
    return warning.endswith(tuple(f" at {mark}% of limit" for mark in MARKS))
