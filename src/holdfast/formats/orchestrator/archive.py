"""Find the checkpoint to go back to, and put the files of a run away that gives way to another."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, document
from holdfast.formats.orchestrator import learnings, schema, snapshots
from holdfast.workflow import extras, places, statefile

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.snapshots import Snapshot
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records

_FOLDER = "archive"  # in `.claude/`, with a folder for each run that was put away


def choose_snapshot(project: Records, name: str = "") -> Snapshot:
    """Return a snapshot by its file's name, or the newest that really is a state of this run (I003-16).

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
            text = f"{error.reason}; without a name, the newest checkpoint is restored"
            raise StateError(error.path, text) from error
    path = schema.state_path(project.root)
    listed, run_id = list[str](), extras.owner(project, path)
    with suppress(StateError):
        file = statefile.read(project, path)
        schema.check(file)
        listed, run_id = snapshots.listed(file.data), schema.run_id(file.data)
    snapshot = next(snapshots.newest(project, listed, run_id), None)
    if snapshot is None:
        other = next(snapshots.newest(project, [], ""), None)
        theirs = f"; {other.document.path.name} is another run's, and is restored if you name it" if other else ""
        raise HoldfastError(
            f"no checkpoint holds a state of this run{theirs}; `holdfast restore` lists earlier contents of the file"
        )
    return snapshot


def put_away(project: Records, workflow: Workflow) -> None:
    """Copy the files of a run that gives way to another into a folder, and remove its checkpoints (R003-32).

    The state and the notes stay: the next run's are written over them. The log of learnings stays too, because later
    runs add to it. Hold the folder's lock. Raises StateError.
    """
    path, claude = workflow.path, workflow.path.parent
    folder = claude / _FOLDER / workflow.id
    statefile.guard(project.root, folder / path.name)
    names = filter(snapshots.is_name, snapshots.listed(document.parse(path, workflow.raw, 0).data))
    checkpoints = [*map(path.with_name, names)]
    if snapshots.is_ours(project):
        checkpoints.append(path.with_name(snapshots.LATEST))
    atomic.write(folder / path.name, workflow.raw)
    for each in (places.extras(project.root, path), learnings.path(project), *checkpoints):
        with suppress(MissingError):
            statefile.guard(project.root, each)
            atomic.write(folder / each.name, document.read(each)[0])
    for each in checkpoints:
        atomic.remove(each)
