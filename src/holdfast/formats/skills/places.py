"""Where the files of the `skills` format are, and how a state file gets its name (R004-01, R004-05)."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from holdfast.errors import TransitionError

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.records import Records

TOP = ".claude/workflow-state"
_SKILL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def top(project: Records) -> Path:
    """Return the folder that holds everything of this format; it need not exist."""
    return project.root / TOP


def active(project: Records) -> Path:
    """Return the folder of unfinished workflows."""
    return top(project) / "active"


def completed(project: Records) -> Path:
    """Return the folder of finished workflows, which are kept for a day."""
    return top(project) / "completed"


def index(project: Records) -> Path:
    """Return the path of the list of unfinished workflows."""
    return top(project) / "index.json"


def hashed(key: str) -> str:
    """Return the first eight digits of the MD5 of a key and a newline, as `echo "$KEY" | md5sum | cut -c1-8` does."""
    raw = f"{key}\n".encode("utf-8", "surrogateescape")
    return hashlib.md5(raw, usedforsecurity=False).hexdigest()[:8]


def stem(skill: str, key: str) -> str:
    """Return the name of a state file without its ending, which is also its workflow's id (I004-1).

    Raises TransitionError for a skill's name that is no file name.
    """
    if not is_skill(skill):
        raise TransitionError(
            f"{skill!r} isn't a valid skill name; use letters, digits, dots, underscores and hyphens, 64 at most"
        )
    return f"{skill}-{hashed(key)}"


def is_skill(name: str) -> bool:
    """Return whether a text can be the name of a skill."""
    return bool(_SKILL.fullmatch(name))


def state(project: Records, skill: str, key: str) -> Path:
    """Return the path of the unfinished workflow of a skill and a key. Raises TransitionError as `stem` does."""
    return active(project) / f"{stem(skill, key)}.json"
