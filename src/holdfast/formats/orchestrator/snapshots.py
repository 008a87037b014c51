"""Snapshots: whole copies of the state in `.claude/checkpoint-NNN.json`, and the newest in `checkpoint.json`."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import HoldfastError, MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, document
from holdfast.formats.orchestrator import learnings, schema
from holdfast.workflow import extras, places, search, statefile, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.files.document import Document
    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records

LATEST = "checkpoint.json"
_CANDIDATES = 8  # snapshots of a kind that are read in search of one of ours: a repository can hold any number
_NAME = re.compile(r"checkpoint-(\d{3,9})\.json", re.ASCII)


_FOLDER = "archive"  # in `.claude/`, with a folder for each run that was put away


class Snapshot(NamedTuple):
    """A snapshot of ours: its file, read, and the commit that its entry names."""

    document: Document
    git_sha: str


def enter(project: Records, run: Run, task: str) -> str:
    """Add the entry of a new checkpoint to a state and return its snapshot's file name (R003-20).

    Its number is free, and above those of all entries. Entries beyond the configured number leave the state.
    """
    highest = max(map(_number, listed(run.data)), default=0)
    there = set(_files(project))
    names = (f"checkpoint-{number:03}.json" for number in count(highest + 1))
    name = next(each for each in names if each not in there)
    number = schema.phase_of(task)
    current = values.number(run.head.get("current_phase")) or 0
    entries = run.listed("checkpoints")
    entries.append(
        {
            "timestamp": run.stamp,
            "phase": current if number is None else number - 1,
            "task": task,
            "git_sha": project.head,
            "state_snapshot": name,
        }
    )
    limit = project.config.checkpoints
    run.expired_snapshots += listed({"checkpoints": entries[:-limit]})
    del entries[:-limit]
    return name


def listed(data: Mapping[str, Any]) -> list[str]:
    """Return the names of the snapshots that a state lists, in its order."""
    return [values.text(each.get("state_snapshot")) for each in values.objects(data.get("checkpoints"))]


def write(project: Records, run: Run, name: str, raw: bytes) -> list[str]:
    """Write a state's bytes as a snapshot, and as the newest one; return what to tell about files left alone.

    The snapshot has its own entry (I003-17). A `checkpoint.json` of another program is never overwritten (I003-15).
    Snapshots that the run names no longer are deleted, if they really are states of ours. Raises StateError if the
    snapshot can't be written.
    """
    folder = schema.state_path(project.root).parent
    statefile.guard(project.root, folder / name)
    atomic.replace(folder / name, raw, None)
    for expired in filter(is_name, run.expired_snapshots):
        with suppress(MissingError, SchemaMismatch):
            atomic.remove(read(project, expired).document.path)
    latest = folder / LATEST
    try:
        statefile.guard(project.root, latest)
        if latest.exists() and not is_ours(project):
            return [f"{latest} is another program's, so it isn't overwritten; the checkpoint is {name}"]
        atomic.write(latest, raw)
    except StateError as error:
        return [f"{latest} isn't written: {error.reason}; move it away for the next one. The checkpoint is {name}"]
    return []


def newest(project: Records, listed: list[str], run_id: str) -> Iterator[Snapshot]:
    """Yield the snapshots that really are states of ours, the newest first (I003-16).

    Args:
        project: the project.
        listed: the snapshots that the state names, in its order. The last ones come first, then those with the highest
            numbers, then `LATEST`.
        run_id: the run that is meant, because an earlier one's lie there, too; empty if nobody knows.
    """
    names = [name for name in listed[-_CANDIDATES:] if is_name(name)]
    by_number = sorted(_files(project), key=_number, reverse=True)[:_CANDIDATES]
    for name in dict.fromkeys([*reversed(names), *by_number, LATEST]):
        with suppress(StateError):
            snapshot = read(project, name)
            if run_id in ("", schema.run_id(snapshot.document.data)):
                yield snapshot


def read(project: Records, name: str) -> Snapshot:
    """Return the snapshot of this name. Raises StateError if it can't be read, SchemaMismatch if it isn't ours."""
    path = schema.state_path(project.root).parent / name
    statefile.guard(project.root, path)
    content = document.load(path, search.LIMIT_BYTES)
    schema.check(statefile.StateFile(content))
    entries = values.objects(content.data.get("checkpoints"))
    own = [each for each in entries if each.get("state_snapshot") == name] or entries[-1:]
    return Snapshot(content, values.text(own[-1].get("git_sha")) if own else "")


def choose(project: Records, name: str = "") -> Snapshot:
    """Return a snapshot by its file's name, or the newest that really is a state of this run (I003-16).

    Raises HoldfastError if there is none, SchemaMismatch if the named one is another program's.
    """
    if name:
        if "/" in name or "\0" in name or not name.startswith("checkpoint"):
            raise HoldfastError(f"{name!r} isn't a checkpoint; name one such as checkpoint-003.json")
        try:
            return read(project, name if name.endswith(".json") else f"{name}.json")
        except SchemaMismatch:
            raise
        except StateError as error:
            text = f"{error.reason}; without a name, the newest checkpoint is restored"
            raise StateError(error.path, text) from error
    path = schema.state_path(project.root)
    names, run_id = list[str](), extras.owner(project, path)
    with suppress(StateError):
        file = statefile.read(project, path)
        schema.check(file)
        names, run_id = listed(file.data), schema.run_id(file.data)
    snapshot = next(newest(project, names, run_id), None)
    if snapshot is None:
        other = next(newest(project, [], ""), None)
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
    names = filter(is_name, listed(document.parse(path, workflow.raw, 0).data))
    checkpoints = [*map(path.with_name, names)]
    if is_ours(project):
        checkpoints.append(path.with_name(LATEST))
    atomic.write(folder / path.name, workflow.raw)
    for each in (places.extras(project.root, path), learnings.path(project), *checkpoints):
        with suppress(MissingError):
            statefile.guard(project.root, each)
            atomic.write(folder / each.name, document.read(each)[0])
    for each in checkpoints:
        atomic.remove(each)


def is_name(name: str) -> bool:
    """Return whether a file's name is that of a numbered snapshot."""
    return _NAME.fullmatch(name) is not None


def is_ours(project: Records) -> bool:
    """Return whether `checkpoint.json` holds a state of ours. Raises StateError if it can't be read."""
    latest = schema.state_path(project.root).with_name(LATEST)
    try:
        return schema.kind(document.load(latest, search.LIMIT_BYTES).data) == "ours"
    except MissingError:
        return False


def _number(name: str) -> int:
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else 0


def _files(project: Records) -> list[str]:
    """Return the names of the numbered snapshots in the folder, whoever wrote them."""
    try:
        return [each.name for each in schema.state_path(project.root).parent.iterdir() if is_name(each.name)]
    except OSError:
        return []
