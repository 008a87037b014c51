"""Read many state files of the `skills` format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import MissingError, SchemaMismatch, StateError
from holdfast.formats.skills import places, view
from holdfast.workflow.model import Found, Problem, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import Room


def read(project: Records, names: Iterable[str], room: Room) -> Found:
    """Return the workflows with some names, as far as the room goes; the first is read whatever its size.

    Files that are gone or hold something else are left out. Those that can't be read are problems.
    """
    found, problems, left = list[Workflow](), list[Problem](), 0
    for number, name in enumerate(names):
        path = places.active(project) / f"{name}.json"
        try:
            if number and not room.take([path.lstat().st_size]):
                left += 1
                continue
            seen = view.read(project, path)
        except (MissingError, FileNotFoundError, SchemaMismatch):
            continue
        except (StateError, OSError) as error:
            problems.append(Problem(path, error.reason if isinstance(error, StateError) else str(error)))
            continue
        workflow, more = view.merged(project, seen)
        found.append(workflow)
        problems += [*([seen.file.problem] if seen.file.broken else ()), *more]
    return Found(tuple(found), tuple(problems), left)
