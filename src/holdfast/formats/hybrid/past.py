"""Contents of the hybrid format's state file that it did not just write: earlier ones, and changes by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock, log
from holdfast.errors import StateError
from holdfast.files import document
from holdfast.formats.hybrid import file as files
from holdfast.formats.hybrid import store, transitions
from holdfast.formats.hybrid import view as hybrid_view
from holdfast.workflow import restore as restoring
from holdfast.workflow.statefile import StateFile

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Restored, Workflow
    from holdfast.workflow.records import Records


def parsed(project: Records, path: Path, raw: bytes) -> Workflow:
    """Return the workflow in a content of the state file. Raises SchemaMismatch, or StateError if it is broken."""
    return _checked(project, StateFile(document.parse(path, raw, clock.now().timestamp()), present=raw))


def restore(project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
    """Restore an earlier content of the state file (`workflow.restore`), then write the view."""
    return restoring.restore(
        project,
        parsed(project, path, raw),
        why=why,
        replace=replace,
        read=lambda file: _checked(project, file),
        follow=lambda file: hybrid_view.write(project, file.data),
    )


def written(project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
    """Return a workflow after `follow` if the written file is its state file, else None."""
    return follow(project, workflow) if path == workflow.path else None


def follow(project: Records, workflow: Workflow) -> Workflow:
    """Return a workflow after its files are in step with what somebody changed by hand, for example with jq.

    If its last phase was completed by hand, the file says that the workflow is completed (R000-06, R000-13). The view
    is written if it shows something else or is missing (R000-24). What can't be written is only logged.
    """
    try:
        data = files.load(project).data
        settled = dict(data)
        transitions.settle(settled)
        if not workflow.recovered and (settled != data or not hybrid_view.is_current(project, data)):
            return store.change(project, transitions.settle, why="changed by hand")[0]
    except StateError as error:
        log.write("warning", f"the workflow's files weren't updated: {error}")
    return workflow


def _checked(project: Records, file: StateFile) -> Workflow:
    files.check(file)
    return store.view(project, file)
