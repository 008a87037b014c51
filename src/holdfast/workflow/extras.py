"""Extras: values of a workflow beyond its format's schema, stored in a file next to the state.

The state file itself has exactly the keys of its schema (R000-02, R002-08), whatever `start` and `update` get.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import LedgerError, MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, document
from holdfast.workflow import places, statefile, values
from holdfast.workflow.model import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from holdfast.workflow.model import Changes, Start, Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

TYPE, READING, REMINDERS, CONTEXT = "workflow_type", "required_reading", "key_reminders", "context"
NOTES = "notes"
"""What a format itself remembers of a workflow beyond its schema; only that format knows what is in it."""

CANCELLED = "cancelled"
"""The note with the reason why a workflow was cancelled whose format has no word for that; its status is failed."""

_KEYS = (TYPE, READING, REMINDERS, CONTEXT, NOTES)


def merged(project: Records, workflow: Workflow) -> tuple[Workflow, tuple[Problem, ...]]:
    """Return a workflow with what its extras file adds, and the problems of that file, which never raise.

    Such keys that a person wrote into the state file itself come first (R000-38: extras do not break it).
    """
    try:
        file = _of_workflow(project, places.extras(project.root, workflow.path), workflow.id)
    except StateError as error:
        return workflow, (Problem(error.path, error.reason),)
    if file is None:
        return workflow, ()
    warnings = list(workflow.warnings)
    reading = map(values.at, values.texts(file.data.get(READING), READING, warnings))
    reminders = values.texts(file.data.get(REMINDERS), REMINDERS, warnings)
    whole = replace(
        workflow,
        kind=values.text(file.data.get(TYPE)) or workflow.kind,
        reading=tuple(dict.fromkeys([*workflow.reading, *reading])),
        reminders=tuple(dict.fromkeys([*workflow.reminders, *reminders])),
        context={**workflow.context, **values.mapping(file.data.get(CONTEXT), CONTEXT, warnings)},
        warnings=tuple(warnings),
        beside=file.path.relative_to(project.root).as_posix(),
    )
    if whole.status == "failed" and CANCELLED in _notes(file.data):
        whole = whole.cancelled()
    return whole, ((file.problem,) if file.broken else ())


def held(project: Records, state: Path, workflow_id: str) -> dict[str, Any]:
    """Return the reading, reminders and context in a state file's extras, as far as they can be read."""
    data = _readable(project, state, workflow_id)
    listed = {name: list(values.texts(data.get(name), name, [])) for name in (READING, REMINDERS)}
    whole = {**listed, CONTEXT: values.mapping(data.get(CONTEXT), CONTEXT, [])}
    return {name: value for name, value in whole.items() if value}


def owner(project: Records, state: Path) -> str:
    """Return the id of the workflow that a state file's extras belong to; empty without any that can be read."""
    with suppress(StateError):
        if file := _load(project, places.extras(project.root, state)):
            return values.text(file.data["id"])
    return ""


def notes(project: Records, state: Path, workflow_id: str) -> dict[str, Any]:
    """Return a format's own notes in a state file's extras; empty without any that can be read."""
    return _notes(_readable(project, state, workflow_id))


def _notes(data: Mapping[str, Any]) -> dict[str, Any]:
    return values.members(data.get(NOTES))


def write_notes(project: Records, state: Path, workflow_id: str, notes: Mapping[str, Any]) -> None:
    """Replace a format's own notes in a state file's extras; nothing is written if they are the same.

    Hold the folder's lock. Raises SchemaMismatch over a file of something else, StateError.
    """
    _change(project, state, workflow_id, lambda data: data if _notes(data) == notes else {**data, NOTES: dict(notes)})


@contextmanager
def begun(project: Records, state: Path, workflow_id: str, start: Start) -> Iterator[None]:
    """Write a new workflow's extras, or remove those of an earlier workflow. Hold the folder's lock.

    Write the state file in the block. If the process is killed in between, the extras belong to no workflow, and those
    of the workflow that was there are read from the ledger. If the block fails, the extras file is restored. Raises
    SchemaMismatch over a file of something else, StateError.
    """
    path = places.extras(project.root, state)
    content = {
        TYPE: start.kind,
        READING: list(dict.fromkeys(map(values.at, start.reading))),
        REMINDERS: list(dict.fromkeys(start.reminders)),
        CONTEXT: dict(start.context),
    }
    before = _replaceable(project, path)
    with atomic.undone_on_failure(path):
        if any(content.values()):
            data = {"id": workflow_id, **{key: value for key, value in content.items() if value}}
            statefile.write(project, path, data, before, why="start")
        yield
    if before is not None and not any(content.values()):
        with suppress(StateError):  # it names another workflow, so it is never used
            statefile.discard(project, path, why="start of another workflow")


def add(project: Records, state: Path, workflow_id: str, changes: Changes) -> None:
    """Add reading, reminders and context to a workflow's extras. Hold the folder's lock.

    Raises SchemaMismatch over a file of something else, StateError.
    """

    def edit(data: dict[str, Any]) -> dict[str, Any]:
        for key, new in ((READING, tuple(map(values.at, changes.reading))), (REMINDERS, changes.reminders)):
            if new:
                data[key] = values.added(data.get(key), new)
        if changes.context:
            data[CONTEXT] = {**values.mapping(data.get(CONTEXT), CONTEXT, []), **changes.context}
        return data

    _change(project, state, workflow_id, edit)


def _earlier(project: Records, path: Path, workflow_id: str) -> bytes | None:
    """Return the last content of an extras file that belongs to a workflow; None if the ledger has none."""
    try:
        for version in project.versions(path):
            raw = project.content(path, version.number)
            if raw is not None and values.text(document.parse(path, raw, 0.0).data.get("id")) == workflow_id:
                return raw
    except (LedgerError, StateError):
        pass  # then it stays as it is
    return None


def bring_back(project: Records, state: Path, workflow_id: str) -> None:
    """Put back a workflow's extras if the file has another's: the last content that it had. Hold the folder's lock.

    Raises SchemaMismatch over a file of something else, StateError.
    """
    path = places.extras(project.root, state)
    before = _replaceable(project, path)
    if before is not None and values.text(before.data["id"]) == workflow_id:
        return
    raw = _earlier(project, path, workflow_id)
    if raw is not None:
        statefile.restore(project, path, raw, before, why="restored with its workflow")


def _change(project: Records, state: Path, workflow_id: str, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write what `edit` makes of a copy of a workflow's extras, unless that is the same."""
    path = places.extras(project.root, state)

    def attempt() -> None:
        before = _replaceable(project, path)
        data = dict(_readable(project, state, workflow_id)) or {"id": workflow_id}
        after = edit(dict(data))
        if after != data:
            statefile.write(project, path, after, before, why="update")

    statefile.insist(attempt)


def _readable(project: Records, state: Path, workflow_id: str) -> Mapping[str, Any]:
    """Return the values for the workflow with this id in a state file's extras; empty if they can't be read."""
    with suppress(StateError):
        if file := _of_workflow(project, places.extras(project.root, state), workflow_id):
            return file.data
    return {}


def _of_workflow(project: Records, path: Path, workflow_id: str) -> StateFile | None:
    """Return a workflow's extras, from the ledger if the file has another's now; None if there are none.

    Raises as `_load` does.
    """
    file = _load(project, path)
    if file is None or values.text(file.data["id"]) == workflow_id:
        return file
    raw = _earlier(project, path, workflow_id)
    return statefile.StateFile(document.parse(path, raw, 0.0)) if raw else None


def _load(project: Records, path: Path) -> StateFile | None:
    """Return an extras file, None if there is none.

    Raises StateError if it is broken, SchemaMismatch if it is something else.
    """
    if not os.path.lexists(path):  # as nearly always, and to find that out by reading takes several times as long
        return None
    try:
        file = statefile.read(project, path)
    except MissingError:
        return None
    if not _is_ours(file.data):
        raise SchemaMismatch(file.path, f'holds no "id" of a workflow with {", ".join(_KEYS)}; it is left alone')
    return file


def _replaceable(project: Records, path: Path) -> StateFile | None:
    """Return the file to rewrite, if any. A broken one without a version is set aside."""
    try:
        return _load(project, path)
    except SchemaMismatch:
        raise
    except StateError:
        statefile.set_aside(project, path, ours=True)
        return None


def _is_ours(data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("id"), (str, int, float)) and any(key in data for key in _KEYS)
