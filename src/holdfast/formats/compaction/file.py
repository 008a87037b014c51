"""The state files of the `compaction` format: found, read, written and restored."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast.clock import file_stamp, now, stamp
from holdfast.errors import LedgerError, MissingError, SchemaMismatch, StateError
from holdfast.files import document
from holdfast.formats.compaction.schema import FOLDER, is_ours, view
from holdfast.workflow import names, statefile
from holdfast.workflow import restore as restoring
from holdfast.workflow.model import Problem, Restored, Workflow
from holdfast.workflow.statefile import StateFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from holdfast.workflow.records import Records

MOST = 16  # last changed files that an event reads; older ones are read only by commands
_STAMP = re.compile(r"\d{8}_\d{6}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One state file with the workflow in it."""

    file: StateFile
    workflow: Workflow


def folder(project: Records) -> Path:
    """Return the folder of all state files of this format; it need not exist."""
    return project.root / FOLDER


def newest(project: Records, wanted: Iterable[Path] = (), *, most: int = MOST) -> tuple[list[Path], int]:
    """Return the wanted state files and the last changed ones, and the number of all others.

    The first file is always among them, the others as far as `statefile.BUDGET_BYTES` goes.
    """
    times: dict[Path, float] = {}
    sizes: dict[Path, int] = {}
    for path in folder(project).glob("*/state-*.json"):
        with suppress(OSError):
            found = path.stat()
            times[path], sizes[path] = found.st_mtime, found.st_size
    latest = sorted(times, key=lambda path: (-times[path], path))[:most]
    room = statefile.Room()
    chosen = [path for path in dict.fromkeys([*wanted, *latest]) if path in times and room.take([sizes[path]])]
    return chosen, len(times) - len(chosen)


def scan(project: Records, only: Iterable[Path] | None = None) -> tuple[list[Entry], list[Problem]]:
    """Return every valid state file, the last changed first, and a problem for each other file (I001-11).

    `only` limits this to some paths. Of files changed at the same moment, as after a checkout, the one with the later
    time in its name comes first.
    """
    entries: list[Entry] = []
    problems: list[Problem] = []
    for path in folder(project).glob("*/state-*.json") if only is None else only:
        if names.is_copy(path.name):
            continue
        try:
            entry = load(project, path)
        except MissingError:
            continue
        except StateError as error:
            problems.append(Problem(path, error.reason))
            continue
        entries.append(entry)
        if entry.file.broken:
            problems.append(Problem(path, entry.file.trouble))
    entries.sort(key=lambda entry: entry.workflow.path)
    entries.sort(key=lambda entry: (entry.file.document.mtime, _named_at(entry)), reverse=True)
    return entries, sorted(problems, key=lambda problem: problem.path)


def load(project: Records, path: Path) -> Entry:
    """Return one state file.

    Raises MissingError, StateError if it is broken, SchemaMismatch if it is something else.
    """
    return entry(project, statefile.read(project, path))


def entry(project: Records, file: StateFile) -> Entry:
    """Return a state file that was read, with its workflow. Raises SchemaMismatch if it is something else."""
    if not is_ours(file.data):
        raise SchemaMismatch(file.path, 'isn\'t a workflow state ("workflow" as text, with "phase"); it is left alone')
    return Entry(file, view(project, file))


def rewrite(
    project: Records,
    path: Path,
    edit: Callable[[dict[str, Any], Workflow], dict[str, Any]],
    *,
    why: str,
    error: str = "",
    repair: bool = False,
) -> Entry:
    """Change a state file (`statefile.rewrite`), note what moved, and return the file as it is now.

    `edit` gets a copy of the content, which it may change at its top level, and the workflow in it; it returns the new
    content. `error` is what blocks the current phase, for the ledger. Hold the folder's lock. Raises SchemaMismatch,
    MissingError, StateError.
    """

    def apply(file: StateFile) -> dict[str, Any]:
        before = entry(project, file)
        data = edit(dict(file.data), before.workflow)
        project.observe(before.workflow)  # what was moved by hand before keeps its own time
        return data

    file, changed = statefile.rewrite(project, path, apply, why=why, repair=repair)
    workflow = view(project, file)
    project.observe(workflow, error=error, at=stamp() if changed else None)
    return Entry(file, workflow)


def write(project: Records, path: Path, data: dict[str, Any], before: StateFile | None, *, why: str) -> Entry:
    """Write `data` to a state file (`statefile.write`), note what moved, and return the file as it is now.

    Hold the folder's lock. Raises ChangedError if the file is not as it was read, StateError.
    """
    if before is not None:
        project.observe(view(project, before))  # what was moved by hand before keeps its own time
    file = statefile.write(project, path, data, before, why=why)
    workflow = view(project, file)
    project.observe(workflow, at=stamp())
    return Entry(file, workflow)


def parsed(project: Records, path: Path, raw: bytes) -> Workflow:
    """Return the workflow in a content of a state file. Raises SchemaMismatch, or StateError if it is broken."""
    return entry(project, StateFile(document.parse(path, raw, now().timestamp()), present=raw)).workflow


def restore(project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
    """Restore an earlier content of a state file, also of one that was completed and removed (`workflow.restore`)."""
    return restoring.restore(
        project,
        parsed(project, path, raw),
        why=why,
        replace=replace,
        read=lambda file: entry(project, file).workflow,
        same=lambda one, other: names.key(one.title) == names.key(other.title),
        folder=folder(project),
    )


def new_path(project: Records, name: str) -> Path:
    """Return the path for a new state file of this workflow: R001-01 with the present second, or the next free one.

    It is in a folder of the workflow's own (R001-04), as in the document's examples (R001-26).
    """
    short, moment = names.slug(name), now()
    while _was_used(project, path := folder(project) / short / f"state-{short}-{file_stamp(moment)}.json"):
        moment += timedelta(seconds=1)
    return path


def _was_used(project: Records, path: Path) -> bool:
    """Return whether a path has, or had, a state file: the id of a finished workflow is its file's name."""
    with suppress(LedgerError):
        return path.exists() or bool(project.versions(path))
    return False


def _named_at(entry: Entry) -> str:
    """Return the time in a state file's name (R001-01), empty for none."""
    return "".join(_STAMP.findall(entry.workflow.path.name)[-1:])
