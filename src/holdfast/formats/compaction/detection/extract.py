"""What a memory file or plan says about a workflow, regardless of any state file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

NEXT_STEP = "next_step"
"""The key in the context for the next step, by the number of the phase that it is of."""

Source = Literal["memory", "plan", "memory+plan"]


@dataclass(frozen=True, slots=True)
class Extract:
    """The values that were really found. None and empty collections mean that nothing was found (I001-6).

    Attributes:
        name: the workflow's name, never empty.
        current: the current phase's number, from 1; `total` is the number of phases.
        status: a word of R001-07.
        reading: entries, each with a leading `@`.
        source: the file that names the workflow. `mtime` is its modification time in seconds since 1970.
        basis: the extract of the naming file alone if a plan added to it.
        unread: which part of the naming file was not read, in words; empty if all was.
        new: whether the session has just written this text, so that it is a new run of a completed workflow.
    """

    name: str
    current: int | None = None
    total: int | None = None
    phase: str | None = None
    status: str | None = None
    kind: str | None = None
    reading: tuple[str, ...] = ()
    reminders: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    origin: Source = "memory"
    source: Path = field(default_factory=Path)
    mtime: float = 0.0
    basis: Extract | None = None
    unread: str = ""
    new: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """The values as JSON values, without where and when they were found."""
        return {
            "name": self.name,
            "current": self.current,
            "total": self.total,
            "phase": self.phase,
            "status": self.status,
            "kind": self.kind,
            "reading": list(self.reading),
            "reminders": list(self.reminders),
            "context": dict(self.context),
        }

    @property
    def digest(self) -> str:
        """The SHA-256 of what the naming file says, in hexadecimal.

        A plan that merely added reading doesn't count, or else a change in it would revive a completed workflow.
        """
        content = (self.basis or self).content
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that was looked at, and why it names a workflow that counts, or why not (R001-27).

    Attributes:
        extract: the workflow in progress that the file names; None if there is none.
        warnings: what is odd in the file, or is left out of what is taken from it.
        refused: whether that workflow doesn't count all the same.
    """

    path: Path
    reason: str
    extract: Extract | None = None
    warnings: tuple[str, ...] = ()
    refused: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the file names a workflow that counts."""
        return self.extract is not None and not self.refused


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found in the files that people keep.

    Attributes:
        extract: the extract to save, or None.
        candidates: every file that was looked at.
        extracts: the extracts of single files that `extract` is made of.
        waiting: the plans in progress if none is used: several of which nothing shows that the session works on one,
            or the last changed one if all are too old.
    """

    extract: Extract | None
    candidates: tuple[Candidate, ...] = ()
    extracts: tuple[Extract, ...] = ()
    waiting: tuple[Extract, ...] = ()
