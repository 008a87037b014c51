"""What a person and the model see of a workflow at its resumption, in the document's words and signs (I004-21).

R004-33, R004-34 and R004-35 are lines for the model, R004-36 and R004-37 what a person sees. The pull request's
checkpoint has a short name (I004-7), and the progress of tasks stands at their phase (I004-9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import StateError
from holdfast.files import document
from holdfast.formats.skills import moves, paths, schema, view
from holdfast.formats.skills.schema import State, status_of, task_number
from holdfast.workflow import search, values
from holdfast.workflow.model import Step
from holdfast.workflow.wording import capitalized, one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from holdfast.workflow.model import Phase, Workflow

CHECKING = "📂 Checking for existing workflow state..."
RESUMING = "📂 Resuming workflow from saved state..."
STARTING = "🆕 Starting new workflow..."
_SIGNS = {"completed": "✅", "in_progress": "🔄", "blocked": "🚫"}
_WAITING = "⏳"
_RULE = "━" * 47
_MOST_TESTS = 20  # failing tests that are shown
_SPANS = ((86400, "day", "d"), (3600, "hour", "h"), (60, "minute", "min"))


def ago(moment: str, now: datetime, *, short: bool = False) -> str:
    """Return how long ago a moment was: `2 hours ago`, or `2 h ago` if `short`; `at an unknown time` without one."""
    then = clock.parse(moment)
    if then is None:
        return "at an unknown time"
    seconds = max(int((now - then).total_seconds()), 0)
    length, word, brief = next((each for each in _SPANS if seconds >= each[0]), (1, "second", "s"))
    count = seconds // length
    return f"{count} {brief if short else word + 's' * (count != 1)} ago"


# For the model.


def step(workflow: Workflow) -> Step | None:
    """Return the next unit to work on; None if the workflow is finished."""
    if workflow.finished:
        return None
    state = view.state_of(workflow)
    if not workflow.phases:
        name = state.current
        return Step(0, 0, name, "", name, f"go on with {quoted(name)}; the state file lists no phases")
    unit = next((each for each in workflow.phases if each.number == workflow.current), None)
    unit = unit or next((each for each in workflow.phases if each.status != "completed"), workflow.phases[-1])
    handover = workflow.phases[unit.number - 2].handover if unit.number > 1 else ""
    prompt = f"{unit.title}\n\nContext: {handover}" if handover else unit.title
    agent = f" (agent {unit.agent})" if unit.agent else ""
    return Step(unit.number, workflow.total, unit.title, unit.agent, prompt, f"{_scenario(state, unit)}{agent}")


def brief(state: State, number: int, task: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the text about its task that an agent gets."""
    lines = [f"Task {number}/{len(state.tasks)}: {one_line(view.described(task, number), 2000)}"]
    lines += [f"Phase: {_part(state, part)}"] if (part := state.part(task)) else []
    lines += [f"Feature: {one_line(state.key)}"]
    lines += [f"Note: {one_line(values.text(task['note']), 2000)}"] if task.get("note") else []
    return tuple(lines)


def _scenario(state: State, unit: Phase) -> str:
    """Return the next step as a line for the model, with a workflow's current unit."""
    rules, number = state.rules, task_number(unit.id)
    if state.status == "blocked" or unit.status == "blocked":
        return f"Blocked: {_block_reason(state)}. Once this is solved: `{moves.UNBLOCK}`"
    if unit.status == "completed":
        return "All phases complete. To end the workflow: `holdfast done`"
    if number is not None:
        part = state.part(state.task(number))
        during = f", currently in {rules.word(part)} phase" if part else ""
        verb = "Resuming task" if unit.status == "active" else "Start task"
        return f"{verb} {number}/{len(state.tasks)}{during}: {quoted(unit.title)}"
    points = ". ".join(capitalized(each) for each in _open_checkpoints(state, state.checkpoints))
    if state.current == rules.tasks.phase and state.tasks:
        return f"All tasks complete. {points}".strip()
    stage = rules.stage(unit.id)
    verb = "go on with" if unit.status == "active" else "start"
    text = f"{verb} {unit.id}: {stage.hint}" if stage.hint else f"{verb} {quoted(unit.title)}"
    return f"{text}. {points}" if points and any(each in state.checkpoints for each in stage.needed) else text


# For a person.


def found(root: Path, state: State, now: datetime) -> list[str]:
    """Return the lines that say what workflow there is and how far it is (R004-36)."""
    workflow = {name: values.text(state.workflow.get(name)) for name in ("id", "created_at", "updated_at")}
    lines = [
        "Found active workflow:",
        f"  ID: {one_line(workflow['id'] or state.path.stem)}",
        f"  Feature: {one_line(state.key) or 'none'}",
        f"  Started: {ago(workflow['created_at'], now)}",
        f"  Last activity: {ago(workflow['updated_at'], now)}",
    ]
    if state.status == "blocked":
        lines.append(f"  Blocked: {one_line(_block_reason(state))}")
    progress = [line for name in state.phases for line in _phase(root, state, name)]
    return [*lines, "", "  Progress:", *(progress or ["    no phases recorded"])]


def question(state: State) -> str:
    """Return the question whether to resume, with where that would be."""
    rules, name = state.rules, _resumed(state)
    if (number := state.current_task) is not None and state.current == rules.tasks.phase:
        part = state.part(state.task(number))
        where = f"Task {number}{f' ({rules.word(part)} phase)' if part else ''}"
    else:
        where = f"{rules.word(name)} phase" if name in rules.names else rules.stage(name).label or name
    return f"Resume{f' from {where}' if where else ''}? [Y/n]"


def resumed(root: Path, state: State, now: datetime) -> list[str]:
    """Return the lines after the answer: the task, its phase, and the last test run (R004-37)."""
    number, part = state.current_task, _resumed(state)
    what = one_line(state.key)
    if number is not None and part == state.rules.tasks.phase:
        task = state.task(number)
        what = f"Task {number}/{len(state.tasks)} - {one_line(view.described(task, number))}"
        part = state.part(task)
    head = [_RULE, f"🔄 Resuming: {what}", *([f"   Phase: {_part(state, part)}"] if part else []), _RULE]
    return [*head, *_last_tests(root, state, number, now), "", "Continuing implementation..."]


def _phase(root: Path, state: State, name: str) -> list[str]:
    stage = state.rules.stage(name)
    sign = _SIGNS.get(status_of(state.phases[name]), _WAITING)
    label = one_line(stage.label or name)
    if name == state.rules.tasks.phase and state.tasks:
        return [f"    {sign} {label}:", *(_task(root, state, number) for number in range(1, len(state.tasks) + 1))]
    tasks = f"{state.completed_tasks}/{len(state.tasks)} tasks complete" if state.tasks else ""
    detail = stage.detail.replace("{branch}", state.branch).replace("{tasks}", tasks)
    if any(schema.was_run(point) for each, point in state.checkpoints.items() if each in stage.needed):
        detail = "; ".join(_open_checkpoints(state, stage.needed)) or "passed"
    return [f"    {sign} {label}{f' ({one_line(detail)})' if detail else ''}"]


def _task(root: Path, state: State, number: int) -> str:
    task = state.task(number)
    word, part, more = status_of(task), state.part(task), ""
    if task.get("commit_sha"):
        more = f" (committed: {one_line(values.text(task['commit_sha']), 40)})"
    elif word == "in_progress" and part:
        result = values.text(_test_state(root, state, number).get("last_result"))
        tests = {"failed": " - tests failing", "passed": " - tests passing"}.get(result, "")
        more = f" ({state.rules.word(part)} phase{tests})"
    return f"       {_SIGNS.get(word, _WAITING)} Task {number}: {one_line(view.described(task, number))}{more}"


def _open_checkpoints(state: State, names: Iterable[str]) -> list[str]:
    """Return which checkpoints failed and which are pending, by the words for them: `failed: lint`."""
    found = state.open_checkpoints(names)
    return [f"{word}: {', '.join(map(state.rules.word, names))}" for word, names in found.items()]


def _last_tests(root: Path, state: State, number: int | None, now: datetime) -> list[str]:
    tests = _test_state(root, state, number)
    if not tests.get("last_run"):
        return []
    failing = values.texts(tests.get("failing_tests"), "failing_tests", [])
    lines = [f"  ❌ {one_line(each)}" for each in failing[:_MOST_TESTS]]
    lines += [f"  +{len(failing) - _MOST_TESTS} more"] if len(failing) > _MOST_TESTS else []
    lines = lines or [f"  ✅ {values.text(tests.get('last_result')) or 'passed'}"]
    return ["", f"Last test run ({ago(values.text(tests['last_run']), now, short=True)}):", *lines]


def _test_state(root: Path, state: State, number: int | None) -> dict[str, Any]:
    """Return the last test run: the workflow's own, else that of the /tdd workflow for its task; empty for none."""
    own = state.test_state
    if number is None or (own.get("last_run") and own.get("task") in (None, number)):
        return own
    for key in filter(None, (state.key, view.described(state.task(number), number))):
        path = paths.active(root) / f"{paths.stem('tdd', key)}.json"
        try:
            data = document.load(path, search.LIMIT_BYTES).data if path != state.path else {}
        except StateError:
            continue
        if data and values.number(values.members(data.get("context")).get("task_index")) in (None, number):
            return values.members(data.get("test_state"))
    return {}


def _part(state: State, name: str) -> str:
    """Return a part of a task or a phase with what to do in it: `GREEN (make tests pass)`."""
    hint = state.rules.hints.get(name) or state.rules.stage(name).hint
    return f"{state.rules.word(name)}{f' ({hint})' if hint else ''}"


def _resumed(state: State) -> str:
    """Return the name of the phase that a workflow goes on with: the current one, before the first the first one."""
    return state.current if state.current in state.phases else next(iter(state.phases), "")


def _block_reason(state: State) -> str:
    return values.text(state.workflow.get("block_reason")) or "no reason was given"
