"""Contents of a skill's state file that Holdfast did not just write: earlier ones, and edits by others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import SchemaMismatch
from holdfast.files.lock import locked
from holdfast.formats.skills import file as files
from holdfast.formats.skills import index, places, view
from holdfast.workflow import restore as restoring
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Restored, Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile


def parsed(project: Records, path: Path, raw: bytes) -> Workflow:
    """Return the workflow in a content of a state file. Raises SchemaMismatch, or StateError if it is broken."""
    if path.parent != places.active(project):
        raise SchemaMismatch(path, f"does not lie in {places.TOP}/active/")
    return view.workflow(project, view.parsed(project, path, raw, clock.now().timestamp()))


def restore(project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
    """Restore an earlier content of a state file (`workflow.restore`), and list the workflow again.

    A completed copy of it goes, as it would say that the workflow is over.
    """

    def read(file: StateFile) -> Workflow:
        files.check(file)
        return view.merged(project, view.seen(project, file))[0]

    def follow(file: StateFile) -> None:
        if files.outdated(file):
            statefile.discard(project, files.completed_copy(path), why="restored")
        index.put(project, path, file.data)

    return restoring.restore(
        project,
        parsed(project, path, raw),
        why=why,
        replace=replace,
        read=read,
        follow=follow,
        folder=places.top(project),
    )


def written(project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
    """Return a workflow, listed as it is now, if the written file is its state file; else None."""
    if path != workflow.path:
        return None
    if not workflow.recovered:
        with locked(places.top(project)):
            index.put(project, path, view.read(project, path).data)
    return workflow
