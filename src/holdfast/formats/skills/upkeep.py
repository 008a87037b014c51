"""Keep the folder in order: what is wrong with its files, what is over, and what is old (R004-38, R004-42, I004-4)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import LedgerError, StateError
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.formats.skills import feature_file, index, paths, schema
from holdfast.formats.skills.schema import State
from holdfast.workflow import places, search, statefile, values
from holdfast.workflow.findings import Finding, notice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile
    from holdfast.workflow.store import FileFormat

COMPLETED_AGE = timedelta(hours=24)
ACTIVE_AGE = timedelta(days=7)
_TEMPORARY_AGE = timedelta(hours=1)
"""The age from which another program's temporary file counts as left behind."""
_FIX = "holdfast doctor --fix"


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
        with suppress(StateError):  # an earlier run of the same key, if there is one
            earlier = document.read(target, search.LIMIT_BYTES)[0]
            project.keep(target, earlier, why="replaced by a later run")
            statefile.keep_aside(project, target, earlier)
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


def findings(form: FileFormat, project: Records) -> Iterator[Finding]:
    """Yield problems and old files, with fixes. Warnings and broken files are reported for all formats alike."""
    unfinished: dict[Path, dict[str, Any]] = {}
    for path in form.files(project):
        with suppress(StateError):
            file = form.load(project, path)
            form.check(file)
            state = State.read(project.root, path, file.data)
            if not state.is_over:
                unfinished[path] = file.data
            elif not file.broken:  # else its content is an earlier one: a person may want what was written since
                copy = "outdated: completed/ has the later copy" if state.is_outdated else f"{state.status}"
                text = f"active/{path.name} is {copy}"
                yield notice(text, _FIX, partial(_move_away, form, project, path), path=path, code="finished")
            feature = feature_file.read(project.root, values.text(state.context.get(schema.FEATURE)))
            ticked = [is_ticked for _, is_ticked in feature.boxes] if feature else []
            counts = f"{sum(ticked)}/{len(ticked)}", f"{state.completed_tasks}/{len(state.tasks)}"
            if ticked and counts[0] != counts[1]:
                text = (
                    f"{path}: the feature file has {counts[0]} boxes ticked, the state has {counts[1]} tasks completed"
                )
                yield notice(text, "correct the one that is wrong", path=path, code="feature")
    lines, is_mendable = index.differences(project.root, unfinished)
    place = paths.index(project.root)
    for number, line in enumerate(lines):
        fix = partial(_relist, project, unfinished) if is_mendable and not number else None
        remedy = _FIX if is_mendable else f"move {place} away, then run `{_FIX}`"
        yield notice(line, remedy, fix, path=place, code="index")
    for old in old_ones(form, project):
        yield notice(f"{old.text} can go", _FIX, partial(_remove_one, form, project, old), path=old.path, code="old")
    for path in paths.active(project.root).glob("*.json.tmp*"):
        if _is_left(path):
            text = f"{path} was left by a process that was killed"
            yield notice(text, _FIX, partial(_unlink, path), path=path, code="temporary")


def _is_left(path: Path) -> bool:
    """Return whether another program's temporary file is so old that nobody is writing it any more (I004-15)."""
    try:
        changed = clock.from_mtime(path.lstat().st_mtime)
    except OSError:
        return False
    return clock.now() - changed > _TEMPORARY_AGE and path.is_file() and not path.is_symlink()


def _move_away(form: FileFormat, project: Records, path: Path) -> str:
    with locked(paths.top(project.root)):
        workflow = form.view(project, form.load(project, path))
        if not workflow.finished or workflow.recovered:  # somebody opened it again
            return ""
        move_away(project, workflow)
    return f"active/{path.name} is gone; completed/ has it"


def _relist(project: Records, unfinished: dict[Path, dict[str, Any]]) -> str:
    with locked(paths.top(project.root)):
        index.rebuild(project.root, unfinished)
    return "index.json lists the unfinished workflows"


def _remove_one(form: FileFormat, project: Records, old: Old) -> str:
    remove(form, project, [old])
    return summary([old])


def _unlink(path: Path) -> str:
    atomic.remove(path)
    return f"removed {path}"
