"""Choose the file for an output that is no part of a session's plan: in its `.chat/`, or in the scratchpad."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

from holdfast.errors import StateError
from holdfast.formats.wfs import paths, session
from holdfast.workflow import names, statefile

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from holdfast.workflow.records import Records


_DESIGN = ("design", "ui-design")  # commands whose output is a folder (R002-34)
_DESCRIPTION_LIMIT_CHARS = 40  # characters of a description in a file's name
_VERBS = frozenset(
    (
        *("add", "analyze", "analyse", "create", "debug", "explain", "explore", "extract", "find", "fix", "generate"),
        *("implement", "improve", "investigate", "migrate", "optimize", "refactor", "remove", "rename", "rewrite"),
        *("trace", "upgrade", "write"),
    )
)  # without words that are nouns as often


def route(project: Records, command: str, description: str, moment: datetime, *, unrelated: bool = False) -> Path:
    """Return the path for an output, and create its folder, which is needed now (R002-39).

    Output that is related to the active session goes to its `.chat/` (R002-36), anything else to the scratchpad
    (R002-35), which is never cleaned up (R002-38). A design gets its own folder, in the session or in `.design/`
    (I002-18). A command's name is what follows its last colon (I002-17).

    Args:
        project: the project.
        command: the command that made it, such as `/cli:mode:code-analysis`.
        description: what it is about.
        moment: when it was made, in UTC.
        unrelated: whether it has nothing to do with the active session.

    Raises:
        StateError: the folder can't be created.
    """
    name, top = names.words(command.rpartition(":")[2]) or "output", paths.top(project)
    stamp = moment.strftime("%Y%m%d-%H%M%S")  # R002-37
    active = [each for each in session.active(project) if (top / each).is_dir()]
    folder = top / active[0] if len(active) == 1 and not unrelated else None
    if name in _DESIGN:
        design = folder / f"design-{stamp}" if folder else top / paths.DESIGN / f"run-{stamp}"
        return _create(project, _free(design, ""))
    if folder:
        return _free(_create(project, folder / paths.CHAT) / f"{name}-{stamp}", ".md")
    stem = "-".join(filter(None, (name, _short(description), stamp)))
    return _free(_create(project, top / paths.SCRATCH) / stem, ".md")


def _short(description: str) -> str:
    """Return a description for file names, without its leading verb if other words are left (I002-19)."""
    words = names.words(description).split("-")
    if len(words) > 1 and words[0] in _VERBS:
        del words[0]
    return paths.cut("-".join(words), _DESCRIPTION_LIMIT_CHARS)


def _create(project: Records, folder: Path) -> Path:
    statefile.guard(project.root, folder / "x")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateError(folder, f"cannot be made: {error.strerror or error}") from error
    return folder


def _free(path: Path, ending: str) -> Path:
    """Return a path with an ending, and with a number if it exists already."""
    tried = (path.with_name(f"{path.name}{'' if number == 1 else f'-{number}'}{ending}") for number in count(1))
    return next(each for each in tried if not os.path.lexists(each))
