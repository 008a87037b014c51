"""Where the `wfs` format keeps what: all of it below `.workflow/` (R002-03, R002-14, R002-34)."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.records import Records

TOP = ".workflow"
MARKER = ".active-"
"""Before a session's name: the file that makes it the active one, whatever it holds (R002-04)."""
SESSION = "workflow-session.json"
PLAN = "IMPL_PLAN.md"
LIST = "TODO_LIST.md"
PLAN_TEXT = "# Implementation Plan\n"
"""What a plan holds that nobody has written yet."""
LIST_TEXT = "# Tasks\n"
"""What the list of a session without tasks holds (R002-09)."""
_LONGEST_BYTES = 255  # of a file's name, on all systems that matter
TASKS = ".task"
SUMMARIES = ".summaries"
CHAT = ".chat"
SCRATCH = ".scratchpad"
DESIGN = ".design"


def top(project: Records) -> Path:
    """Return the folder of all sessions; it need not exist."""
    return project.root / TOP


def marker(project: Records, session: str) -> Path:
    """Return the file that marks a session as active."""
    return top(project) / f"{MARKER}{session}"


def state(folder: Path) -> Path:
    """Return the state file of the session in a folder."""
    return folder / SESSION


def task(folder: Path, id_: str) -> Path:
    """Return the file of a task of the session in a folder."""
    return folder / TASKS / f"{id_}.json"


def summary(folder: Path, id_: str) -> Path:
    """Return the file that says what came of a task (R002-14)."""
    return folder / SUMMARIES / f"{id_}-summary.md"


def has(project: Records, session: str) -> bool:
    """Tell whether there is a folder of a session's name; a symbolic link is none, for nothing is written there."""
    folder = top(project) / session
    return is_name(session) and folder.is_dir() and not folder.is_symlink()


def links(project: Records) -> list[Path]:
    """Return the symbolic links that stand where sessions' folders do, by name."""
    try:
        return sorted(each for each in top(project).iterdir() if is_name(each.name) and each.is_symlink())
    except OSError:
        return []


def elsewhere(project: Records) -> list[Path]:
    """Return the sessions' folders one level too deep, as in `.workflow/active/` and `.workflow/archives/`, by path.

    Later versions of the document keep sessions there. Holdfast works on none of them.
    """
    others = [folder for folder in inside(top(project)) if not is_name(folder.name)]
    return [each for folder in others for each in inside(folder) if is_name(each.name)]


def is_archived(folder: Path) -> bool:
    """Tell whether a session's folder lies in an archive, so that the session is over."""
    return "archive" in folder.parent.name.lower()


def inside(folder: Path) -> list[Path]:
    """Return the folders in a folder by name; links are not followed."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [folder / name for name in names]


def inner(project: Records, path: Path) -> str:
    """Return a path as messages name it: relative to the project's root, where it lies below it."""
    return path.relative_to(project.root).as_posix() if path.is_relative_to(project.root) else str(path)


def is_name(text: str) -> bool:
    """Tell whether a text can be a session's name: one part of a path, of a length it can have, that begins so."""
    plain = text.startswith("WFS-") and "\\" not in text and "\0" not in text
    return plain and PurePosixPath(text).name == text and len(os.fsencode(MARKER + text)) <= _LONGEST_BYTES
