"""A skill's state as a workflow: its phases, with its tasks in place of the phase that they are worked on in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.files import document
from holdfast.formats.skills import moves, paths, record, schema
from holdfast.formats.skills.schema import State, status_of, task_number
from holdfast.workflow import extras, names, values
from holdfast.workflow.model import Phase, Status, Workflow
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

_STATUSES: dict[str, Status] = {"pending": "pending", "in_progress": "active", "completed": "completed"}
_STATUSES |= {"blocked": "blocked"}
_OF_WORKFLOW: dict[str, Status] = {"completed": "completed", "abandoned": "failed", "blocked": "blocked"}
_EMPTY: tuple[Any, ...] = (None, "", [])


def workflow(project: Records, file: StateFile) -> Workflow:
    """Return the workflow in a state file, with a warning for everything that doesn't follow the schema."""
    state = State.read(project.root, file.path, file.data)
    warnings = list(filter(None, (*state.notes, *_contradictions(state), mismatch(state, project.branch))))
    phases = read_units(state, warnings)
    if is_abandoned := state.status == "abandoned":  # nothing runs in it any more
        phases = tuple(each._replace(status="pending") if each.status == "active" else each for each in phases)
    is_new = state.current in (schema.INIT, "") and all(each.status == "pending" for each in phases)
    due = "" if is_new else moves.due(state)
    context = values.mapping(state.data.get("context"), "context", warnings)
    title = values.text(context.get(state.rules.title or state.rules.key)) or values.text(context.get("feature_title"))
    return Workflow.of(
        file.document,
        root=project.root,
        recovered=bool(file.broken),
        format=record.NAME,
        id=paths.identity(state.data, file.path),
        title=title or state.key or file.path.stem,
        kind=state.rules.name,
        status=_status(state, phases),
        phases=phases,
        current=next((each for each in phases if each.id == due), None),
        reading=values.entries(state.data.get(extras.READING), extras.READING, warnings),
        reminders=values.texts(state.data.get(extras.REMINDERS), extras.REMINDERS, warnings),
        context={name: value for name, value in {**_results(state), **context}.items() if value not in _EMPTY},
        created_at=values.text(state.workflow.get("created_at")),
        warnings=warnings,
        abandoned=is_abandoned,
    )


def state_of(workflow: Workflow) -> State:
    """Return the state that a workflow was read from."""
    data = document.parse(workflow.path, workflow.raw, 0.0).data
    return State.read(workflow.root or workflow.path.parent, workflow.path, data)


def mismatch(state: State, branch: str | None) -> str:
    """Say that a workflow belongs to another branch than the one that is checked out (R004-41).

    Empty if it doesn't, if the state names none, and if none is checked out: outside git, and on a detached head.
    """
    if not state.branch or branch is None or state.branch == branch:
        return ""
    return f"State is for branch '{state.branch}' but current branch is '{branch}'"


def read_units(state: State, warnings: list[str]) -> tuple[Phase, ...]:
    """Return phases and tasks in order, each with a number from 1, and add what is odd about them to `warnings`."""
    units = [_unit(state, number, id_, each, warnings) for number, (id_, each) in enumerate(state.units.items(), 1)]
    warnings += [
        f'phase {number} has no name of its own, so it is called "{id_}" here'
        for number, (id_, entry) in enumerate(state.phases.items(), 1)
        if (name := values.text(entry.get("name"))) != id_ and not names.holds_secret(name)
    ]
    return tuple(units)


def described(task: Mapping[str, Any], number: int) -> str:
    """Return the description of a task; a word for one that has none."""
    return values.text(task.get("description")) or f"Task {number}"


def _unit(state: State, number: int, id_: str, entry: Mapping[str, Any], warnings: list[str]) -> Phase:
    task = task_number(id_)
    if task is None:
        title = state.rules.stage(id_).label or values.text(entry.get("name")) or f"Phase {number}"
    else:
        title = described(entry, task)
    word = status_of(entry)
    if word not in _STATUSES:
        warnings.append(f'the status of "{title}" is "{word}", not one of {", ".join(_STATUSES)}; it counts as pending')
    return Phase(
        id=id_,
        number=number,
        title=title,
        status=_STATUSES.get(word, "pending"),
        agent=values.text(entry.get("agent")),
        handover=values.text(entry.get("note")),
    )


def _contradictions(state: State) -> list[str]:
    """Return warnings about the current phase: a name that no phase has, and tasks that were skipped."""
    order, name, tasks = list(state.phases), state.current, state.tasks
    if order and name not in (*order, schema.INIT, "") and schema.status_word(name) != "completed":
        return [f'the current phase "{name}" is none of {", ".join(order)}, so their own statuses count']
    open_ = len(tasks) - state.completed_tasks
    if open_ and name in order and state.rules.tasks.phase in order[: order.index(name)]:
        return [f"{open_} of {count(len(tasks), 'task')} not completed, although {name} has begun"]
    return []


def _results(state: State) -> dict[str, Any]:
    """Return the test results of a workflow, and the files that it changed (R004-20 to R004-22)."""
    names = ("failing_tests", "test_command", "last_result", "last_run")
    found = {name: state.test_state.get(name) for name in names}
    for id_, entry in state.phases.items():
        found |= {name: entry.get(name) for name in state.rules.stage(id_).fields}
    files = [values.text(each.get("path")) for each in values.objects(state.data.get("files_modified"))]
    return found | {"files_modified": list(dict.fromkeys(filter(None, files)))}


def _status(state: State, phases: tuple[Phase, ...]) -> Status:
    if known := _OF_WORKFLOW.get(state.status):
        return known
    if any(each.status == "blocked" for each in phases):
        return "blocked"
    return "pending" if all(each.status == "pending" for each in phases) else "active"
