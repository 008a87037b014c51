"""Where workflows go that are over: to `completed/`, and away once they are old (R004-38, I004-3, I004-4)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock
from holdfast.errors import LedgerError, StateError
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.formats.skills import index, paths, schema
from holdfast.workflow import places, statefile, values

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile
    from holdfast.workflow.store import FileFormat

COMPLETED_AGE = timedelta(hours=24)
ACTIVE_AGE = timedelta(days=7)


class Old(NamedTuple):
    """A state file that is due to be removed: the file, and how old its workflow is."""

    path: Path
    age: timedelta

    @property
    def text(self) -> str:
        """The file with its age, such as `active/dev-a1b2c3d4.json (8 days old)`."""
        days = self.age.days
        age = f"{days} days" if days > 1 else f"{int(self.age.total_seconds() // 3600)} hours"
        return f"{self.path.parent.name}/{self.path.name} ({age} old)"


def move_away(project: Records, workflow: Workflow) -> None:
    """Move the file of a finished workflow to `completed/` and delist it (I004-3). Hold the lock on the top folder.

    An outdated one is removed, as its completed copy is there already.
    """
    path, target = workflow.path, paths.completed_copy(workflow.path)
    data = document.parse(path, workflow.raw, 0.0).data
    statefile.guard(project.root, target)
    project.keep(path, workflow.raw, why="moved to completed")
    if schema.status_of(data["workflow"]) in schema.FINAL:
        _keep_earlier_run(project, workflow, target)
        atomic.write(target, workflow.raw)
    last = atomic.take(path)
    if last != workflow.raw:  # somebody saved it at this very moment
        document.copy_aside(target, last, "kept")
    with suppress(StateError):
        statefile.discard(project, places.extras(project.root, path), why="moved to completed")
    index.drop(project.root, path, data)


def old_ones(form: FileFormat, project: Records) -> list[Old]:
    """Return the state files that are older than they may be (R004-38).

    Files that are no states are left out, and workflows that a live session owns. A time that the file doesn't say is
    that of its last change.
    """
    now, found = clock.now(), list[Old]()
    for folder, limit in ((paths.completed(project.root), COMPLETED_AGE), (paths.active(project.root), ACTIVE_AGE)):
        for path in sorted(folder.glob("*.json")):
            with suppress(StateError):
                file = form.load(project, path)
                form.check(file)
                age = now - _changed(file)
                if age > limit and not (folder.name == "active" and _is_live(project, form.workflow(project, file))):
                    found.append(Old(path, age))
    return found


def remove(form: FileFormat, project: Records, old: Sequence[Old]) -> None:
    """Remove state files that are due and delist their workflows.

    Their contents are kept as versions, and unfinished workflows go into the archive.
    """
    with locked(paths.top(project.root)):
        for path, _ in old:
            with suppress(StateError):
                file = form.load(project, path)
                if path.parent == paths.active(project.root):
                    project.shelve(form.view(project, file))
                    index.drop(project.root, path, file.data)
                    statefile.discard(project, places.extras(project.root, path), why="cleanup")
                statefile.discard(project, path, why="cleanup")


def summary(old: Sequence[Old]) -> str:
    """Return files that were removed in a sentence, however many there are; empty for none."""
    return f"Removed {old[0].text}{f' and {len(old) - 1} more' if len(old) > 1 else ''}." if old else ""


def _changed(file: StateFile) -> datetime:
    """Return when a workflow moved last, or ended."""
    workflow = file.data["workflow"]
    is_over = schema.status_of(workflow) in schema.FINAL
    names = ("completed_at", "abandoned_at", "updated_at") if is_over else ("updated_at", "created_at")
    moments = (clock.parse(values.text(workflow.get(name))) for name in names)
    return next((each for each in moments if each is not None), clock.from_mtime(file.document.mtime))


def _is_live(project: Records, workflow: Workflow) -> bool:
    """Return whether a live session owns a workflow."""
    with suppress(LedgerError):
        return project.owner(workflow) in project.live_others("")
    return False


def _keep_earlier_run(project: Records, workflow: Workflow, target: Path) -> None:
    """Copy what `completed/` holds of an earlier run of the same key, unless the ledger has it."""
    try:
        earlier, _ = document.read(target, statefile.LIMIT_BYTES)
    except StateError:
        return
    versions = (project.content(workflow.path, each.number) for each in project.versions(workflow.path))
    if earlier not in (workflow.raw, *versions):
        document.copy_aside(target, earlier, "kept")
