"""What is wrong with a state: values of another type, and things that contradict each other."""

from __future__ import annotations

import re
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.formats.orchestrator import amounts, schema
from holdfast.formats.orchestrator.run import ENDED_EARLY
from holdfast.workflow import values, wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from holdfast.formats.orchestrator.run import Run


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _time(value: Any) -> bool:
    return isinstance(value, str) and clock.parse(value) is not None


def _time_or_null(value: Any) -> bool:
    return value is None or _time(value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and set(map(type, value)) <= {str}


def _flags(value: Any) -> bool:
    return isinstance(value, dict) and set(map(type, value.values())) <= {bool}


def _money(value: Any) -> bool:
    return amounts.money(value) is not None


def _cost(value: Any) -> bool:
    return value == amounts.UNKNOWN or _money(value)


def _duration(value: Any) -> bool:
    return amounts.seconds(value) is not None


def _place(value: Any) -> bool:
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", value) if isinstance(value, str) else None
    return match is not None and int(match[1]) <= int(match[2])  # I003-2


def _one_of(*words: str) -> tuple[Callable[[Any], bool], str]:
    return (lambda value: value in words), f"one of {', '.join(words)}"


_TEXT, _COUNT, _FLAG = (_text, "a text"), (_count, "a whole number"), (_flag, "true or false")
_MOMENT, _NULLABLE = (_time, "a time (ISO 8601)"), (_time_or_null, "a time (ISO 8601) or null")
_OBJECTS, _TEXTS = (schema.only_objects, "a list of objects"), (_texts, "a list of texts")
_DURATION = (_duration, "a time such as 15m 23s")
RULES: dict[str, dict[str, tuple[Callable[[Any], bool], str]]] = {
    "orchestrator": {
        "status": _one_of(*schema.STATUSES),
        "task_doc": _TEXT,
        "current_phase": _COUNT,
        "total_phases": _COUNT,
        "current_task": (_place, "N/M, and N is at most M"),
        "ralph_iteration": _COUNT,
        "outer_ralph": _FLAG,
        "start_time": _MOMENT,
        "end_time": _NULLABLE,
    },
    "supervisor": {
        "enabled": _FLAG,
        "checks_performed": _COUNT,
        "conflicts_detected": _COUNT,
        "auto_fixes_applied": _COUNT,
        "re_plans_triggered": _COUNT,
        "last_check": _NULLABLE,
        "interventions": _OBJECTS,
    },
    "interventions": {
        "timestamp": _MOMENT,
        "check_type": _one_of(*schema.CHECK_TYPES),
        "task": _TEXT,
        "conflict_type": _one_of(*schema.CONFLICT_TYPES),
        "severity": _one_of(*schema.SEVERITIES),
        "action": _one_of(*schema.ACTIONS),
        "resolution": _TEXT,
    },
    "active_agents": {
        "type": _one_of(*schema.AGENT_TYPES),
        "task": _TEXT,
        "started": _MOMENT,
        "iteration": _COUNT,
        "status": _one_of(*schema.AGENT_STATUSES),
    },
    "completed_tasks": {
        "task": _TEXT,
        "name": _TEXT,
        "completed": _MOMENT,
        "iterations": _COUNT,
        "time_elapsed": _DURATION,
        "cost": (_cost, f"money such as $0.20, or {amounts.UNKNOWN}"),
        "files_modified": _TEXTS,
        "success_criteria_met": (_flags, "an object of true and false"),
    },
    "pending_tasks": {"phase": _COUNT, "task": _TEXT, "name": _TEXT},
    "safety_bounds": {
        "max_iterations_per_task": _COUNT,
        "max_cost": (_money, "money such as $10"),
        "max_time": (_duration, "a time such as 2h"),
        "cost_so_far": (_money, "money such as $0.75"),
        "elapsed_time": (_duration, "a time such as 0h 34m 8s"),
        "warnings": _TEXTS,
    },
    "learnings": {
        "timestamp": _MOMENT,
        "task": _TEXT,
        "iteration": _COUNT,
        "type": _one_of(*schema.LEARNING_TYPES),
        "lesson": _TEXT,
        "pattern": _TEXT,
        "context": _TEXT,
    },
    "milestones": {"phase": _COUNT, "name": _TEXT, "completed": _MOMENT, "issue_url": _TEXT},
    "checkpoints": {"timestamp": _MOMENT, "phase": _COUNT, "task": _TEXT, "git_sha": _TEXT, "state_snapshot": _TEXT},
}
"""What each value has to be: a test, and the words for it. A sha may be any text (I003-6)."""


def types(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for each value that the schema doesn't allow, and for each key that is missing (R003-03)."""
    for name in schema.TOP:
        yield from _part(name, data.get(name))
    supervisor = values.members(data.get("supervisor"))
    if isinstance(supervisor.get("interventions"), list):
        yield from _items("interventions", "supervisor.interventions", supervisor["interventions"])


def _part(name: str, given: Any) -> Iterator[str]:
    if given is None:
        yield f'"{name}" is missing'
    elif name in schema.LISTS:
        yield from _items(name, name, given)
    elif not isinstance(given, dict):
        yield f'"{name}" is not an object'
    else:
        yield from _members(name, name, given)


def _items(rule: str, name: str, given: Any) -> Iterator[str]:
    if not isinstance(given, list):
        yield f'"{name}" is not a list'
        return
    if not all(_column_fits(given, key, fits) for key, (fits, _) in RULES[rule].items()):
        for number, each in enumerate(given):
            yield from entry(rule, f"{name}[{number}]", each)


def _column_fits(given: list[Any], key: str, fits: Callable[[Any], bool]) -> bool:
    """Return whether a key's value is allowed in each of many entries; a value that several have is looked at once."""
    try:
        column = list(map(itemgetter(key), given))
    except (KeyError, TypeError):  # an entry lacks it, or is no object
        return False
    if fits is _text:
        return set(map(type, column)) <= {str}
    if len(set(map(type, column))) > 1:  # True equals 1
        return all(map(fits, column))
    try:
        return all(map(fits, set(column)))
    except TypeError:  # lists and objects can't be in a set
        return all(map(fits, column))


def entry(rule: str, name: str, given: Any) -> Iterator[str]:
    """Yield a warning for each value that the schema doesn't allow in an entry of one of its lists.

    Args:
        rule: the list, such as `learnings`.
        name: what the warnings call the entry.
        given: the entry.
    """
    if isinstance(given, dict):
        yield from _members(rule, name, given)
    else:
        yield f'"{name}" is not an object'


def _members(rule: str, name: str, given: Mapping[str, Any]) -> Iterator[str]:
    for key, (fits, words) in RULES[rule].items():
        if key not in given:
            yield f'"{name}.{key}" is missing'
        elif not fits(given[key]):
            yield f'"{name}.{key}" is not {words}'


def contradictions(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what in a state contradicts something else in it (I003-1, I003-3, I003-4, I003-11, I003-14).

    Each with what to do about it; that is empty for what `repair` mends.
    """
    for said in (*_lists(run), *_numbers(run), *_sums(run), *_counters(run), *_life(run)):
        yield said, ""
    yield from _left_to_you(run)


def _lists(run: Run) -> Iterator[str]:
    ids = {name: [schema.task_of(each) for each in schema.objects(run.data.get(name))] for name in schema.LISTS}
    for name in ("completed_tasks", "pending_tasks"):
        yield from (f"task {each} is in {name} twice" for each, times in Counter(ids[name]).items() if times > 1)
    pending, completed = set(ids["pending_tasks"]), set(ids["completed_tasks"])
    yield from (f"task {each} is pending and completed" for each in sorted(pending & completed, key=schema.key))
    for each in dict.fromkeys(ids["active_agents"]):
        if each in pending and run.executor(each):
            yield f"task {each} has an agent and is pending"
        if each in completed and run.executor(each):
            yield f"task {each} has an agent and is completed"


def _numbers(run: Run) -> Iterator[str]:
    for name in ("pending_tasks", "checkpoints"):
        for each in schema.objects(run.data.get(name)):
            task, phase = schema.task_of(each), values.number(each.get("phase"))
            number = schema.phase_of(task)
            if number is not None and phase is not None and phase not in (number - 1, number):
                yield f"task {task} is in phase {phase} of {name}; phases count from 0, so {number - 1} is expected"


def _sums(run: Run) -> Iterator[str]:
    bounds = values.members(run.data.get("safety_bounds"))
    cost, elapsed = sums(run)
    said, time = amounts.money(bounds.get("cost_so_far")), amounts.seconds(bounds.get("elapsed_time"))
    if said is not None and said != amounts.money(cost):
        yield f"cost_so_far is {bounds['cost_so_far']}, and the tasks' costs add up to {cost}"
    if time is not None and time != amounts.seconds(elapsed):
        yield f"elapsed_time is {bounds['elapsed_time']}, and the tasks' times add up to {elapsed}"


def sums(run: Run) -> tuple[str, str]:
    """Return what the tasks cost and took, attempts that failed included (I003-10, I003-11)."""
    done = schema.objects(run.data.get("completed_tasks"))
    tried = run.all_noted().values()
    cost = amounts.sum_money([*(each.get("cost") for each in done), *(each.get("cost") for each in tried)])
    time = amounts.sum_seconds([*(each.get("time_elapsed") for each in done), *(each.get("time") for each in tried)])
    return amounts.as_money(cost), amounts.as_time(time, hours=True)


def _counters(run: Run) -> Iterator[str]:
    supervisor = values.members(run.data.get("supervisor"))
    for name, least in counts(run).items():
        count = values.number(supervisor.get(name))
        if count is not None and count < least:
            yield f"{name} is {count}, and {least} of its interventions are listed"


def counts(run: Run) -> dict[str, int]:
    """Return what the supervisor's counters have to be at least, going by the interventions that are listed."""
    listed = schema.objects(values.members(run.data.get("supervisor")).get("interventions"))
    actions = Counter(values.text(each.get("action")) for each in listed)
    return {
        "conflicts_detected": len(listed),
        "auto_fixes_applied": actions["auto_fix"],
        "re_plans_triggered": actions["re_plan"],
    }


def _left_to_you(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what `repair` leaves alone, because only you know what is meant, and what to do."""
    current, total = (values.number(run.head.get(name)) for name in ("current_phase", "total_phases"))
    if current is not None and total is not None and current >= max(total, 1):
        said = f"current_phase is {current}, and the run has {wording.count(total, 'phase')}, counted from 0"
        yield said, 'correct "orchestrator.current_phase", or start a task'
    left = [] if run.notes.get(ENDED_EARLY) is True else [each.id for each in run.unfinished()]
    if run.status == "completed" and left:
        named = f"{', '.join(left[:5])} {'is' if len(left) == 1 else 'are'}"
        yield f"the run is completed, and {named} not", "`holdfast restore` goes back to what it was before"
    if run.status == "planning" and schema.objects(run.data.get("completed_tasks")):
        yield (
            "the run is planning, but some of its tasks are completed",
            "`holdfast orchestrator approve` begins it",
        )


def _life(run: Run) -> Iterator[str]:
    if run.status == "completed" and run.head.get("outer_ralph") is True:
        yield "the run is completed, and its outer review is running"
    if run.terminal and run.head.get("end_time") is None:
        yield f"the run is {run.status} and has no end_time"
    if not run.terminal and run.head.get("end_time") is not None:
        yield f"the run is {run.status} and has an end_time"
