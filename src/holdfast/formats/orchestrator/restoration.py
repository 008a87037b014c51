"""Go back to a snapshot, take over a drifted state, and put a finished run away: the state file as a whole."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock
from holdfast.errors import (
    BrokenError,
    HoldfastError,
    LargeError,
    MissingError,
    SchemaMismatch,
    StateError,
    TransitionError,
)
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.formats.orchestrator import bounds as limits
from holdfast.formats.orchestrator import drift, past, schema, snapshots, store, view
from holdfast.formats.orchestrator import repair as repairs
from holdfast.formats.orchestrator.run import Run
from holdfast.workflow import extras, places, statefile

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.formats.orchestrator.snapshots import Snapshot
    from holdfast.workflow.model import Restored, Workflow
    from holdfast.workflow.records import Records

ARCHIVE = "archive"
"""The folder in `.claude/` that holds a folder for each run that was put away."""


class Taken(NamedTuple):
    """A drifted state that was taken over: the run, what of it was lost and what mended, and where the original is."""

    workflow: Workflow
    lost: list[str]
    mended: list[str]
    aside: Path | None


def chosen(project: Records, name: str = "") -> Snapshot:
    """Return a snapshot by its file's name, or the newest that really is a state of ours (I003-16).

    Raises HoldfastError if there is none, SchemaMismatch if the named one is another program's.
    """
    if name:
        if "/" in name or "\0" in name or not name.startswith("checkpoint"):
            raise HoldfastError(f"{name!r} isn't a checkpoint; name one such as checkpoint-003.json")
        try:
            return snapshots.read(project, name if name.endswith(".json") else f"{name}.json")
        except SchemaMismatch:
            raise
        except StateError as error:
            raise StateError(
                error.path, f"{error.reason}; without a name, the newest checkpoint is restored"
            ) from error
    listed, run_id = list[str](), extras.owner(project, schema.state_path(project.root))
    with suppress(StateError):
        data = store.load(project).data
        listed, run_id = snapshots.listed(data), schema.run_id(data)
    found = next(snapshots.newest(project, listed, run_id), None)
    if found is None:
        other = next(snapshots.newest(project, [], ""), None)
        theirs = f"; {other.document.path.name} is another run's, and is restored if you name it" if other else ""
        raise HoldfastError(
            f"no checkpoint holds a state of this run{theirs}; `holdfast log` shows earlier contents of the file"
        )
    return found


def restore(project: Records, snapshot: Snapshot, *, replace: bool = False) -> Restored:
    """Make the state what a snapshot holds; a broken state is set aside first.

    Raises TransitionError over another unfinished run, unless `replace`; SchemaMismatch, StateError.
    """
    path = schema.state_path(project.root)
    statefile.guard(project.root, path)
    name = snapshot.document.path.name
    with locked(path.parent):
        aside: Path | None = None
        try:
            statefile.present(project, path)
        except BrokenError:
            aside = statefile.set_aside(project, path, ours=True)
        restored = past.restore(project, path, snapshot.document.raw, why=f"restore {name}", replace=replace)
    return restored._replace(aside=restored.aside or aside)


def take_over(project: Records, source: Path, task_doc: str, *, replace: bool = False) -> Taken:
    """Write a drifted state as one of ours, repaired. A drifted state in the state's own place is kept beside it.

    Args:
        project: the project.
        source: the drifted file.
        task_doc: the absolute path of its task document; empty if the state names it.
        replace: let an unfinished run in its way go to the archive.

    Raises:
        HoldfastError: it is no such state.
        TransitionError: an unfinished run is in its way.
        StateError: it can't be read or written.
    """
    path = schema.state_path(project.root)
    try:
        given = document.load(source, statefile.LIMIT_BYTES).data
    except (MissingError, BrokenError, LargeError) as error:
        raise StateError(error.path, f"{error.reason}; name the file that holds the state") from error
    if source == path and schema.kind(given) == "ours":
        raise TransitionError(
            f"{path} is a run already; `holdfast orchestrator check` says what is wrong with it, if any"
        )
    data, lost = drift.imported(given, task_doc)
    data["orchestrator"]["task_doc"] = str(project.root / data["orchestrator"]["task_doc"])
    run = Run(data, {})
    mended = repairs.repair(project, run)
    limits.warn(run)
    statefile.guard(project.root, path)
    with locked(path.parent):
        aside: Path | None = None
        if source == path:
            before = statefile.present(project, path)
            aside = document.copy_aside(path, before.document.raw, "kept") if before else None
        elif (before := store.must_be_free(project, replace=replace)) is not None:
            project.shelve(view.workflow(project, before)[0])
        file = statefile.write(project, path, data, before, why="import")
        extras.write_notes(project, path, schema.run_id(data), run.notes)
        workflow = view.workflow(project, file)[0]
        project.observe(workflow, at=clock.stamp())
    return Taken(workflow, lost, mended, aside)


def put_away(project: Records) -> Path:
    """Move a finished run's files into a folder of their own and return it (R003-32).

    The log of learnings is copied and stays, because later runs go on with it. Raises TransitionError for a run that
    isn't over, MissingError without one, StateError.
    """
    path = schema.state_path(project.root)
    statefile.guard(project.root, path)
    with locked(path.parent):
        file, run = store.current(project)
        if not run.terminal:
            raise TransitionError(
                f"the run is {run.status}; end it first with `holdfast orchestrator complete` or "
                "`holdfast orchestrator fail REASON`"
            )
        workflow = view.workflow(project, file)[0]
        folder = path.parent / ARCHIVE / workflow.id
        statefile.guard(project.root, folder / path.name)
        own = [name for name in snapshots.listed(run.data) if snapshots.is_name(name)]
        mine = [path.name, places.extras(project.root, path).name, *own]
        if snapshots.is_ours(project):
            mine.append(snapshots.LATEST)
        for name in (*mine, "learnings.jsonl"):
            with suppress(MissingError):
                statefile.guard(project.root, path.with_name(name))
                raw = document.read(path.with_name(name))[0]
                atomic.write(folder / name, raw)
        project.observe(workflow)
        project.shelve(workflow)
        for name in reversed(mine):  # the state goes last, so that a killed run of this can be repeated
            if name == path.name:
                statefile.discard(project, path, why="archive")
            else:
                atomic.remove(path.with_name(name))
    return folder
