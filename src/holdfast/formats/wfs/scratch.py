"""Choose the file for an output that is no part of a session's plan: in its `.chat/`, or in the scratchpad."""

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


_DESIGN = ("design", "ui-design")  # commands whose output is a folder (R002-34)


def route(project: Records, command: str, description: str, moment: datetime, *, unrelated: bool = False) -> Path:
    """Return the path for an output, and create its folder, which is needed now (R002-39).

    Output that is related to the active session goes to its `.chat/` (R002-36), anything else to the scratchpad
    (R002-35), which is never cleaned up (R002-38). A design gets its own folder, in the session or in `.design/`
    (I002-18).

    Args:
        project: the project.
        command: the command that made it, such as `/cli:mode:code-analysis`.
        description: what it is about.
        moment: when it was made, in UTC.
        unrelated: whether it has nothing to do with the active session.

    Raises:
        StateError: the folder can't be created.
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
    """Return a path with an ending, and with a number if it exists already."""
    tried = (path.with_name(f"{path.name}{'' if number == 1 else f'-{number}'}{ending}") for number in count(1))
    return next(each for each in tried if not os.path.lexists(each))
