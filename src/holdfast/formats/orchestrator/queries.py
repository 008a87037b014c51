"""The six questions of document 003 (R003-25), answered as its jq queries answer them; nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.formats.orchestrator import schema
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def status(data: Mapping[str, Any]) -> Any:
    """Return `.orchestrator.status`."""
    return _head(data).get("status")


def progress(data: Mapping[str, Any]) -> Any:
    """Return `{phase, task, status}` of the orchestrator."""
    head = _head(data)
    return {"phase": head.get("current_phase"), "task": head.get("current_task"), "status": head.get("status")}


def cost(data: Mapping[str, Any]) -> Any:
    """Return `{cost, time, max_cost, max_time}` of the safety bounds."""
    bounds = values.members(data.get("safety_bounds"))
    named = {"cost": "cost_so_far", "time": "elapsed_time", "max_cost": "max_cost", "max_time": "max_time"}
    return {name: bounds.get(key) for name, key in named.items()}


def completed(data: Mapping[str, Any]) -> Any:
    """Return `{task, name, iterations, time}` of each completed task."""
    named = {"task": "task", "name": "name", "iterations": "iterations", "time": "time_elapsed"}
    done = schema.objects(data.get("completed_tasks"))
    return [{name: each.get(key) for name, key in named.items()} for each in done]


def interventions(data: Mapping[str, Any]) -> Any:
    """Return the supervisor's interventions."""
    return schema.objects(values.members(data.get("supervisor")).get("interventions"))


def learnings(data: Mapping[str, Any]) -> Any:
    """Return `{task, type, lesson}` of each learning."""
    found = schema.objects(data.get("learnings"))
    return [{name: each.get(name) for name in ("task", "type", "lesson")} for each in found]


QUERIES: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    each.__name__: each for each in (status, progress, cost, completed, interventions, learnings)
}
"""Each question by its name."""


def _head(data: Mapping[str, Any]) -> dict[str, Any]:
    return values.members(data.get("orchestrator"))
