"""States that were kept by hand and drifted from the schema: what they mean, written as a state of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import amounts, check, schema
from holdfast.formats.orchestrator.run import stamp
from holdfast.workflow import statuses, values

if TYPE_CHECKING:
    from collections.abc import Mapping

_TASK = re.compile(r"\s*(?:Task\s+)?(\d{1,6}\.\d{1,6})\s*[:.)-]*\s*(.*)", re.IGNORECASE | re.DOTALL)
_STATUSES = {"not_started": "planning", "completed": "completed", "dropped": "failed"}
"""What other words for a status mean (`workflow.statuses`); any further one means that the run goes on."""


def imported(data: Mapping[str, Any], task_doc: str) -> tuple[dict[str, Any], list[str]]:
    """Return a drifted state as one of ours, and what of it could not be taken over.

    Tasks may be texts such as `1.1: Name`, money and times numbers, and bounds may be named `max_time_hours`. What
    nobody said has the schema's first value; a cost that nobody said is unknown. Keys of its own stay.

    Args:
        data: the drifted state.
        task_doc: the absolute path of the task document; empty if the state names it.

    Raises:
        HoldfastError: it is no state at all, or nobody names the task document.
    """
    if schema.kind(data) not in ("drifted", "ours"):
        raise HoldfastError("that isn't an orchestrator's state: it has no object `orchestrator` with a status")
    head = values.members(data.get("orchestrator"))
    doc = task_doc or values.text(head.get("task_doc"))
    if not doc.strip():
        raise HoldfastError("the state names no task document; give --task-doc")
    lost = list[str]()
    made = schema.fresh(doc, _moment(head.get("start_time")), 1, 0, _bounds(values.members(data.get("safety_bounds"))))
    _take(made["orchestrator"], head, "orchestrator", lost, skip=("status", "task_doc"))
    made["orchestrator"]["status"] = _status(values.text(head.get("status")))
    _take(made["supervisor"], values.members(data.get("supervisor")), "supervisor", lost, skip=("interventions",))
    made["supervisor"]["interventions"] = _objects(values.members(data.get("supervisor")), "interventions", lost)
    for name in ("active_agents", "learnings", "milestones", "checkpoints"):
        made[name] = _objects(data, name, lost)
    made["completed_tasks"] = [_completed(each, made) for each in _tasks(data, "completed_tasks", lost)]
    made["pending_tasks"] = [_pending(each) for each in _tasks(data, "pending_tasks", lost)]
    done = made["completed_tasks"]
    cost = amounts.as_money(amounts.sum_money(each["cost"] for each in done))
    given = amounts.money(_money(values.members(data.get("safety_bounds")).get("cost_so_far")))
    if given is not None and given != amounts.money(cost):
        said = amounts.as_money(given)
        lost.append(f'"safety_bounds.cost_so_far" is {said}, and the completed tasks add up to {cost}')
    made["safety_bounds"]["cost_so_far"] = cost
    elapsed = amounts.sum_seconds(each["time_elapsed"] for each in done)
    made["safety_bounds"]["elapsed_time"] = amounts.as_time(elapsed, hours=True)
    numbers = [schema.phase_of(each["task"]) or 1 for each in (*done, *made["pending_tasks"])]
    made["orchestrator"]["total_phases"] = max(made["orchestrator"]["total_phases"], *numbers, 1)
    made["orchestrator"]["current_phase"] = _current(made)
    return {**made, **{key: value for key, value in data.items() if key not in made}}, lost


def _current(made: Mapping[str, Any]) -> int:
    """Return the current phase, counted from 0. By hand, phases are counted either way; the tasks say which."""
    head = made["orchestrator"]
    said, total = head["current_phase"], head["total_phases"]
    tasks = [*map(schema.task_of, made["active_agents"]), *map(schema.task_of, made["pending_tasks"])]
    due = next((number - 1 for each in tasks if (number := schema.phase_of(each))), total - 1)
    return due if said >= total or said - 1 == due else said


def _take(
    into: dict[str, Any], given: Mapping[str, Any], rule: str, lost: list[str], skip: tuple[str, ...] = ()
) -> None:
    """Take over the values that the schema allows, and the keys that it doesn't know."""
    for key, value in given.items():
        if key in skip:
            continue
        known = check.RULES[rule].get(key)
        if known is None or known[0](value):
            into[key] = value
        else:
            lost.append(f'"{rule}.{key}" is not {known[1]}')


def _objects(data: Mapping[str, Any], name: str, lost: list[str]) -> list[dict[str, Any]]:
    """Return the entries of a list that the schema allows."""
    found = list[dict[str, Any]]()
    given = data.get(name)
    for number, each in enumerate(given if isinstance(given, list) else []):
        wrong = list(check.entry(name, f"{name}[{number}]", each))
        lost += wrong
        found += [] if wrong else [each]
    return found


def _tasks(data: Mapping[str, Any], name: str, lost: list[str]) -> list[dict[str, Any]]:
    """Return a list's tasks as objects with `task` and `name`, whatever form they have."""
    found = list[dict[str, Any]]()
    given = data.get(name)
    for number, each in enumerate(given if isinstance(given, list) else []):
        said = _TASK.match(each) if isinstance(each, str) else None
        if said:
            found.append({"task": said[1], "name": said[2].strip() or f"Task {said[1]}"})
        elif isinstance(each, dict) and (id_ := values.text(each.get("task") or each.get("id")).strip()):
            found.append(
                {**each, "task": id_, "name": values.text(each.get("name") or each.get("title")) or f"Task {id_}"}
            )
        else:
            lost.append(f'"{name}[{number}]" names no task')
    return found


def _completed(task: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    time, cost = task.get("time_elapsed"), task.get("cost")
    return {
        **{key: value for key, value in task.items() if key not in ("id", "title")},
        "completed": _moment(task.get("completed") or made["orchestrator"]["start_time"]),
        "iterations": values.number(task.get("iterations")) or 1,
        "time_elapsed": time if amounts.seconds(time) is not None else amounts.as_time(0),
        "cost": _money(cost) or amounts.UNKNOWN,
        "files_modified": list(values.texts(task.get("files_modified"), "files_modified", [])),
        "success_criteria_met": {
            name: met for name, met in values.members(task.get("success_criteria_met")).items() if isinstance(met, bool)
        },
    }


def _pending(task: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **schema.pending(task["task"], task["name"]),
        **{k: v for k, v in task.items() if k not in ("id", "title", "phase")},
    }


def _bounds(given: Mapping[str, Any]) -> dict[str, Any]:
    hours, time = given.get("max_time_hours"), given.get("max_time")
    number = hours if isinstance(hours, (int, float)) and not isinstance(hours, bool) else time
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        minutes = round(number * 60)
        time = f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes // 60}h {minutes % 60}m"
    found = {
        "max_iterations_per_task": values.number(given.get("max_iterations_per_task") or given.get("max_iterations")),
        "max_cost": _money(given.get("max_cost") or given.get("max_cost_usd")),
        "max_time": time if amounts.seconds(time) is not None else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _money(value: Any) -> str | None:
    said = value if isinstance(value, str) else str(value) if isinstance(value, (int, float)) else ""
    return f"${said.strip().removeprefix('$')}" if amounts.money(said) is not None else None


def _status(said: str) -> str:
    if said in schema.STATUSES:
        return said
    return _STATUSES.get(statuses.pure(said) or "", "executing")


def _moment(value: Any) -> str:
    found = clock.parse(value) if isinstance(value, str) else None
    return value if found else stamp(clock.now())
