"""Read many state files of the `skills` format, each once for an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import MissingError, SchemaMismatch, StateError
from holdfast.files import file_memo
from holdfast.formats.skills import file as files
from holdfast.formats.skills import library, places, view
from holdfast.frozen import NamedTuple
from holdfast.workflow import places as kept_at
from holdfast.workflow.model import Found, Problem, Workflow

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path

    from holdfast.formats.skills.machine import Machine
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import Room

_MOST_KEPT = 64


class _Source(NamedTuple):
    """What a workflow was read from: while all of it is the same, so is the workflow."""

    state: file_memo.Stamp
    completed: file_memo.Stamp | None
    extras: file_memo.Stamp | None
    machine: tuple[Machine | None, str]
    branch: str | None


_kept: dict[Path, tuple[str, _Source, Workflow]] = {}
"""The skill, the source and the workflow of files that this process read: an event's handlers read the same ones."""


def read(project: Records, names: Iterable[str], room: Room) -> Found:
    """Return the workflows with some names, as far as the room goes; the first is read whatever its size.

    Files that are gone or hold something else are left out. Those that can't be read are problems.
    """
    found, problems, left = list[Workflow](), list[Problem](), 0
    machines: dict[str, tuple[Machine | None, str]] = {}
    folder = places.active(project)
    beside = kept_at.extras(project.root, folder / "any.json").parent  # all of them are there: each would take 0.05 ms
    for number, name in enumerate(names):
        path = folder / f"{name}.json"
        try:
            info = path.lstat()
            if number and not room.take([info.st_size]):
                left += 1
                continue
            workflow, more = _workflow(project, path, info, _stamp(beside / f"{name}.extra.json"), machines)
        except (MissingError, FileNotFoundError, SchemaMismatch):
            continue
        except (StateError, OSError) as error:
            problems.append(Problem(path, error.reason if isinstance(error, StateError) else str(error)))
            continue
        found.append(workflow)
        problems += more
    return Found(tuple(found), tuple(problems), left)


def _workflow(
    project: Records,
    path: Path,
    info: os.stat_result,
    extras: file_memo.Stamp | None,
    machines: dict[str, tuple[Machine | None, str]],
) -> tuple[Workflow, list[Problem]]:
    """Return a workflow with its problems, from what is kept if nothing that it was read from has changed since."""
    state = file_memo.stamp(info)
    kept = _kept.get(path)
    completed = _stamp(files.completed_copy(path))
    if kept and kept[1] == _Source(state, completed, extras, _machine(project, kept[0], machines), project.branch):
        return kept[2], []
    settled = file_memo.settled(state) and (extras is None or file_memo.settled(extras))
    file = files.load(project, path)
    skill = files.skill(file.data, path)
    known = _machine(project, skill, machines)
    seen = view.in_root(project.root, file, known)
    workflow, found = view.merged(project, seen) if extras else (view.workflow(project, seen), ())
    problems = [*([Problem(path, seen.file.trouble)] if seen.file.broken else ()), *found]
    if settled and not problems and not seen.notes:  # a note may come from a feature file
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[path] = (skill, _Source(state, completed, extras, known, project.branch), workflow)
    return workflow, problems


def _machine(
    project: Records, skill: str, machines: dict[str, tuple[Machine | None, str]]
) -> tuple[Machine | None, str]:
    if skill not in machines:
        machines[skill] = library.known(project.root, skill)
    return machines[skill]


def _stamp(path: Path) -> file_memo.Stamp | None:
    """Return the stamp of a file; None without one."""
    try:
        return file_memo.stamp(path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return None
