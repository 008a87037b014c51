"""The schema of `.claude/agent-state.json`: its keys, a new file's content, and whose a file is."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal

from holdfast.errors import SchemaMismatch
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.workflow.statefile import StateFile

Kind = Literal["ours", "drifted", "flat", "handover", "empty", "foreign"]

STATUSES = ("planning", "executing", "reviewing", "completed", "failed")  # R003-04
TERMINAL = ("completed", "failed")  # I003-13
AGENT_TYPES = ("task-executor", "supervisor", "outer-ralph", "code-improvement-scanner")  # R003-14
AGENT_STATUSES = ("in_progress", "waiting", "blocked")
CHECK_TYPES = ("pre_task", "post_task", "on_demand")  # R003-12
CONFLICT_TYPES = ("architecture", "dependency", "api", "security", "pattern")
SEVERITIES = ("critical", "high", "low")  # I003-5
ACTIONS = ("re_plan", "auto_fix", "pass")
LEARNING_TYPES = ("pattern", "antipattern", "insight")  # R003-18
LISTS = ("active_agents", "completed_tasks", "pending_tasks", "learnings", "milestones", "checkpoints")
TOP = ("orchestrator", "supervisor", *LISTS[:3], "safety_bounds", *LISTS[3:])  # R003-02, in the document's order
BOUNDS = {"max_iterations_per_task": 30, "max_cost": "$10", "max_time": "2h"}  # R003-17, I003-19

_IDS = 2_048  # task ids that are taken apart once only
_DIGITS = 9  # at most, in the number of a phase or task
_LAST = 10**_DIGITS  # above each phase's number
IMPORT = "holdfast orchestrator import"
_MEANINGS: dict[Kind, str] = {
    "drifted": "is a state that was kept by hand, with values of other types; it is left alone, and "
    f"`{IMPORT}` turns it into one",
    "flat": "is a state of the old flat format, which isn't migrated; it is left alone",
    "handover": "is a session's hand-over notes; it is left alone",
    "empty": "holds no state; it is left alone",
    "foreign": "is another program's file; it is left alone",
}


def fresh(task_doc: str, started: str, total_phases: int, tasks: int, bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a new state file: exactly the keys of the schema's version 1.0 (R003-34), nothing begun.

    Args:
        task_doc: the absolute path of the task document.
        started: when the run started, as a stamp.
        total_phases: how many phases the document has.
        tasks: how many tasks its first phase has.
        bounds: the safety bounds that the document sets.
    """
    return {
        "orchestrator": {
            "status": "planning",
            "task_doc": task_doc,
            "current_phase": 0,
            "total_phases": total_phases,
            "current_task": f"0/{tasks}",
            "ralph_iteration": 0,
            "outer_ralph": False,
            "start_time": started,
            "end_time": None,
        },
        "supervisor": {
            "enabled": True,
            "checks_performed": 0,
            "conflicts_detected": 0,
            "auto_fixes_applied": 0,
            "re_plans_triggered": 0,
            "last_check": None,
            "interventions": [],
        },
        "active_agents": [],
        "completed_tasks": [],
        "pending_tasks": [],
        "safety_bounds": {**BOUNDS, **bounds, "cost_so_far": "$0.00", "elapsed_time": "0h 0m 0s", "warnings": []},
        "learnings": [],
        "milestones": [],
        "checkpoints": [],
    }


def kind(data: Mapping[str, Any]) -> Kind:
    """Return whose file of this name a content is (I003-20). At least eight unrelated programs use the name."""
    orchestrator = data.get("orchestrator")
    if isinstance(orchestrator, dict) and "status" in orchestrator:
        lists = [data[name] for name in LISTS if name in data]
        known = any(name in data for name in TOP[1:])
        whole = orchestrator["status"] in STATUSES and isinstance(orchestrator.get("task_doc"), str)
        if known and whole and all(only_objects(each) for each in lists) and not _drifted_bounds(data):
            return "ours"
        return "drifted" if known and (lists or "safety_bounds" in data) else "foreign"
    if "current_step" in data and "total_steps" in data:
        return "flat"
    if "timestamp" in data and ("completed_todos" in data or "next_steps" in data or "pending_todos" in data):
        return "handover"
    return "empty" if not any(data.values()) else "foreign"


def check(file: StateFile) -> None:
    """Raise SchemaMismatch, which says what the file is, unless a file that was read is a state of ours."""
    found = kind(file.data)
    if found != "ours":
        raise SchemaMismatch(file.path, _MEANINGS[found])


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list, whatever else is in it."""
    if not isinstance(value, list):
        return []
    return list(value) if set(map(type, value)) <= {dict} else [each for each in value if isinstance(each, dict)]


def only_objects(value: Any) -> bool:
    """Return whether a value is a list of objects."""
    return isinstance(value, list) and set(map(type, value)) <= {dict}


def task_of(entry: Mapping[str, Any]) -> str:
    """Return the id of the task that an entry of one of the lists is about."""
    found = entry.get("task")
    return found if isinstance(found, str) else values.text(found)


def tasks_of(entries: Sequence[dict[str, Any]]) -> list[str]:
    """Return what `task_of` does for each of many entries."""
    found: list[Any] = list(map(dict.get, entries, repeat("task")))
    return found if set(map(type, found)) <= {str} else [task_of(each) for each in entries]


@lru_cache(maxsize=_IDS)
def key(task: str) -> tuple[int, int, str]:
    """Return what task ids are sorted by (R003-21): `1.10` comes after `1.9`, an id of another form last."""
    phase, _, number = task.partition(".")
    first, second = _number(phase), _number(number)
    return (_LAST, 0, task) if first is None or second is None else (first, second, "")


@lru_cache(maxsize=_IDS)
def _number(digits: str) -> int | None:
    """Return the number of a phase, or of a task in it; many ids have the same."""
    return int(digits) if digits.isdecimal() and len(digits) <= _DIGITS else None


def phase_of(task: str) -> int | None:
    """Return the number of a task's phase as the document counts, from 1; None for another form or none (I003-1)."""
    number = key(task)[0]
    return number if number < _LAST else None


def pending(task: str, name: str) -> dict[str, Any]:
    """Return the entry of a pending task (R003-16); its phase counts from 0 (I003-1)."""
    number = phase_of(task)
    return {"phase": 0 if number is None else number - 1, "task": task, "name": name}


def run_id(data: Mapping[str, Any]) -> str:
    """Return the id of a run: `run_` and its start time. A later run at the same path starts later."""
    started = data["orchestrator"].get("start_time")
    digits = "".join(re.findall(r"\d+", started)) if isinstance(started, str) else ""
    return f"run_{digits[:8]}_{digits[8:14]}" if len(digits) >= 14 else "run_undated"


def state_path(root: Path) -> Path:
    """Return the path of the state file (R003-01); it need not exist."""
    return root / ".claude" / "agent-state.json"


def _drifted_bounds(data: Mapping[str, Any]) -> bool:
    bounds = data.get("safety_bounds", {})
    if not isinstance(bounds, dict) or "max_time_hours" in bounds:
        return True
    texts = ("max_cost", "max_time", "cost_so_far", "elapsed_time")
    return any(isinstance(bounds.get(name), (int, float)) for name in texts)
