"""Move the units of a workflow, its phases and tasks alike, on the JSON state itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.formats.skills import file as files
from holdfast.formats.skills import transitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.formats.skills.machine import Machine


def entries(data: Mapping[str, Any], rules: Machine) -> dict[str, dict[str, Any]]:
    """Return the units' own objects by id, in order: the phases, with the tasks in place of the phase of tasks."""
    found: dict[str, dict[str, Any]] = {}
    for name, each in files.phases(data).items():
        tasks = files.tasks(data) if name == rules.task_phase else []
        found |= {f"{files.TASK_ID}{number}": task for number, task in enumerate(tasks, 1)} or {name: each}
    return found


def status(data: Mapping[str, Any], unit: str) -> str:
    """Return the status of a unit in the schema's word."""
    return files.normal(entry(data, unit).get("status"))


def entry(data: Mapping[str, Any], unit: str) -> dict[str, Any]:
    """Return a unit's own object. Raises TransitionError if there is none."""
    number = files.task_number(unit)
    return transitions.phase(data, unit) if number is None else transitions.task(data, number)


def begin(data: dict[str, Any], rules: Machine, unit: str, at: str) -> None:
    """Begin a unit; nothing changes if it is in progress. Raises TransitionError if it can't begin now."""
    number = files.task_number(unit)
    if number is None:
        order = list(files.phases(data))
        before = order[max(order.index(unit) - 1, 0)] if unit in order else ""
        if before == rules.task_phase and files.tasks(data) and transitions.current(data) not in (before, unit):
            transitions.enter(data, rules, before, at)  # its tasks were completed before it began
        transitions.enter(data, rules, unit, at)
    else:
        transitions.start_task(data, rules, number, at)


def complete(data: dict[str, Any], rules: Machine, unit: str, at: str) -> None:
    """Complete a unit, which begins before if it is pending. Raises TransitionError if it can't be completed now."""
    if status(data, unit) == "pending":
        begin(data, rules, unit, at)
    number = files.task_number(unit)
    if number is None:
        transitions.complete(data, rules, unit, at)
    else:
        transitions.complete_task(data, number, at)


def reopen(data: dict[str, Any], rules: Machine, unit: str, at: str) -> None:
    """Make a completed unit active again, for people only; later phases are pending again. Raises TransitionError."""
    number = files.task_number(unit)
    if number is None:
        transitions.reopen(data, rules, unit, at)
    else:
        transitions.reopen_task(data, rules, number, at)


def due(data: Mapping[str, Any], rules: Machine) -> str:
    """Return the unit that is in progress or blocked, else the next one that is open; empty if all are completed.

    The next one comes after the current phase, unless nothing is open there.
    """
    statuses = {unit: files.normal(each.get("status")) for unit, each in entries(data, rules).items()}
    name, order = transitions.current(data), list(statuses)
    begun = [unit for unit, word in statuses.items() if word in ("in_progress", "blocked")]
    if begun:
        return name if name in begun else begun[0]
    ahead = order[order.index(name) :] if name in order else []
    return next((unit for unit in (*ahead, *order) if statuses[unit] != "completed"), "")


def begin_next(data: dict[str, Any], rules: Machine, at: str) -> None:
    """Begin the unit that is due, unless one is in progress or blocked."""
    unit = due(data, rules)
    if unit and status(data, unit) not in ("in_progress", "blocked"):
        begin(data, rules, unit, at)
