"""The schema of `.claude/agent-state.json`: its keys and values, a new file's content, and whose a file is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from holdfast import clock
from holdfast.errors import SchemaMismatch
from holdfast.formats.orchestrator import amounts
from holdfast.workflow import lenient, values
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from holdfast.workflow.statefile import StateFile

Kind = Literal["ours", "drifted", "flat", "foreign"]

RunStatus = Literal["planning", "executing", "reviewing", "completed", "failed"]  # R003-04
AgentType = Literal["task-executor", "supervisor", "outer-ralph", "code-improvement-scanner"]  # R003-14
AgentStatus = Literal["in_progress", "waiting", "blocked"]
CheckType = Literal["pre_task", "post_task", "on_demand"]  # R003-12
ConflictType = Literal["architecture", "dependency", "api", "security", "pattern"]
Severity = Literal["critical", "high", "low"]  # I003-5
Action = Literal["re_plan", "auto_fix", "pass"]
LearningType = Literal["pattern", "antipattern", "insight"]  # R003-18
STATUSES: tuple[str, ...] = get_args(RunStatus)
AGENT_TYPES: tuple[str, ...] = get_args(AgentType)
CHECK_TYPES: tuple[str, ...] = get_args(CheckType)
CONFLICT_TYPES: tuple[str, ...] = get_args(ConflictType)
SEVERITIES: tuple[str, ...] = get_args(Severity)
ACTIONS: tuple[str, ...] = get_args(Action)
LEARNING_TYPES: tuple[str, ...] = get_args(LearningType)
TERMINAL = ("completed", "failed")  # I003-13
LISTS = ("active_agents", "completed_tasks", "pending_tasks", "learnings", "milestones", "checkpoints")
BOUNDS = {"max_iterations_per_task": 30, "max_cost": "$10", "max_time": "2h"}  # R003-17, I003-19

_DIGITS = 9  # at most, in the number of a phase or task
_LAST = 10**_DIGITS  # above each phase's number
_MEANINGS: dict[Kind, str] = {
    "drifted": "is a run whose values have other types than the schema's; it is left alone, and "
    "`holdfast doctor orchestrator` names each of them",
    "flat": "is a state of the old flat format, which isn't migrated; it is left alone",
    "foreign": "holds no run of a task document; it is left alone",
}


def _text(words: str, read: Callable[[str], object]) -> AfterValidator:
    """Return a validator of a text that `read` can read; its error says what the text has to be."""

    def validate(text: str | None) -> str | None:
        if text is not None and read(text) is None:
            raise ValueError(words)
        return text

    return AfterValidator(validate)


def _place(text: str) -> re.Match[str] | None:
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    return match if match and int(match[1]) <= int(match[2]) else None  # I003-2


def _cost(text: str) -> object:
    return text if text == amounts.UNKNOWN else amounts.money(text)


Count = Annotated[int, Field(ge=0)]
Moment = Annotated[str, _text("a time (ISO 8601)", clock.parse)]
End = Annotated[str | None, _text("a time (ISO 8601) or null", clock.parse)]
Place = Annotated[str, _text("N/M, and N is at most M", _place)]
Money = Annotated[str, _text("money such as $10", amounts.money)]
Cost = Annotated[str, _text("money such as $0.20, or unknown", _cost)]
Duration = Annotated[str, _text("a time such as 2h or 15m 23s", amounts.seconds)]


class _Part(BaseModel):
    """A part of the state. Keys beyond the schema are allowed, and values of another type are none of its."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Head(_Part):
    """`orchestrator`: the run itself (R003-04 to R003-10)."""

    status: RunStatus
    task_doc: str
    current_phase: Count
    total_phases: Count
    current_task: Place
    ralph_iteration: Count
    outer_ralph: bool
    start_time: Moment
    end_time: End


class Intervention(_Part):
    """An entry of the supervisor's interventions (R003-12)."""

    timestamp: Moment
    check_type: CheckType
    task: str
    conflict_type: ConflictType
    severity: Severity
    action: Action
    resolution: str


class Supervisor(_Part):
    """`supervisor` (R003-11)."""

    enabled: bool
    checks_performed: Count
    conflicts_detected: Count
    auto_fixes_applied: Count
    re_plans_triggered: Count
    last_check: End
    interventions: list[Intervention]


class Agent(_Part):
    """An entry of `active_agents` (R003-14)."""

    type: AgentType
    task: str
    started: Moment
    iteration: Count
    status: AgentStatus


class CompletedTask(_Part):
    """An entry of `completed_tasks` (R003-15)."""

    task: str
    name: str
    completed: Moment
    iterations: Count
    time_elapsed: Duration
    cost: Cost
    files_modified: list[str]
    success_criteria_met: dict[str, bool]


class PendingTask(_Part):
    """An entry of `pending_tasks` (R003-16)."""

    phase: Count
    task: str
    name: str


class SafetyBounds(_Part):
    """`safety_bounds` (R003-17)."""

    max_iterations_per_task: Count
    max_cost: Money
    max_time: Duration
    cost_so_far: Money
    elapsed_time: Duration
    warnings: list[str]


class Learning(_Part):
    """An entry of `learnings` (R003-18)."""

    timestamp: Moment
    task: str
    iteration: Count
    type: LearningType
    lesson: str
    pattern: str
    context: str


class Milestone(_Part):
    """An entry of `milestones` (R003-19)."""

    phase: Count
    name: str
    completed: Moment
    issue_url: str


class Checkpoint(_Part):
    """An entry of `checkpoints` (R003-20). A sha may be any text (I003-6)."""

    timestamp: Moment
    phase: Count
    task: str
    git_sha: str
    state_snapshot: str


class State(_Part):
    """The whole file, its keys in the document's order, as its six jq queries read them (R003-02, R003-03, R003-25)."""

    orchestrator: Head
    supervisor: Supervisor
    active_agents: list[Agent]
    completed_tasks: list[CompletedTask]
    pending_tasks: list[PendingTask]
    safety_bounds: SafetyBounds
    learnings: list[Learning]
    milestones: list[Milestone]
    checkpoints: list[Checkpoint]


def deviations(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return each field that is missing or has a value that the schema doesn't allow, with what is wrong with it."""
    try:
        State.model_validate(data)
    except ValidationError as error:
        return [(lenient.name(each["loc"]), _words(each)) for each in error.errors()]
    return []


def _words(error: Any) -> str:
    """Return a value's fault, as the end of a sentence."""
    if error["type"] == "literal_error":
        return f"is not one of {error['ctx']['expected'].replace(' or ', ', ').replace(chr(39), '')}"
    return lenient.FAULTS.get(error["type"]) or f"is not {error['ctx']['error']}"


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
        known = any(name in data for name in [*State.model_fields][1:])
        whole = orchestrator["status"] in STATUSES and isinstance(orchestrator.get("task_doc"), str)
        if known and whole and all(map(only_objects, lists)) and not _has_drifted_bounds(data):
            return "ours"
        return "drifted" if known and (lists or "safety_bounds" in data) else "foreign"
    return "flat" if "current_step" in data and "total_steps" in data else "foreign"  # R003-26


def check(file: StateFile) -> None:
    """Raise SchemaMismatch, which says what the file is, unless a file that was read is a state of ours."""
    whose = kind(file.data)
    if whose == "drifted" and (fields := deviations(file.data)):
        field, wrong = fields[0]
        more = f", and {count(len(fields) - 1, 'other field')} may differ" if len(fields) > 1 else ""
        left = "it is left alone, and `holdfast doctor orchestrator` names each"
        raise SchemaMismatch(file.path, f'is a run whose "{field}" {wrong}{more}; {left}')
    if whose != "ours":
        raise SchemaMismatch(file.path, _MEANINGS[whose])


def only_objects(value: Any) -> bool:
    """Return whether a value is a list of objects."""
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def task_of(entry: Mapping[str, Any]) -> str:
    """Return the id of the task that an entry of one of the lists is about."""
    return values.text(entry.get("task"))


def key(task: str) -> tuple[int, int, str]:
    """Return the sort key of a task id (R003-21): `1.10` comes after `1.9`, an id of another form last."""
    match = re.fullmatch(rf"(\d{{1,{_DIGITS}}})\.(\d{{1,{_DIGITS}}})", task)
    return (int(match[1]), int(match[2]), "") if match else (_LAST, 0, task)


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


def _has_drifted_bounds(data: Mapping[str, Any]) -> bool:
    bounds = data.get("safety_bounds", {})
    if not isinstance(bounds, dict) or "max_time_hours" in bounds:
        return True
    texts = ("max_cost", "max_time", "cost_so_far", "elapsed_time")
    return any(isinstance(bounds.get(name), (int, float)) for name in texts)
