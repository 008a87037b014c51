"""The one state file of the `hybrid` format: each change is a single read and write under its lock (R000-21)."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError, MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.files.lock import locked
from holdfast.formats.hybrid import file as files
from holdfast.formats.hybrid import view as hybrid_view
from holdfast.workflow import extras, statefile, values, views
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.workflow.model import Start, Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile


def create(project: Records, start: Start) -> Workflow:
    """Write the state of a new workflow, with its view; a finished workflow is replaced (I000-17).

    Raises TransitionError over an unfinished workflow and without phases, SchemaMismatch over a file of another
    schema, StateError.
    """
    if not start.phases:
        raise TransitionError('the hybrid format needs a phase: --phase "TITLE"')
    path = files.path(project)
    statefile.guard(project.root, path)
    with locked(path.parent):
        return statefile.insist(lambda: _created(project, start))


def change(
    project: Records, edit: Callable[[dict[str, Any]], object], *, why: str, error: str = "", repair: bool = False
) -> tuple[Workflow, bool]:
    """Run `edit` on the state under the lock; return the workflow as it is now and whether it changed.

    `edit` may run several times, if somebody else saves meanwhile (`statefile.rewrite`, which explains `repair` too).
    `error` is what a failed phase said, for the ledger. Raises MissingError, SchemaMismatch, StateError, and what
    `edit` raises.
    """
    path = files.path(project)
    statefile.guard(project.root, path)
    if not path.exists():
        raise MissingError(path, "is not there; `holdfast start TITLE --format hybrid --phase TITLE` makes one")

    def apply(file: StateFile) -> dict[str, Any]:
        files.check(file)
        data = copy.deepcopy(file.data)
        edit(data)
        project.observe(view(project, file))  # what was moved by hand before keeps its own time
        return data

    with locked(path.parent):
        after, changed = statefile.rewrite(project, path, apply, why=why, repair=repair)
        if changed:
            return noted(project, after, error), True
        hybrid_view.write(project, after.data)  # a killed writer may have left the view outdated
        workflow = view(project, after)
        project.observe(workflow, error=error)
        return workflow, False


def view(project: Records, file: StateFile) -> Workflow:
    """Return the state file as a workflow, with what the file beside it adds."""
    return extras.merged(project, files.view(project, file))[0]


def expect(data: dict[str, Any], workflow_id: str) -> None:
    """Raise HoldfastError unless the state belongs to the workflow with this id."""
    if values.text(data["id"]) != workflow_id:
        raise HoldfastError(f"{files.FILE} holds the workflow {values.text(data['id'])}, not {workflow_id}")


def index_of(data: dict[str, Any], phase_id: str) -> int:
    """Return the index of the phase with this id (I000-2). Raises HoldfastError that names the known ids."""
    index = files.position(data, phase_id)
    if index is None:
        known = [values.text(files.complete(phase, number)["id"]) for number, phase in enumerate(data["phases"])]
        raise HoldfastError(missing(f"phase {phase_id!r}", known))
    return index


def _created(project: Records, start: Start) -> Workflow:
    before, aside = _replaceable(project, replace=start.replace)
    if before is not None:  # store its end now: it may have been completed by hand
        project.observe(gone := view(project, before))
        project.keep(before.path, before.document.raw, why="before start")
        aside = statefile.keep_aside(project, before.path, before.document.raw)
    id_ = _new_id(before)
    data = files.fresh(id_, start.title, start.phases)
    with extras.begun(project, files.path(project), id_, start):
        file = statefile.write(project, files.path(project), data, before, why="start")
    if before is not None:
        project.shelve(gone)
    workflow = noted(project, file)
    if aside is None:
        return workflow
    warning = f"what {workflow.place} held before is kept as {aside.name} beside it"
    return replace(workflow, warnings=(*workflow.warnings, warning))


def noted(project: Records, file: StateFile, error: str = "") -> Workflow:
    """Write the Markdown view of a file that was just written, at the end too (I000-10), and note what moved."""
    hybrid_view.write(project, file.data)
    workflow = view(project, file)
    project.observe(workflow, error=error, at=clock.stamp())
    return workflow


def _replaceable(project: Records, *, replace: bool) -> tuple[StateFile | None, Path | None]:
    """Return the file that a new workflow replaces, if any, or where a broken one was set aside.

    An unfinished workflow is replaced only with `replace`.
    """
    try:
        file = files.load(project)
    except MissingError:
        return None, None
    except SchemaMismatch:
        raise
    except StateError as error:
        return None, statefile.set_aside(project, error.path)
    workflow = view(project, file)
    if not workflow.finished and not replace:
        raise TransitionError(views.in_the_way(project, workflow))
    return file, None


def _new_id(before: StateFile | None) -> str:
    """Return `wf_` with the present date and time in UTC (R000-03), but never the previous workflow's id (I000-17)."""
    moment = clock.now()
    ids = [f"wf_{clock.file_stamp(moment + timedelta(seconds=number))}" for number in range(60)]
    last = values.text(before.data["id"]) if before else ""
    # An id slightly in the future was counted up within this second. One far in the future comes from a wrong clock.
    return ids[ids.index(last) + 1] if last in ids[:-1] else ids[0]
