"""Where an output belongs that is no part of a session's plan: its `.chat/`, or the scratchpad."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

from holdfast.errors import StateError
from holdfast.formats.wfs import names, places
from holdfast.formats.wfs import session as sessions
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from holdfast.workflow.records import Records


_DESIGN = ("design", "ui-design")  # what these make are folders (R002-34)


def route(project: Records, command: str, description: str, moment: datetime, *, unrelated: bool = False) -> Path:
    """Return where an output is to be written; the folder is made, as it is needed now (R002-39).

    What is related to the active session goes to its `.chat/` (R002-36), anything else to the scratchpad (R002-35),
    which is never cleaned up (R002-38). A design has a folder of its own, in the session or in `.design/` (I002-18).

    Args:
        project: the project.
        command: what made it, as in `/cli:mode:code-analysis`.
        description: what it is about.
        moment: when, in UTC.
        unrelated: it has nothing to do with the active session.

    Raises:
        StateError: the folder cannot be made.
    """
    name, stamp, top = names.command(command), names.stamp(moment), places.top(project)
    marked = [each for each in sessions.active(project) if (top / each).is_dir()]
    session = top / marked[0] if len(marked) == 1 and not unrelated else None
    if name in _DESIGN:
        design = session / f"design-{stamp}" if session else top / places.DESIGN / f"run-{stamp}"
        folder = _free(design, "")
        _make(project, folder)
        return folder
    if session:
        folder, stem = session / places.CHAT, f"{name}-{stamp}"
    else:
        folder, stem = top / places.SCRATCH, "-".join(filter(None, (name, names.description(description), stamp)))
    _make(project, folder)
    return _free(folder / stem, ".md")


def _make(project: Records, folder: Path) -> None:
    statefile.guard(project.root, folder / "x")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateError(folder, f"cannot be made: {error.strerror or error}") from error


def _free(path: Path, ending: str) -> Path:
    """Return a path with an ending, numbered where there is something already."""
    tried = (path.with_name(f"{path.name}{'' if number == 1 else f'-{number}'}{ending}") for number in count(1))
    return next(each for each in tried if not os.path.lexists(each))
