"""Paths of the `wfs` format, all below `.workflow/` (R002-03, R002-14, R002-34), and the names of sessions."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from holdfast.errors import command_line
from holdfast.workflow import names

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.records import Records

TOP = ".workflow"
MARKER = ".active-"
"""The prefix of a marker: the file with a session's name after it makes that session active (R002-04)."""
SESSION = "workflow-session.json"
PLAN = "IMPL_PLAN.md"
LIST = "TODO_LIST.md"
PLAN_TEXT = "# Implementation Plan\n"
"""The content of a plan that nobody has written yet (R002-09)."""
LIST_TEXT = "# Tasks\n"
"""The content of a list without tasks (R002-09)."""
TASKS = ".task"
SUMMARIES = ".summaries"
CHAT = ".chat"
SCRATCH = ".scratchpad"
DESIGN = ".design"
_SUMMARY_ENDING = "-summary.md"
PREFIX = "WFS-"
_FILE_NAME_LIMIT_BYTES = 255  # on all relevant systems
_NAME_LIMIT_CHARS = 50  # characters of a session's name, with prefix and suffix (R002-13)
_NAMELESS = "session"  # the name for a topic without a letter a-z or a digit (I002-15)


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
    """Return the file of a task's summary (R002-14)."""
    return folder / SUMMARIES / f"{id_}{_SUMMARY_ENDING}"


def summarized(folder: Path) -> frozenset[str]:
    """Return the ids of the tasks that have a summary in a session's folder."""
    with suppress(OSError):
        names = [each.name for each in (folder / SUMMARIES).iterdir()]
        return frozenset(name.removesuffix(_SUMMARY_ENDING) for name in names if name.endswith(_SUMMARY_ENDING))
    return frozenset()


def exists(project: Records, session: str) -> bool:
    """Return whether a session's folder exists. A symbolic link doesn't count, since nothing is written through it."""
    folder = top(project) / session
    return is_name(session) and folder.is_dir() and not folder.is_symlink()


def folders(project: Records) -> list[Path]:
    """Return the folders of all sessions, by name."""
    return [each for each in _inside(top(project)) if is_name(each.name)]


def links(project: Records) -> list[Path]:
    """Return the symbolic links in the place of sessions' folders, by name."""
    try:
        return sorted(each for each in top(project).iterdir() if is_name(each.name) and each.is_symlink())
    except OSError:
        return []


def elsewhere(project: Records) -> list[Path]:
    """Return the sessions' folders one level too deep, as in `.workflow/active/` and `.workflow/archives/`, by path.

    Later versions of the document put sessions there. Holdfast doesn't read them.
    """
    others = [folder for folder in _inside(top(project)) if not is_name(folder.name)]
    return [each for folder in others for each in _inside(folder) if is_name(each.name)]


def moving(folder: Path) -> str:
    """Return the command that moves such a session to where Holdfast works on it, and makes it the active one."""
    move = shlex.join(["mv", str(folder), f"{folder.parent.parent}/"])
    return f"{move} && {command_line('claim', folder.name)}"


def shown(project: Records, path: Path) -> str:
    """Return a path for messages: relative to the project's root if it is inside."""
    return path.relative_to(project.root).as_posix() if path.is_relative_to(project.root) else str(path)


def is_name(text: str) -> bool:
    """Return whether a text can be a session's name: one path component that begins with `WFS-` and isn't too long."""
    plain = text.startswith(PREFIX) and "\\" not in text and "\0" not in text
    return plain and PurePosixPath(text).name == text and len(os.fsencode(MARKER + text)) <= _FILE_NAME_LIMIT_BYTES


def new_name(topic: str, taken: set[str]) -> str:
    """Return the name of a new session: `WFS-user-auth-system`, with `-002` and so on if it is taken.

    The topic is in lower case (R002-11), with one hyphen for every run of characters other than a-z and 0-9, cut at a
    hyphen (I002-15) after at most 50 characters (R002-13). Only a taken name gets a suffix (R002-12), first `-002`
    (I002-16).

    Args:
        topic: what the session is about.
        taken: the names in use, in lower case.
    """
    words, suffix, number = names.words(topic) or _NAMELESS, "", 1
    while True:
        name = f"{PREFIX}{cut(words, _NAME_LIMIT_CHARS - len(PREFIX) - len(suffix))}{suffix}"
        if name.casefold() not in taken:
            return name
        number += 1
        suffix = f"-{number:03d}"


def cut(words: str, limit: int) -> str:
    """Return as many whole words as fit into so many characters; if the first doesn't fit, its beginning."""
    if len(words) <= limit:
        return words
    head = words[: limit + 1]
    return (head.rpartition("-")[0] if "-" in head else head[:limit]).strip("-")


def _inside(folder: Path) -> list[Path]:
    """Return the folders in a folder by name; links are not followed."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [folder / name for name in found]
