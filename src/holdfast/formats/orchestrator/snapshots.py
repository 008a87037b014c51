"""Snapshots: whole copies of the state in `.claude/checkpoint-NNN.json`, and the newest in `checkpoint.json`."""

from __future__ import annotations

import heapq
import re
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.errors import MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, document
from holdfast.files.file_memo import Kept
from holdfast.formats.orchestrator import commit, schema
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from holdfast.files.document import Document
    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.records import Records

LATEST = "checkpoint.json"
TRIED = 8
"""Snapshots of a kind that are read in search of one of ours, since a repository can hold a hundred thousand others."""
_DIGITS = 9  # at most, in a snapshot's number; one so long is never counted on from
_NAME = re.compile(rf"checkpoint-(\d{{3,{_DIGITS}}})\.json", re.ASCII)


class Snapshot(NamedTuple):
    """A snapshot of ours: its file, read, and the commit that its entry names."""

    document: Document
    git_sha: str


def enter(project: Records, run: Run, task: str) -> str:
    """Add the entry of a new checkpoint to a state and return its snapshot's file name (R003-20).

    The number is free, and above those of all entries and files but the longest ones, which anyone can plant. Entries
    beyond the configured number leave the state; `drop` deletes their files.
    """
    there = set(_files(project))
    named = [match[1] for name in (*listed(run.data), *there) if (match := _NAME.fullmatch(name))]
    numbers = [int(each) for each in named if len(each) < _DIGITS]
    name = next(
        name for number in count(max(numbers, default=0) + 1) if (name := f"checkpoint-{number:03}.json") not in there
    )
    number = schema.phase_of(task)
    at = values.number(run.head.get("current_phase")) or 0
    entries = run.listed("checkpoints")
    entries.append(
        {
            "timestamp": run.stamp,
            "phase": at if number is None else number - 1,
            "task": task,
            "git_sha": commit.head(project.root),
            "state_snapshot": name,
        }
    )
    most = project.config.checkpoints
    run.outdated += listed({"checkpoints": entries[:-most]})
    del entries[:-most]
    return name


def listed(data: Mapping[str, Any]) -> list[str]:
    """Return the names of the snapshots that a state lists, in its order."""
    return [values.text(each.get("state_snapshot")) for each in schema.objects(data.get("checkpoints"))]


def drop(project: Records, outdated: list[str]) -> None:
    """Delete snapshots that a state names no longer, if they really are states of ours. Raises StateError."""
    for name in filter(is_name, outdated):
        with suppress(MissingError, SchemaMismatch):
            atomic.remove(read(project, name).document.path)


def write(project: Records, name: str, raw: bytes) -> list[str]:
    """Write a state's bytes as a snapshot, and as the newest one; return what to tell about files left alone.

    The snapshot has its own entry (I003-17). A `checkpoint.json` of another program is never overwritten (I003-15).
    Raises StateError if the snapshot can't be written.
    """
    folder = schema.state_path(project.root).parent
    statefile.guard(project.root, folder / name)
    atomic.replace(folder / name, raw, None)
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
        listed: the snapshots that the state names, in its order. The last `TRIED` of them come first, then as many with
            the highest numbers, then `LATEST`.
        run_id: the run that is meant, because an earlier one's lie there, too; empty if nobody knows.
    """
    named = [name for name in listed[-TRIED:] if is_name(name)]
    by_number = heapq.nlargest(TRIED, _files(project), key=lambda name: int((_NAME.fullmatch(name) or [0, 0])[1]))
    for name in dict.fromkeys([*reversed(named), *by_number, LATEST]):
        with suppress(StateError):
            found = read(project, name)
            if run_id in ("", schema.run_id(found.document.data)):
                yield found


def read(project: Records, name: str) -> Snapshot:
    """Return the snapshot of this name. Raises StateError if it can't be read, SchemaMismatch if it isn't ours."""
    path = schema.state_path(project.root).parent / name
    statefile.guard(project.root, path)
    found = _attempts.get(path)
    if isinstance(found, StateError):
        raise found
    schema.check(statefile.StateFile(found))
    entries = schema.objects(found.data.get("checkpoints"))
    own = [each for each in entries if each.get("state_snapshot") == name] or entries[-1:]
    return Snapshot(found, values.text(own[-1].get("git_sha")) if own else "")


def _attempt(path: Path) -> Document | StateError:
    """Return a snapshot's file, or what is wrong with it."""
    try:
        return document.load(path, statefile.LIMIT_BYTES)
    except StateError as error:
        return error


_attempts = Kept(_attempt)
"""Snapshots that this process read: while the state is broken, each of an event's handlers looks for the newest one."""


def is_name(name: str) -> bool:
    """Return whether a file's name is that of a numbered snapshot."""
    return _NAME.fullmatch(name) is not None


def is_ours(project: Records) -> bool:
    """Return whether `checkpoint.json` holds a state of ours. Raises StateError if it can't be read."""
    latest = schema.state_path(project.root).with_name(LATEST)
    try:
        return schema.kind(document.load(latest, statefile.LIMIT_BYTES).data) == "ours"
    except MissingError:
        return False


def _files(project: Records) -> list[str]:
    folder = schema.state_path(project.root).parent
    try:
        return [each.name for each in folder.iterdir() if _NAME.fullmatch(each.name)]
    except OSError:
        return []
