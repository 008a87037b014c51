"""Contents of the hybrid format's state file that it did not just write: earlier ones, and changes by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock, log
from holdfast.errors import StateError
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.formats.hybrid import file as files
from holdfast.formats.hybrid import store
from holdfast.formats.hybrid import view as hybrid_view
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
    from holdfast.workflow import restore as restoring  # here, because no event restores one

    return restoring.restore(
        project,
        parsed(project, path, raw),
        why=why,
        replace=replace,
        read=lambda file: _checked(project, file),
        follow=lambda file: hybrid_view.write(project, file.data),
    )


def written(project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
    """Return a workflow, its view redrawn, if the written file is its state file, else None."""
    if path != workflow.path:
        return None
    redraw(project, workflow)
    return workflow


def redraw(project: Records, workflow: Workflow) -> None:
    """Redraw Holdfast's view if the state file was changed after it was written, for example by hand (R000-24)."""
    view = project.root / hybrid_view.FILE
    try:
        if workflow.recovered or view.stat().st_mtime_ns > workflow.path.stat().st_mtime_ns:
            return
        wanted = hybrid_view.generate_markdown(files.load(project).data).encode("utf-8", "replace")
        present = document.read(view, within=project.root)[0]
        if present != wanted and present.startswith(wanted.partition(b":")[0]):
            with locked(workflow.path.parent):
                hybrid_view.write(project, files.load(project).data)
    except FileNotFoundError:
        return  # whoever removed the view wants none
    except (OSError, StateError) as error:
        log.write("warning", f"the workflow's view wasn't updated: {error}")


def _checked(project: Records, file: StateFile) -> Workflow:
    files.check(file)
    return store.view(project, file)
