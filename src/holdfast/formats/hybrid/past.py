"""Contents of the hybrid format's state file that it did not just write: earlier ones, and changes by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock, log
from holdfast.errors import StateError, TransitionError
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.formats.hybrid import file as files
from holdfast.formats.hybrid import store
from holdfast.formats.hybrid import view as hybrid_view
from holdfast.workflow import statefile
from holdfast.workflow.model import Restored
from holdfast.workflow.statefile import StateFile
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records


def parsed(project: Records, path: Path, raw: bytes) -> Workflow:
    """Return the workflow in a content of the state file. Raises SchemaMismatch, or StateError if it is broken."""
    file = StateFile(document.parse(path, raw, clock.now().timestamp()), present=raw)
    files.check(file)
    return store.view(project, file)


def restore(project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
    """Restore an earlier content of the state file, then write the view.

    Another workflow in the file is replaced as by a new one: always if it is finished, else with `replace`. It goes
    into the archive. Raises TransitionError, SchemaMismatch, StateError.
    """
    wanted = parsed(project, path, raw)
    statefile.guard(project.root, path)

    def attempt() -> Restored:
        before = statefile.present(project, path)
        if before is not None:
            files.check(before)
            now = store.view(project, before)
            if before.present == raw:
                hybrid_view.write(project, before.data)  # a killed writer may have left the view outdated
                return Restored(now, changed=False)
            if now.id != wanted.id:
                _make_room(project, now, replace=replace)
            project.observe(now)  # what was moved by hand before keeps its own time
        aside = statefile.restore(project, path, raw, before, why=why)
        return Restored(store.noted(project, statefile.read(project, path)), changed=True, aside=aside)

    with locked(path.parent):
        return statefile.insist(attempt)


def _make_room(project: Records, now: Workflow, *, replace: bool) -> None:
    """Archive the workflow in the file before another's content replaces it. Raises TransitionError."""
    if not now.finished and not replace:
        raise TransitionError(
            f"{now.place} holds {now.id} {quoted(now.title)}, which is {now.status} at phase {now.position}; complete "
            "it first, or give --replace: it stays in the archive as it is"
        )
    project.shelve(now)


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
        log.write("warning", f"the view of the workflow was not brought in step: {error}")
