"""Record what came of checkpoints, steps and tests in a skill's state (R004-20 to R004-23, R004-27)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import TransitionError
from holdfast.formats.skills import file as files
from holdfast.formats.skills import transitions, view
from holdfast.workflow import values
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.formats.skills.machine import Machine

NEVER_RED = "no failing test was recorded in RED; write a test that fails first"


class Tests(NamedTuple):
    """What is known of a part of a test-driven task.

    Attributes:
        file: the test's file, or in GREEN the implementation's.
        name: the test's name.
        reason: why it fails.
        command: the command that ran the tests.
        failing: the tests that fail.
        passing: the tests that pass.
    """

    file: str = ""
    name: str = ""
    reason: str = ""
    command: str = ""
    failing: Sequence[str] = ()
    passing: Sequence[str] = ()


def checkpoint(
    data: dict[str, Any], name: str, at: str, *, passed: bool, more: Mapping[str, Any], marked: Mapping[str, Any] = {}
) -> None:
    """Record that a checkpoint was run and whether it passed; nothing changes if that was recorded last.

    `marked` are further words for the history. Raises TransitionError for an unknown checkpoint, and if the workflow is
    blocked or over.
    """
    transitions.must_go_on(data)
    point = _point(data, name)
    wanted = {"status": "completed", "passed": passed, **more}
    if all(key in point and point[key] == value for key, value in wanted.items()):
        return
    for key in ("status", "last_run", "passed", *more):
        point[key] = {**wanted, "last_run": at}[key]
    transitions.note(data, at, "checkpoint", checkpoint=name, passed=passed, **marked)


def pull_request(data: dict[str, Any], number: int | None, url: str, at: str) -> None:
    """Record the pull request; nothing changes if it is recorded. Raises TransitionError as `checkpoint` does."""
    transitions.must_go_on(data)
    point = _point(data, transitions.PULL_REQUEST)
    wanted = {"status": "completed", "pr_number": number, "pr_url": url or None}
    if any(point.get(key) != value for key, value in wanted.items()):
        point |= wanted
        transitions.note(data, at, "pr_created", pr_number=number, pr_url=url or None)


def step(data: dict[str, Any], name: str, at: str) -> None:
    """Make a step of the current phase the current one. Raises TransitionError for an unknown one, with those known."""
    transitions.must_go_on(data)
    phase = transitions.phase(data, transitions.current(data))
    steps = values.texts(phase.get("steps"), "steps", [])
    if name not in steps:
        known = f"it has {', '.join(steps)}" if steps else "it has no steps"
        raise TransitionError(f"{transitions.current(data)} has no step {name!r}; {known}")
    if data["state_machine"].get("current_step") != name:
        data["state_machine"]["current_step"] = name
        transitions.note(data, at, "step_started", step=name)


def fields(data: dict[str, Any], rules: Machine, given: Mapping[str, Any], at: str) -> None:
    """Set fields of the current phase. Raises TransitionError for one that the machine doesn't know."""
    name = transitions.current(data)
    phase, known = transitions.phase(data, name), rules.stage(name).fields
    for key in given:
        if key not in known:
            ways = f"it has {', '.join(known)}" if known else "it has none of its own"
            raise TransitionError(f"{name} has no field {key!r}; {ways}")
    if any(phase.get(key) != value for key, value in given.items()):
        phase |= given
        transitions.note(data, at, "phase_updated", phase=name, fields=sorted(given))


def part(data: dict[str, Any], rules: Machine, name: str, tests: Tests, at: str) -> str:
    """Go to a part of a test-driven task (red, green, refactor, commit), and record its tests.

    In a machine that has these as phases, the phase begins. Else it is a part of the task that is worked on.

    Returns:
        What is doubtful about it; empty for nothing.

    Raises:
        TransitionError: the workflow has no such part, no task is in progress, or the transition isn't allowed.
    """
    phases = name in {each.name for each in rules.stages}
    number = None if phases else view.current_task(data)
    doubt = NEVER_RED if name == "green" and not was_red(data, number) else ""
    if phases:
        transitions.enter(data, rules, name, at)
        write_phase(data, rules, name, tests, at)
    else:
        _go_to(data, rules, name, at)
    if tests.failing or tests.passing or tests.command or (name == "red" and tests.reason):
        run(data, tests, at, task=number)
    if doubt and not any(each.get("event") == "never_red" for each in last_events(data)):
        transitions.note(data, at, "never_red", note=doubt)
    return doubt


def run(data: dict[str, Any], tests: Tests, at: str, *, task: int | None = None, **more: Any) -> None:
    """Record a test run in `test_state`, with the task it is for if a workflow has several.

    Nothing changes if it came out like the last one. `more` are further words for the history.
    """
    failing = list(tests.failing) or ([tests.name] if tests.name and tests.reason else [])
    before = values.members(data.get("test_state"))
    result = "failed" if failing or tests.reason else "passed"
    wanted = {
        "test_command": tests.command or before.get("test_command"),
        "last_result": result,
        "failing_tests": failing,
        "passing_tests": list(tests.passing),
        **({} if task is None else {"task": task}),
    }
    if before.get("last_run") and all(before.get(key) == value for key, value in wanted.items()):
        return
    ordered = {"test_command": None, "last_run": at, "last_result": None}
    data["test_state"] = {**ordered, **before, **wanted, "last_run": at}
    transitions.note(data, at, "tests_run", result=result, **more)


def _point(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    points = files.checkpoints(data)
    if name not in points:
        raise TransitionError(missing(f"checkpoint {name!r}", list(points), "the workflow has no checkpoints"))
    return points[name]


def write_phase(
    data: dict[str, Any],
    rules: Machine,
    name: str,
    tests: Tests,
    at: str,
    *,
    passing: bool | None = None,
    marked: Mapping[str, Any] = {},
) -> None:
    """Write what is known of the tests into the phase's own fields, and the history's events for it, with `marked`."""
    phase, known = transitions.phase(data, name), rules.stage(name).fields
    if passing is None and (tests.failing or tests.passing):
        passing = not tests.failing
    found = {
        "test_file": tests.file,
        "test_name": tests.name,
        "failure_confirmed": True if tests.reason or tests.failing else None,
        "failure_reason": tests.reason,
        "implementation_file": tests.file,
        "tests_passing": passing,
        "last_error": tests.reason,
    }
    given = {key: found[key] for key in known if found.get(key) not in (None, "")}
    changed = {key: value for key, value in given.items() if phase.get(key) != value}
    phase |= changed
    if "test_file" in changed:
        transitions.note(data, at, "test_written", file=tests.file, **marked)
    if "failure_confirmed" in changed or "failure_reason" in changed:
        transitions.note(data, at, "failure_confirmed", reason=tests.reason or None, **marked)


def _go_to(data: dict[str, Any], rules: Machine, name: str, at: str) -> None:
    """Move the task that is in progress to a part of it; parts before it are completed."""
    number = view.current_task(data)
    if name not in rules.task_cycle or number is None:
        known = list(dict.fromkeys([*(each.name for each in rules.stages), *rules.task_cycle]))
        said = missing(f"part {name!r}", known, where=f"{rules.name} has")
        raise TransitionError(f"{said}, and a task has to be in progress")
    transitions.start_task(data, rules, number, at)
    task, at_part = transitions.task(data, number), rules.task_cycle.index(name)
    wanted = {
        each: "completed" if place < at_part else "in_progress" if place == at_part else "pending"
        for place, each in enumerate(rules.task_cycle)
    }
    if task.get("tdd_phases") != wanted:
        task["tdd_phases"] = {**values.members(task.get("tdd_phases")), **wanted}
        transitions.note(data, at, "tdd_phase", task=number, phase=name)


def was_red(data: Mapping[str, Any], number: int | None) -> bool:
    """Return whether a failing test was recorded: in the phase RED, or for the task with this number."""
    if any(each.get("event") == "tests_run" and each.get("result") == "failed" for each in last_events(data)):
        return True
    if number is None:
        return transitions.phase(data, "red").get("failure_confirmed") is True
    state = values.members(data.get("test_state"))
    return state.get("last_result") == "failed" and state.get("task") == number


def last_events(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events since the last RED or, if that came later, the last task began."""
    history = files.history(data)
    begins = ("phase_started", "tdd_phase")
    begun = [
        at
        for at, each in enumerate(history)
        if each.get("event") == "task_started" or (each.get("event") in begins and each.get("phase") == "red")
    ]
    return history[begun[-1] :] if begun else history
