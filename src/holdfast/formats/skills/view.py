"""A skill's state file as a workflow: its phases, with its tasks in place of the phase that they are worked on in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.clock import file_stamp, parse
from holdfast.files import document
from holdfast.formats.skills import file as files
from holdfast.formats.skills import transitions
from holdfast.frozen import NamedTuple
from holdfast.workflow import extras, names, statefile, values
from holdfast.workflow.model import Phase, Status, Workflow

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.formats.skills.machine import Machine
    from holdfast.workflow.model import Problem
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

_WORDS: dict[str, Status] = {"pending": "pending", "in_progress": "active", "completed": "completed"}
_WORDS |= {"blocked": "blocked"}
_OF_WORKFLOW: dict[str, Status] = {"completed": "completed", "abandoned": "failed", "blocked": "blocked"}


class Seen(NamedTuple):
    """A state file with the machine that its skill has."""

    file: StateFile
    rules: Machine
    problem: str

    @property
    def data(self) -> dict[str, Any]:
        """The state."""
        return self.file.data


def read(project: Records, path: Path) -> Seen:
    """Return a state file with its machine. Raises as `file.load` does."""
    return seen(project, files.load(project, path))


def seen(project: Records, file: StateFile) -> Seen:
    """Return a state file that was read with its machine."""
    return Seen(file, *files.rules(project.root, file.data, file.path))


def of(workflow: Workflow) -> Seen:
    """Return the state that a workflow was read from, with its machine."""
    file = statefile.StateFile(document.parse(workflow.path, workflow.raw, 0.0), present=workflow.raw)
    return Seen(file, *files.rules(workflow.root or workflow.path.parent, file.data, file.path))


def identity(data: Mapping[str, Any], path: Path) -> str:
    """Return what tells a workflow from every other one: its id and when it started.

    The id in the file follows from its skill and its key, so the next workflow of the same feature has it again.
    """
    workflow = values.members(data.get("workflow"))
    started = parse(values.text(workflow.get("created_at")))
    name = values.text(workflow.get("id")).strip() or path.stem
    return f"{name}@{file_stamp(started)}" if started else name


def merged(project: Records, given: Seen) -> tuple[Workflow, tuple[Problem, ...]]:
    """Return a state file as a workflow with its extras, and the problems of these."""
    return extras.merged(project, workflow(project, given))


def workflow(project: Records, given: Seen) -> Workflow:
    """Return a state file as a workflow, with a warning for everything that doesn't follow the schema."""
    data, rules, file = given.data, given.rules, given.file
    warnings = list(filter(None, (given.problem, mismatch(data, project.branch))))
    units = read_units(data, rules, warnings)
    if abandoned := files.status(data) == "abandoned":  # nothing runs in it any more
        units = tuple(each._replace(status="pending") if each.status == "active" else each for each in units)
    status = _status(data, units)
    now = _current(data, units)
    context = values.mapping(data.get("context"), "context", warnings)
    about = files.key(data, rules)
    return Workflow.of(
        file.document,
        root=project.root,
        recovered=bool(file.broken),
        format=files.NAME,
        id=identity(data, file.path),
        title=values.text(context.get(rules.title))
        or values.text(context.get("feature_title"))
        or about
        or file.path.stem,
        kind=files.skill(data, file.path),
        status=status,
        phases=units,
        current=now,
        reading=values.entries(data.get(extras.READING), extras.READING, warnings),
        reminders=values.texts(data.get(extras.REMINDERS), extras.REMINDERS, warnings),
        context={name: value for name, value in context.items() if value not in (None, "", [])},
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
    made: list[Phase] = []
    for name, entry in files.phases(data).items():
        if name == rules.task_phase and files.tasks(data):
            for number, task in enumerate(files.tasks(data), 1):
                made.append(_unit(task, len(made) + 1, f"{files.TASK_ID}{number}", described(task, number), warnings))
        else:
            made.append(_unit(entry, len(made) + 1, name, _title(rules, name, entry, len(made) + 1), warnings))
    if not made:
        warnings.append("no phases recorded")
    warnings += [
        f'phase {number} has no name of its own, so it is called "{name}" here'
        for number, (name, entry) in enumerate(files.phases(data).items(), 1)
        if (given := values.text(entry.get("name"))) != name and not names.holds_secret(given)
    ]
    return tuple(made)


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


def _current(data: Mapping[str, Any], units: tuple[Phase, ...]) -> Phase | None:
    """Return what is worked on: of several, what the current phase names, then what is blocked or pending next."""
    name = transitions.current(data)
    begun = [each for each in units if each.status in ("active", "blocked")]
    named = [each for each in begun if each.id == name]
    if named or begun:
        return (named or begun)[0]
    if name in (files.INIT, "") and all(each.status == "pending" for each in units):
        return None
    return next((each for each in units if each.status == "pending"), None)


def _status(data: Mapping[str, Any], units: tuple[Phase, ...]) -> Status:
    known = _OF_WORKFLOW.get(files.status(data))
    if known:
        return known
    if any(each.status == "blocked" for each in units):
        return "blocked"
    return "pending" if units and all(each.status == "pending" for each in units) else "active"


def position(data: Mapping[str, Any]) -> str:
    """Return `5/7`: the task that is worked on, of all; `0/0` without tasks."""
    tasks = files.tasks(data)
    return f"{current_task(data) or completed_tasks(data)}/{len(tasks)}"


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
