"""Where the files of the `skills` format are, and what names a workflow (R004-01, R004-05)."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import TransitionError
from holdfast.formats.skills import machine, record
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OTHER = "other"
"""The skill of a workflow that names none (R004-09)."""


def top(root: Path) -> Path:
    """Return the folder that holds everything of this format; it need not exist."""
    return root / record.TOP


def active(root: Path) -> Path:
    """Return the folder of unfinished workflows."""
    return top(root) / "active"


def completed(root: Path) -> Path:
    """Return the folder of finished workflows, which stay for a day."""
    return top(root) / "completed"


def index(root: Path) -> Path:
    """Return the path of the list of unfinished workflows."""
    return top(root) / "index.json"


def completed_copy(path: Path) -> Path:
    """Return where a state file of `active/` lies once its workflow is completed."""
    return path.parent.parent / "completed" / path.name


def key_hash(key: str) -> str:
    """Return the first eight digits of the MD5 of a key and a newline, as `echo "$KEY" | md5sum | cut -c1-8` does."""
    raw = f"{key}\n".encode("utf-8", "surrogateescape")
    return hashlib.md5(raw, usedforsecurity=False).hexdigest()[:8]


def stem(skill: str, key: str) -> str:
    """Return the name of a state file without its ending, which is also its workflow's id (I004-1).

    Raises TransitionError for a skill's name that is no file name.
    """
    if not machine.is_skill(skill):
        raise TransitionError(
            f"{skill!r} isn't a valid skill name; use letters, digits, dots, underscores and hyphens, 64 at most"
        )
    return f"{skill}-{key_hash(key)}"


def skill(data: Mapping[str, Any], path: Path) -> str:
    """Return the skill that a state belongs to; if it doesn't say, the one that its file is named after."""
    named = values.text(values.members(data.get("_schema")).get("skill")).strip()
    return named or path.stem.rpartition("-")[0] or OTHER


def identity(data: Mapping[str, Any], path: Path) -> str:
    """Return a workflow's unique identity: its id and when it started.

    The id in the file follows from its skill and its key, so the next workflow of the same feature has it again.
    """
    workflow = values.members(data.get("workflow"))
    started = clock.parse(values.text(workflow.get("created_at")))
    name = values.text(workflow.get("id")).strip() or path.stem
    return f"{name}@{clock.file_stamp(started)}" if started else name


def is_state(data: Mapping[str, Any]) -> bool:
    """Return whether a file's content is a skill's state."""
    return isinstance(data.get("workflow"), dict) and isinstance(data.get("state_machine"), dict)


def in_project(root: Path, text: str) -> str:
    """Return a path in the project in one spelling, relative to its root (I004-24); empty for a text that is none."""
    text = text.strip()
    if not text or "\n" in text or "\0" in text:
        return ""
    whole = os.path.normpath(os.path.join(root, text))  # noqa: PTH118 - pathlib does not normalise
    return whole.removeprefix(f"{root}/") if whole.startswith(f"{root}/") else ""
