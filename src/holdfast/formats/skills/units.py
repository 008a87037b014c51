"""Move the units of a workflow, its phases and tasks alike, on the JSON state itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.formats.skills import file as files
from holdfast.formats.skills import transitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.formats.skills.machine import Machine


def listed(data: Mapping[str, Any], rules: Machine) -> list[str]:
    """Return the ids of the units, in order (`view` has the same ones)."""
    found: list[str] = []
    for each in files.phases(data):
        tasks = len(files.tasks(data)) if each == rules.task_phase else 0
        found += [f"{files.TASK_ID}{number}" for number in range(1, tasks + 1)] or [each]
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


def following(data: Mapping[str, Any], rules: Machine) -> str:
    """Return the first unit that is pending; empty for none, or while one is in progress or blocked."""
    statuses = {unit: status(data, unit) for unit in listed(data, rules)}
    if any(word in ("in_progress", "blocked") for word in statuses.values()):
        return ""
    return next((unit for unit, word in statuses.items() if word == "pending"), "")


def begin_next(data: dict[str, Any], rules: Machine, at: str) -> None:
    """Begin the first unit that is pending, unless one is in progress."""
    unit = following(data, rules)
    if unit:
        begin(data, rules, unit, at)


def are_completed(data: Mapping[str, Any], rules: Machine) -> bool:
    """Return whether every unit is completed."""
    return all(status(data, unit) == "completed" for unit in listed(data, rules))
