"""A skill's state file as a workflow: its phases, with its tasks in place of the phase that they are worked on in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.files import document
from holdfast.formats.skills import file as files
from holdfast.formats.skills import library, machine, transitions, units
from holdfast.workflow import extras, names, statefile, values
from holdfast.workflow.model import Phase, Status, Workflow
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.formats.skills.machine import Machine
    from holdfast.workflow.model import Problem
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

_WORDS: dict[str, Status] = {"pending": "pending", "in_progress": "active", "completed": "completed"}
_WORDS |= {"blocked": "blocked"}
_EMPTY: tuple[Any, ...] = (None, "", [])
_OF_WORKFLOW: dict[str, Status] = {"completed": "completed", "abandoned": "failed", "blocked": "blocked"}


class Seen(NamedTuple):
    """A state file as everything reads it.

    Attributes:
        file: the file.
        rules: the machine that its skill has.
        data: its state, with the phases and tasks that it doesn't list (`file.filled`), and with statuses that agree
            with the current phase (`transitions.settle`).
        notes: what is wrong with the machine's file, and what was filled in.
    """

    file: StateFile
    rules: Machine
    data: dict[str, Any]
    notes: tuple[str, ...]


def read(project: Records, path: Path) -> Seen:
    """Return a state file with its machine. Raises as `file.load` does."""
    return seen(project, files.load(project, path))


def seen(project: Records, file: StateFile) -> Seen:
    """Return a state file that was read with its machine."""
    return _in_root(project.root, file)


def of(workflow: Workflow) -> Seen:
    """Return the state that a workflow was read from, with its machine."""
    file = statefile.StateFile(document.parse(workflow.path, workflow.raw, 0.0), present=workflow.raw)
    return _in_root(workflow.root or workflow.path.parent, file)


def _in_root(root: Path, file: StateFile) -> Seen:
    skill = files.skill(file.data, file.path)
    own, problem = library.known(root, skill)
    data, filled = files.filled(root, file.data, own)
    state, tasks = data["state_machine"], data.get("tasks")
    data = {**data, "state_machine": {**state, "phases": _copied(state.get("phases"))}}
    data |= {"tasks": _copied(tasks)} if tasks else {}
    steps = {id_: values.texts(each.get("steps"), "steps", []) for id_, each in files.phases(data).items()}
    rules = machine.fitted(own, skill, steps)
    transitions.settle(data, rules)
    return Seen(file, rules, data, tuple(filter(None, (problem, filled))))


def merged(project: Records, given: Seen) -> tuple[Workflow, tuple[Problem, ...]]:
    """Return a state file as a workflow with its extras, and the problems of these."""
    return extras.merged(project, workflow(project, given))


def workflow(project: Records, given: Seen) -> Workflow:
    """Return a state file as a workflow, with a warning for everything that doesn't follow the schema."""
    data, rules, file = given.data, given.rules, given.file
    warnings = list(filter(None, (*given.notes, *_contradictions(data, rules), mismatch(data, project.branch))))
    phases = read_units(data, rules, warnings)
    if abandoned := files.status(data) == "abandoned":  # nothing runs in it any more
        phases = tuple(each._replace(status="pending") if each.status == "active" else each for each in phases)
    begins = transitions.current(data) in (files.INIT, "") and all(each.status == "pending" for each in phases)
    due = "" if begins else units.due(data, rules)
    context = values.mapping(data.get("context"), "context", warnings)
    about = files.key(data, rules)
    return Workflow.of(
        file.document,
        root=project.root,
        recovered=bool(file.broken),
        format=files.NAME,
        id=files.identity(data, file.path),
        title=values.text(context.get(rules.title))
        or values.text(context.get("feature_title"))
        or about
        or file.path.stem,
        kind=files.skill(data, file.path),
        status=_status(data, phases),
        phases=phases,
        current=next((each for each in phases if each.id == due), None),
        reading=values.entries(data.get(extras.READING), extras.READING, warnings),
        reminders=values.texts(data.get(extras.REMINDERS), extras.REMINDERS, warnings),
        context={name: value for name, value in {**_results(data, rules), **context}.items() if value not in _EMPTY},
        created_at=values.text(values.members(data["workflow"]).get("created_at")),
        warnings=warnings,
        abandoned=abandoned,
    )


def mismatch(data: Mapping[str, Any], branch: str | None) -> str:
    """Say that a workflow belongs to another branch than the one that is checked out (R004-41).

    Empty if it doesn't, if the state names none, and if none is checked out: outside git, and on a detached head.
    """
    named = values.text(values.members(data.get("workflow")).get("branch"))
    if not named or branch is None or named == branch:
        return ""
    return f"State is for branch '{named}' but current branch is '{branch}'"


def read_units(data: Mapping[str, Any], rules: Machine, warnings: list[str]) -> tuple[Phase, ...]:
    """Return phases and tasks in order, each with a number from 1, and add what is odd about them to `warnings`."""
    made = []
    for number, (id_, entry) in enumerate(units.entries(data, rules).items(), 1):
        task = files.task_number(id_)
        title = _title(rules, id_, entry, number) if task is None else described(entry, task)
        made.append(_unit(entry, number, id_, title, warnings))
    warnings += [
        f'phase {number} has no name of its own, so it is called "{name}" here'
        for number, (name, entry) in enumerate(files.phases(data).items(), 1)
        if (given := values.text(entry.get("name"))) != name and not names.holds_secret(given)
    ]
    return tuple(made)


def _contradictions(data: Mapping[str, Any], rules: Machine) -> list[str]:
    """Return what the current phase leaves open: a name that no phase has, and tasks that were left behind."""
    order, name = list(files.phases(data)), transitions.current(data)
    if order and name not in (*order, files.INIT, "") and files.normal(name) != "completed":
        return [f'the current phase "{name}" is none of {", ".join(order)}, so their own statuses count']
    left = len(files.tasks(data)) - completed_tasks(data)
    if left and name in order and rules.task_phase in order[: order.index(name)]:
        return [f"{left} of {count(len(files.tasks(data)), 'task')} not completed, although {name} has begun"]
    return []


def _results(data: Mapping[str, Any], rules: Machine) -> dict[str, Any]:
    """Return what the tests of a workflow showed, and which files it changed (R004-20 to R004-22)."""
    tests = values.members(data.get("test_state"))
    found = {name: tests.get(name) for name in ("failing_tests", "test_command", "last_result", "last_run")}
    for id_, entry in files.phases(data).items():
        found |= {name: entry.get(name) for name in rules.stage(id_).fields}
    paths = [values.text(each.get("path")) for each in files.objects(data.get("files_modified"))]
    return found | {"files_modified": list(dict.fromkeys(filter(None, paths)))}


def described(task: Mapping[str, Any], number: int) -> str:
    """Return the description of a task; a word for one that has none."""
    return values.text(task.get("description")) or f"Task {number}"


def _title(rules: Machine, name: str, entry: Mapping[str, Any], number: int) -> str:
    return rules.stage(name).label or values.text(entry.get("name")) or f"Phase {number}"


def _unit(entry: Mapping[str, Any], number: int, id_: str, title: str, warnings: list[str]) -> Phase:
    word = files.normal(entry.get("status"))
    if word not in _WORDS:
        warnings.append(f'the status of "{title}" is "{word}", not one of {", ".join(_WORDS)}; it counts as pending')
    return Phase(
        id=id_,
        number=number,
        title=title,
        status=_WORDS.get(word, "pending"),
        agent=values.text(entry.get("agent")),
        handover=values.text(entry.get("note")),
    )


def _status(data: Mapping[str, Any], phases: tuple[Phase, ...]) -> Status:
    known = _OF_WORKFLOW.get(files.status(data))
    if known:
        return known
    if any(each.status == "blocked" for each in phases):
        return "blocked"
    return "pending" if all(each.status == "pending" for each in phases) else "active"


def current_task(data: Mapping[str, Any]) -> int | None:
    """Return the number of the task that is worked on; else of the one that is next; None if there is none (I004-6)."""
    found = [files.normal(each.get("status")) for each in files.tasks(data)]
    return next((found.index(word) + 1 for word in ("in_progress", "blocked", "pending") if word in found), None)


def completed_tasks(data: Mapping[str, Any]) -> int:
    """Return how many tasks are completed."""
    return sum(files.normal(each.get("status")) == "completed" for each in files.tasks(data))


def cycle_part(task: Mapping[str, Any], rules: Machine) -> str:
    """Return the part of a task that is in progress, else the next one (red, green, refactor); empty without any."""
    parts = values.members(task.get("tdd_phases"))
    words = {name: files.normal(parts[name]) for name in rules.task_cycle if name in parts}
    active = next((name for name, word in words.items() if word in ("in_progress", "blocked")), "")
    return active or next((name for name, word in words.items() if word == "pending"), "")


def parsed(project: Records, path: Path, raw: bytes, mtime: float) -> Seen:
    """Return a content of a state file with its machine. Raises SchemaMismatch, or BrokenError."""
    file = statefile.StateFile(document.parse(path, raw, mtime), present=raw)
    files.check(file)
    return seen(project, file)


def _copied(value: Any) -> Any:
    """Return a list with copies of its objects, which may then be changed."""
    return [dict(each) if isinstance(each, dict) else each for each in value] if isinstance(value, list) else value
