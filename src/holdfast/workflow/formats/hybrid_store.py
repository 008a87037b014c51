"""The one state file of the `hybrid` format under its lock: each change is a single read and write (R000-21)."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError, MissingError, NotOurs, StateError, TransitionError
from holdfast.state import document
from holdfast.state.lock import locked
from holdfast.workflow import statefile, values
from holdfast.workflow.formats import hybrid_file as files
from holdfast.workflow.formats import hybrid_view
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.project import Project
    from holdfast.workflow.statefile import StateFile


def create(project: Project, make: Callable[[str], dict[str, Any]]) -> StateFile:
    """Write the state that `make` returns for a new id, with its view; a finished workflow gives way (I000-17).

    Raises TransitionError over an unfinished workflow, NotOurs over a file of another schema, StateError.
    """
    path = files.path(project)
    statefile.guard(project.root, path)
    with locked(path.parent):
        before = _replaceable(project)
        after = statefile.write(project, path, make(_new_id(before)), before, why="start")
        hybrid_view.write(project, after.data)
        return after


def change(project: Project, edit: Callable[[dict[str, Any]], None], *, why: str) -> tuple[StateFile, bool]:
    """Run `edit` on the state under the lock; return the file as it is now and whether it changed."""
    path = files.path(project)
    statefile.guard(project.root, path)
    if not path.exists():
        raise MissingError(path, "there is no hybrid workflow; `holdfast start TITLE --format hybrid` makes one")
    with locked(path.parent):
        before = files.load(project)
        data = copy.deepcopy(before.data)
        edit(data)
        changed = data != before.data
        after = statefile.write(project, path, data, before, why=why) if changed else before
        hybrid_view.write(project, after.data)  # also when nothing changed: a killed writer may have left it behind
        return after, changed


def expect(data: dict[str, Any], workflow_id: str) -> None:
    """Raise HoldfastError unless the state is that of the workflow with this id."""
    if values.text(data["id"]) != workflow_id:
        raise HoldfastError(f"{files.FILE} holds the workflow {values.text(data['id'])}, not {workflow_id}")


def index_of(data: dict[str, Any], phase_id: str) -> int:
    """Return the index of the phase with this id. Raises HoldfastError naming the ids there are."""
    index = files.position(data, phase_id)
    if index is None:
        known = ", ".join(
            values.text(files.complete(phase, number)["id"]) for number, phase in enumerate(data["phases"])
        )
        raise HoldfastError(f"there is no phase {phase_id!r}; there are {known or 'none'}")
    return index


def _replaceable(project: Project) -> StateFile | None:
    """Return the file a new workflow takes the place of, if any; what cannot be read is set aside."""
    try:
        file = files.load(project)
    except MissingError:
        return None
    except NotOurs:
        raise
    except StateError as error:
        if not (error.path.is_file() and os.access(error.path, os.R_OK)):
            raise
        document.set_aside(error.path)
        return None
    workflow = files.view(project, file)
    if not workflow.finished:
        raise TransitionError(
            f"{workflow.id} {quoted(workflow.title)} is {workflow.status} at phase {workflow.position} in "
            f"{workflow.place}; finish it with `holdfast done --all` first"
        )
    return file


def _new_id(before: StateFile | None) -> str:
    """Return an id for now that the workflow before does not have: seconds may repeat (I000-17)."""
    from datetime import timedelta

    moment = clock.now()
    ids = [f"wf_{clock.file_stamp(moment + timedelta(seconds=number))}" for number in range(60)]
    last = values.text(before.data["id"]) if before else ""
    # An id a little ahead was counted up in this very second; one far ahead is the clock's doing and no obstacle.
    return ids[ids.index(last) + 1] if last in ids[:-1] else ids[0]
