"""What a `hybrid` workflow is given beyond its schema, kept in a file of its own.

The state file beside it keeps exactly the keys of R000-02, whatever `start` and `update` were given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.clock import from_mtime, stamp
from holdfast.errors import MissingError, NotOurs, StateError
from holdfast.workflow import statefile, values
from holdfast.workflow.formats import hybrid_file as files
from holdfast.workflow.model import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.project import Project
    from holdfast.workflow.model import Changes, Start, Workflow
    from holdfast.workflow.statefile import StateFile

FILE = ".claude/state/workflow.extra.json"

_KEYS = (files.TYPE, files.READING, files.REMINDERS, files.CONTEXT)


def merged(project: Project, workflow: Workflow) -> tuple[Workflow, tuple[Problem, ...]]:
    """Return a workflow with what the file beside it adds, and what is wrong with that file; never raises for it.

    Keys of this kind that a person wrote into the state file itself come first (R000-38: extras do not break it).
    """
    try:
        file = _load(project)
    except StateError as error:
        return workflow, (Problem(error.path, error.reason),)
    if file is None or values.text(file.data["id"]) != workflow.id:
        return workflow, ()
    warnings = list(workflow.warnings)
    reading = map(values.at, values.texts(file.data.get(files.READING), files.READING, warnings))
    reminders = values.texts(file.data.get(files.REMINDERS), files.REMINDERS, warnings)
    whole = replace(
        workflow,
        kind=values.text(file.data.get(files.TYPE)) or workflow.kind,
        reading=tuple(dict.fromkeys([*workflow.reading, *reading])),
        reminders=tuple(dict.fromkeys([*workflow.reminders, *reminders])),
        context={**workflow.context, **values.mapping(file.data.get(files.CONTEXT), files.CONTEXT, warnings)},
        updated_at=max(workflow.updated_at, stamp(from_mtime(file.document.mtime))),
        warnings=tuple(warnings),
        beside=FILE,
    )
    return whole, ((Problem(file.path, f"{file.broken}; its last generation is used"),) if file.broken else ())


def begin(project: Project, workflow_id: str, start: Start) -> None:
    """Write what a new workflow is given, or remove what an earlier one left; hold the folder's lock.

    Raises NotOurs over a file of something else, StateError.
    """
    given = {
        files.TYPE: start.kind,
        files.READING: list(dict.fromkeys(map(values.at, start.reading))),
        files.REMINDERS: list(dict.fromkeys(start.reminders)),
        files.CONTEXT: dict(start.context),
    }
    if any(given.values()):
        data = {"id": workflow_id, **{key: value for key, value in given.items() if value}}
        statefile.write(project, _path(project), data, _replaceable(project), why="start")
    elif _replaceable(project) is not None:
        statefile.discard(project, _path(project), why="start of another workflow")


def add(project: Project, workflow_id: str, changes: Changes) -> None:
    """Add readings, reminders and context to what the workflow has; hold the folder's lock.

    Raises NotOurs over a file of something else, StateError.
    """
    if changes.reading or changes.reminders or changes.context:
        statefile.insist(lambda: _add(project, workflow_id, changes))


def _path(project: Project) -> Path:
    return project.root / FILE


def _add(project: Project, workflow_id: str, changes: Changes) -> None:
    before = _replaceable(project)
    mine = before is not None and values.text(before.data["id"]) == workflow_id
    data: dict[str, Any] = dict(before.data) if before is not None and mine else {"id": workflow_id}
    for key, new in ((files.READING, tuple(map(values.at, changes.reading))), (files.REMINDERS, changes.reminders)):
        if new:
            data[key] = values.added(data.get(key), new)
    if changes.context:
        data[files.CONTEXT] = {**values.mapping(data.get(files.CONTEXT), files.CONTEXT, []), **changes.context}
    statefile.write(project, _path(project), data, before, why="update")


def _load(project: Project) -> StateFile | None:
    """Return the file, None where there is none. Raises StateError when it is broken, NotOurs when it is no extra."""
    try:
        file = statefile.read(project, _path(project))
    except MissingError:
        return None
    if not _is_ours(file.data):
        raise NotOurs(file.path, f'holds no "id" of a workflow with {", ".join(_KEYS)}; it is left alone')
    return file


def _replaceable(project: Project) -> StateFile | None:
    """Return the file to be rewritten, if any; one that is broken beyond its generations is set aside."""
    try:
        return _load(project)
    except NotOurs:
        raise
    except StateError:
        statefile.set_aside(project, _path(project))
        return None


def _is_ours(data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("id"), (str, int, float)) and any(key in data for key in _KEYS)
