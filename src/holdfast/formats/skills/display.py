"""What a person and the model see of a workflow at its resumption, in the document's words and signs (I004-21).

R004-33, R004-34 and R004-35 are lines for the model, R004-36 and R004-37 what a person sees. The pull request's
checkpoint has a short name (I004-7), and the progress of tasks stands at their phase (I004-9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import StateError
from holdfast.formats.skills import file as files
from holdfast.formats.skills import places, transitions, view
from holdfast.workflow import values
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from holdfast.formats.skills.machine import Machine
    from holdfast.formats.skills.view import Seen
    from holdfast.workflow.model import Phase
    from holdfast.workflow.records import Records

CHECKING = "📂 Checking for existing workflow state..."
RESUMING = "📂 Resuming workflow from saved state..."
STARTING = "🆕 Starting new workflow..."
SIGNS = {"completed": "✅", "in_progress": "🔄", "blocked": "🚫"}
WAITING = "⏳"
_RULE = "━" * 47
_MOST_TESTS = 20  # failing tests that are shown
_SPANS = ((86400, "day", "days", "d"), (3600, "hour", "hours", "h"), (60, "minute", "minutes", "min"))


def ago(then: datetime | None, now: datetime, *, short: bool = False) -> str:
    """Return how long ago a moment was: `2 hours ago`, or `2 h ago` if `short`; `at an unknown time` without one."""
    if then is None:
        return "at an unknown time"
    seconds = max(int((now - then).total_seconds()), 0)
    length, one, many, brief = next((each for each in _SPANS if seconds >= each[0]), (1, "second", "seconds", "s"))
    count = seconds // length
    return f"{count} {brief if short else one if count == 1 else many} ago"


def scenario(seen: Seen, unit: Phase) -> str:
    """Return what to go on with as a line for the model, with a workflow's current unit."""
    data, rules = seen.data, seen.rules
    number, name = files.task_number(unit.id), transitions.current(data)
    if files.status(data) == "blocked" or unit.status == "blocked":
        return f"Blocked: {_reason(data)}. Once this is solved: `holdfast skills unblock`"
    if unit.status == "completed":
        return "All phases complete. To end the workflow: `holdfast skills complete`"
    if number is not None:
        where = f"{number}/{len(files.tasks(data))}"
        part = view.cycle_part(transitions.task(data, number), rules)
        now = f", currently in {rules.called(part)} phase" if part else ""
        verb = "Resuming task" if unit.status == "active" else "Start task"
        made = next((proposed(data, each) for each in proposals(data) if each.get("task") == number), "")
        return f"{verb} {where}{now}: {quoted(unit.title)}{f'. {made}'.removesuffix('.') if made else ''}"
    points = _open_checkpoints(data, rules)
    if name == rules.task_phase and files.tasks(data):
        return f"All tasks complete. {points}".strip()
    stage = rules.stage(unit.id)
    verb = "go on with" if unit.status == "active" else "start"
    hint = f": {stage.hint}" if stage.hint else ""
    text = f"{verb} {unit.id}{hint}" if hint else f"{verb} {quoted(unit.title)}"
    return f"{text}. {points}" if points and any(each in files.checkpoints(data) for each in stage.requires) else text


def events(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the history's events of a name, in order."""
    return [each for each in files.history(data) if each.get("event") == name]


def proposals(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the commits that may complete a task: the newest of each task that is open."""
    found = {values.number(each.get("task")): each for each in events(data, "commit_seen")}
    tasks = files.tasks(data)
    return [
        each
        for number, each in found.items()
        if number is not None and 1 <= number <= len(tasks)
        if files.normal(tasks[number - 1].get("status")) != "completed"
    ]


def proposed(data: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    """Return what is said of such a commit: which task it may complete, and the command that does it."""
    number, sha = values.number(event.get("task")) or 0, one_line(values.text(event.get("commit")), 40)
    where = f"task {number}/{len(files.tasks(data))}"
    made = f"Commit {sha} {quoted(values.text(event.get('note')))} was made during {where}"
    return f"{made}. If it completes the task: `holdfast skills task {number} --done --commit {sha}`."


def pending(data: Mapping[str, Any]) -> list[str]:
    """Return the checkpoints that were not run yet, in order (R004-29)."""
    return [name for name, point in files.checkpoints(data).items() if not files.ran(point)]


def found(project: Records, seen: Seen, now: datetime) -> list[str]:
    """Return the lines that say what workflow there is and how far it is (R004-36)."""
    data, workflow = seen.data, values.members(seen.data.get("workflow"))
    lines = [
        "Found active workflow:",
        f"  ID: {one_line(values.text(workflow.get('id')) or seen.file.path.stem)}",
        f"  Feature: {one_line(files.key(data, seen.rules)) or 'none'}",
        f"  Started: {ago(clock.parse(values.text(workflow.get('created_at'))), now)}",
        f"  Last activity: {ago(clock.parse(values.text(workflow.get('updated_at'))), now)}",
    ]
    if files.status(data) == "blocked":
        lines.append(f"  Blocked: {one_line(_reason(data))}")
    progress = [line for name in files.phases(data) for line in _phase(project, seen, name)]
    return [*lines, "", "  Progress:", *(progress or ["    no phases recorded"])]


def question(seen: Seen) -> str:
    """Return the question whether to resume, with where that would be."""
    data, rules = seen.data, seen.rules
    number = view.current_task(data) if transitions.current(data) == rules.task_phase else None
    if number is not None:
        part = view.cycle_part(transitions.task(data, number), rules)
        return f"Resume from Task {number}{f' ({rules.called(part)} phase)' if part else ''}? [Y/n]"
    name = _resumed(data)
    if not name:
        return "Resume? [Y/n]"
    where = f"{rules.called(name)} phase" if name in rules.names else rules.stage(name).label or name
    return f"Resume from {where}? [Y/n]"


def resumed(project: Records, seen: Seen, now: datetime) -> list[str]:
    """Return the lines after the answer: the task, its phase, and the last test run (R004-37)."""
    data, rules = seen.data, seen.rules
    tasks, number = files.tasks(data), view.current_task(data)
    name = _resumed(data)
    if number is not None and name == rules.task_phase:
        task = transitions.task(data, number)
        what = f"Task {number}/{len(tasks)} - {one_line(view.described(task, number))}"
        part = view.cycle_part(task, rules)
    else:
        what, part = one_line(files.key(data, rules)), name
    hint = rules.hints.get(part) or rules.stage(part).hint
    head = [_RULE, f"🔄 Resuming: {what}"]
    head += [f"   Phase: {rules.called(part)}{f' ({hint})' if hint else ''}"] if part else []
    return [*head, _RULE, *_tests(project, seen, number, now), "", "Continuing implementation..."]


def brief(seen: Seen, number: int, task: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what an agent is told of its task."""
    rules, data = seen.rules, seen.data
    part = view.cycle_part(task, rules)
    hint = rules.hints.get(part, "")
    lines = [f"Task {number}/{len(files.tasks(data))}: {one_line(view.described(task, number), 2000)}"]
    lines += [f"Phase: {rules.called(part)}{f' ({hint})' if hint else ''}"] if part else []
    lines += [f"Feature: {one_line(files.key(data, rules))}"]
    lines += [f"Note: {one_line(values.text(task['note']), 2000)}"] if task.get("note") else []
    return tuple(lines)


def test_state(project: Records, seen: Seen, number: int | None) -> dict[str, Any]:
    """Return the last test run: the workflow's own, else that of the /tdd workflow for its task; empty for none."""
    own = values.members(seen.data.get("test_state"))
    if number is None or (own.get("last_run") and own.get("task") in (None, number)):
        return own
    keys = (files.key(seen.data, seen.rules), view.described(transitions.task(seen.data, number), number))
    for key in filter(None, keys):
        path = places.state(project, "tdd", key)
        if path == seen.file.path or not path.exists():
            continue
        try:
            data = files.load(project, path).data
        except StateError:
            continue
        about = values.number(values.members(data.get("context")).get("task_index"))
        if about in (None, number):
            return values.members(data.get("test_state"))
    return {}


def _phase(project: Records, seen: Seen, name: str) -> list[str]:
    data, rules = seen.data, seen.rules
    phase = files.phases(data)[name]
    stage, tasks = rules.stage(name), files.tasks(seen.data)
    sign = SIGNS.get(files.normal(phase.get("status")), WAITING)
    label = one_line(stage.label or name)
    if name == rules.task_phase and tasks:
        return [f"    {sign} {label}:", *(_task(project, seen, number) for number in range(1, len(tasks) + 1))]
    detail = stage.detail.replace("{branch}", _branch(data)).replace("{tasks}", _tasks(data))
    detail = _checked(data, rules, name) or detail
    return [f"    {sign} {label}{f' ({one_line(detail)})' if detail else ''}"]


def _task(project: Records, seen: Seen, number: int) -> str:
    task = transitions.task(seen.data, number)
    word, part = files.normal(task.get("status")), view.cycle_part(task, seen.rules)
    more = ""
    if task.get("commit_sha"):
        more = f" (committed: {one_line(values.text(task['commit_sha']), 40)})"
    elif word == "in_progress" and part:
        result = values.text(test_state(project, seen, number).get("last_result"))
        tests = {"failed": " - tests failing", "passed": " - tests passing"}.get(result, "")
        more = f" ({seen.rules.called(part)} phase{tests})"
    return f"       {SIGNS.get(word, WAITING)} Task {number}: {one_line(view.described(task, number))}{more}"


def _checked(data: Mapping[str, Any], rules: Machine, name: str) -> str:
    """Return what came of a phase's checkpoints; empty while none was run."""
    points = {each: point for each, point in files.checkpoints(data).items() if each in rules.stage(name).requires}
    ran = [each for each, point in points.items() if files.ran(point)]
    if not ran:
        return ""
    bad = [each for each in ran if files.failed(points[each])]
    passed = [each for each in ran if each not in bad and files.passed(points[each])]
    groups = {
        "passed": passed,
        "done": [each for each in ran if each not in (*passed, *bad)],
        "failed": bad,
        "pending": [each for each in points if each not in ran],
    }
    return "; ".join(f"{word}: {', '.join(map(rules.called, each))}" for word, each in groups.items() if each)


def _tests(project: Records, seen: Seen, number: int | None, now: datetime) -> list[str]:
    state = test_state(project, seen, number)
    if not state.get("last_run"):
        return []
    when = ago(clock.parse(values.text(state["last_run"])), now, short=True)
    failing = values.texts(state.get("failing_tests"), "failing_tests", [])
    shown = [f"  ❌ {one_line(each)}" for each in failing[:_MOST_TESTS]]
    shown += [f"  +{len(failing) - _MOST_TESTS} more"] if len(failing) > _MOST_TESTS else []
    shown = shown or [f"  ✅ {values.text(state.get('last_result')) or 'passed'}"]
    return ["", f"Last test run ({when}):", *shown]


def _open_checkpoints(data: Mapping[str, Any], rules: Machine) -> str:
    bad = [name for name, point in files.checkpoints(data).items() if files.failed(point)]
    said = {"Failed": bad, "Pending": pending(data)}
    return ". ".join(f"{word}: {', '.join(map(rules.called, names))}" for word, names in said.items() if names)


def _resumed(data: Mapping[str, Any]) -> str:
    """Return the name of the phase that a workflow goes on with: the current one, before the first the first one."""
    name = transitions.current(data)
    return name if name in files.phases(data) else next(iter(files.phases(data)), "")


def _reason(data: Mapping[str, Any]) -> str:
    return values.text(values.members(data.get("workflow")).get("block_reason")) or "no reason was given"


def _branch(data: Mapping[str, Any]) -> str:
    return values.text(values.members(data.get("workflow")).get("branch"))


def _tasks(data: Mapping[str, Any]) -> str:
    total = len(files.tasks(data))
    return f"{view.completed_tasks(data)}/{total} tasks complete" if total else ""
