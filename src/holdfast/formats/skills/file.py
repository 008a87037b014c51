"""The state file of a skill's workflow: its schema, and a new one's content.

Its keys are those of R004-09, R004-10, R004-11, R004-12 and R004-13; for /dev R004-14, R004-15, R004-16, R004-17 and
R004-18; for /tdd R004-19, R004-20, R004-21, R004-22 and R004-23. The document's comments are no keys (I004-2). What it
has only later may be missing: a step (I004-23), a task's commit (I004-18).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import SchemaMismatch, StateError
from holdfast.files import document
from holdfast.formats.skills import featurefile, machine
from holdfast.workflow import names, statefile, values
from holdfast.workflow.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from holdfast.formats.skills.machine import Machine
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

NAME = "skills"
VERSION = "1.0"
INIT = "init"
"""The state of a workflow none of whose phases has begun (R004-03)."""
FEATURE, TASK = "feature_file", "task_description"
OTHER = "other"
"""The skill of a workflow that names none (R004-09)."""
TASK_ID = "task-"
"""The beginning of a task's id; its number follows."""
FINAL = ("completed", "abandoned")
STATUSES = ("in_progress", "completed", "blocked", "abandoned")
_SPELLINGS = {
    "active": "in_progress",
    "running": "in_progress",
    "in-progress": "in_progress",
    "in progress": "in_progress",
    "done": "completed",
    "complete": "completed",
    "failed": "blocked",
    "todo": "pending",
    "not_started": "pending",
}


def load(project: Records, path: Path) -> StateFile:
    """Return a state file, which is over if `completed/` says so (`outdated`).

    Raises MissingError, StateError if it is broken, SchemaMismatch if it is something else.
    """
    file = statefile.read(project, path)
    check(file)
    if not (over := _completion(file)):
        return file
    return replace(file, document=replace(file.document, data={**file.data, "workflow": over}))


def outdated(file: StateFile) -> bool:
    """Return whether `completed/` has a later copy of a state file: the document's commands leave the other one."""
    return bool(_completion(file))


def completed_copy(path: Path) -> Path:
    """Return where a state file of `active/` lies once its workflow is completed."""
    return path.parent.parent / "completed" / path.name


def identity(data: Mapping[str, Any], path: Path) -> str:
    """Return what tells a workflow from every other one: its id and when it started.

    The id in the file follows from its skill and its key, so the next workflow of the same feature has it again.
    """
    workflow = values.members(data.get("workflow"))
    started = clock.parse(values.text(workflow.get("created_at")))
    name = values.text(workflow.get("id")).strip() or path.stem
    return f"{name}@{clock.file_stamp(started)}" if started else name


def check(file: StateFile) -> None:
    """Raise SchemaMismatch unless a file that was read has this schema."""
    if not isinstance(file.data.get("workflow"), dict) or not isinstance(file.data.get("state_machine"), dict):
        raise SchemaMismatch(file.path, 'isn\'t a skill\'s state ("workflow" and "state_machine"); it is left alone')


def stamp(moment: datetime | None = None) -> str:
    """Return a moment, by default the present, as state files have it: UTC, in whole seconds, with a Z (I004-13)."""
    return (moment or clock.now()).strftime("%Y-%m-%dT%H:%M:%SZ")


def skill(data: Mapping[str, Any], path: Path) -> str:
    """Return the skill that a state belongs to; if it doesn't say, the one that its file is named after."""
    named = values.text(values.members(data.get("_schema")).get("skill")).strip()
    return named or path.stem.rpartition("-")[0] or OTHER


def status(data: Mapping[str, Any]) -> str:
    """Return the status of a workflow; one that isn't known counts as in progress."""
    word = normal(values.members(data.get("workflow")).get("status"))
    return word if word in STATUSES else "in_progress"


def normal(value: Any) -> str:
    """Return a status as the schema has it, from other spellings too."""
    word = values.text(value).strip().lower()
    return _SPELLINGS.get(word, word)


def phases(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the phases of a state by id, in order, without what is no object.

    A phase's id is its name. One without a name, with that of an earlier one, with a task's id for a name, or with a
    secret in its name is told apart by its place: ids are remembered as they are.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, each in enumerate(objects(values.members(data.get("state_machine")).get("phases")), 1):
        name = values.text(each.get("name"))
        known = "" if task_number(name) is not None or names.holds_secret(name) else name.strip()
        found[name if known and name not in found else f"{known or 'phase'}-{number}"] = each
    return found


def task_number(id_: str) -> int | None:
    """Return the number of the task with this id, None for another unit's."""
    return values.number(id_.removeprefix(TASK_ID)) if id_.startswith(TASK_ID) else None


def history(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a state's history, without what is no object."""
    return objects(data.get("history"))


def tasks(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tasks of a state, without what is no object."""
    return objects(data.get("tasks"))


def checkpoints(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the checkpoints of a state, in its order."""
    found = values.members(data.get("checkpoints"))
    return {name: each for name, each in found.items() if isinstance(each, dict)}


def ran(point: Mapping[str, Any]) -> bool:
    """Return whether a checkpoint was run, whatever came of it."""
    return values.text(point.get("status")).lower() in ("completed", "passed", "failed", "done")


def failed(point: Mapping[str, Any]) -> bool:
    """Return whether a checkpoint was run and failed (I004-8); some files have that as a status or as a text."""
    return values.text(point.get("status")).lower() == "failed" or values.text(point.get("passed")).lower() == "false"


def passed(point: Mapping[str, Any]) -> bool:
    """Return whether a checkpoint was run and passed; a pull request, for one, is done and passes nothing."""
    return values.text(point.get("status")).lower() == "passed" or values.text(point.get("passed")).lower() == "true"


def key(data: Mapping[str, Any], rules: Machine) -> str:
    """Return what a workflow is about: the feature file, else the task (R004-06); empty if the state doesn't say.

    A machine's own key comes first, and the original's one last.
    """
    context = values.members(data.get("context"))
    own = [] if rules.key in (FEATURE, TASK) else [rules.key]
    named = (values.text(context.get(each)) for each in (*own, FEATURE, TASK, "source"))
    return next((each for each in named if each.strip()), "")


def filled(root: Path, data: dict[str, Any], known: Machine | None) -> tuple[dict[str, Any], str]:
    """Return a state with the phases and tasks that its file doesn't list, and a sentence about them; empty for none.

    The phases are those of the skill's machine, the tasks the boxes of the feature file.
    """
    state, listed = data["state_machine"], phases(data)
    current = values.text(state.get("current_phase"))
    if known is None:
        return data, "" if listed else "no phases recorded"
    if listed and (current in listed or known.stage(current) not in known.stages):
        return data, ""
    said = f"the state file doesn't list the phase {quoted(current)}" if listed else "the state file lists no phases"
    said += f"; they are those of the machine {known.name}"
    own = [listed.pop(each["name"], each) for each in _phases(known)]
    data = {**data, "state_machine": {**state, "phases": [*own, *listed.values()]}}
    if known.has_tasks and not tasks(data) and (feature := featurefile.read(root, key(data, known))):
        data["tasks"] = _tasks(feature.boxes)
        said += f", with {count(len(feature.boxes), 'task')} from the feature file"
    return data, said


def fresh(
    rules: Machine,
    id_: str,
    at: str,
    *,
    context: Mapping[str, Any],
    branch: str,
    task: str,
    tasks: Iterable[tuple[str, bool]],
) -> dict[str, Any]:
    """Return the content of a new state file: exactly the schema's keys, nothing begun.

    Args:
        rules: the machine.
        id_: the workflow's id.
        at: when it starts.
        context: what is known of it, for the machine's fields; others are added.
        branch: the branch that is checked out; empty for none.
        task: the words of the history's first entry; empty for none.
        tasks: descriptions of its tasks, each with whether it is completed.
    """
    listed = _tasks(tasks)
    machine_state: dict[str, Any] = {"current_phase": INIT}
    if rules.cycle:
        machine_state[rules.cycle] = 1
    machine_state["phases"] = _phases(rules)
    points = {name: {"status": "pending", **machine.initial(dict(each))} for name, each in rules.checkpoints.items()}
    return {
        "_schema": {"version": VERSION, "skill": rules.name},
        "workflow": {
            "id": id_,
            "status": "in_progress",
            "created_at": at,
            "updated_at": at,
            "branch": branch or None,
        },
        "context": {**machine.initial(dict(rules.context)), **context},
        "state_machine": machine_state,
        **({"tasks": listed} if listed or rules.has_tasks else {}),
        **machine.initial(dict(rules.fields)),
        **({"checkpoints": points} if points else {}),
        "history": [{"at": at, "event": "workflow_started", **({"task": task} if task else {})}],
    }


def _completion(file: StateFile) -> dict[str, Any] | None:
    """Return the `workflow` of a completed copy of the same workflow, unless the file was saved later; else None."""
    try:
        other = document.load(completed_copy(file.path)).data
    except StateError:
        return None
    ended, moved = (
        clock.parse(values.text(values.members(each.get("workflow")).get(name)))
        for each, name in ((other, "completed_at"), (file.data, "updated_at"))
    )
    same = identity(other, file.path) == identity(file.data, file.path)
    is_over = status(other) == "completed" and same and ended and (moved is None or ended >= moved)
    return dict(other["workflow"]) if is_over else None


def _phases(rules: Machine) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "status": "pending", **({"steps": list(each.steps)} if each.steps else {})}
        for each in rules.stages
    ]


def _tasks(described: Iterable[tuple[str, bool]]) -> list[dict[str, Any]]:
    return [
        {"index": number, "description": text, "status": "completed" if is_done else "pending"}
        for number, (text, is_done) in enumerate(described, 1)
    ]


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none of another value."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
