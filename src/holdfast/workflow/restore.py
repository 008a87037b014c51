"""Restore an earlier content of a state file that holds one workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import TransitionError
from holdfast.files.lock import locked
from holdfast.workflow import statefile, views
from holdfast.workflow.model import Restored

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile


def restore(
    project: Records,
    wanted: Workflow,
    *,
    why: str,
    replace: bool,
    read: Callable[[StateFile], Workflow],
    follow: Callable[[StateFile], None] = lambda file: None,
    same: Callable[[Workflow, Workflow], bool] = lambda one, other: one.id == other.id,
    folder: Path | None = None,
) -> Restored:
    """Make a state file hold the content that `wanted` was read from.

    Another workflow in the file goes into the archive: always if it is finished, else only with `replace`.

    Args:
        project: the project.
        wanted: the workflow as that content has it.
        why: what the generation is called.
        replace: let an unfinished workflow in its way go to the archive.
        read: returns the workflow in a state file. Raises SchemaMismatch for another program's file.
        follow: writes what the format generates from the state file.
        same: whether two contents are of one workflow; by default if they have the same id.
        folder: the folder whose lock is held; by default the file's own.

    Raises:
        TransitionError: another unfinished workflow is in its way.
        SchemaMismatch: the file is another program's.
        StateError: it can't be read or written.
    """
    path, raw = wanted.path, wanted.raw
    statefile.guard(project.root, path)

    def attempt() -> Restored:
        before = statefile.present(project, path)
        if before is not None:
            now = read(before)
            if before.present == raw:
                follow(before)  # a killed writer may have left that outdated
                return Restored(now, changed=False)
            if not same(now, wanted):
                if not now.finished and not replace:
                    raise TransitionError(views.in_the_way(project, now))
                project.shelve(now)
            project.observe(now)  # what was moved by hand before keeps its own time
        aside = statefile.restore(project, path, raw, before, why=why)
        after = statefile.read(project, path)
        follow(after)
        workflow = read(after)
        project.observe(workflow, at=clock.stamp())
        return Restored(workflow, changed=True, aside=aside)

    with locked(folder or path.parent):
        return statefile.insist(attempt)
