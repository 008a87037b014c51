"""What a memory file or plan says about a workflow, before any state file is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Source = Literal["memory", "plan", "memory+plan"]


@dataclass(frozen=True, slots=True)
class Extract:
    """The values that were really found: None, and an empty list or mapping, mean not found (I001-6).

    Attributes:
        name: the workflow's name, never empty.
        current: the phase's number from 1; `total` how many there are.
        status: a word of R001-07.
        reading: entries with `@` in front.
        source: the file that named the workflow; `mtime` is that file's, in seconds since 1970.
        basis: the extract of the naming file alone, where a plan added to it.
        unread: what of that file was not read, in words; empty where all of it was.
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

    @property
    def content(self) -> dict[str, Any]:
        """The values as JSON can hold them, without where and when they were found."""
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
        """A SHA-256 over what the naming file says.

        A plan that merely added readings does not count, or a change in it would revive a completed workflow.
        """
        import hashlib
        import json

        content = (self.basis or self).content
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that was looked at, whether it names an active workflow, and why or why not (R001-27).

    Attributes:
        kind: what files refused for much the same reason have in common, in words; may be empty.
        notable: marks a refused file that its owner may well expect to count: in progress but not taken, or unreadable.
        warnings: what is odd in what the file says, or is left out of what is taken from it.
    """

    path: Path
    method: Literal["CLAUDE.local.md", "plan"]
    accepted: bool
    reasons: tuple[str, ...]
    mtime: float
    notable: bool = False
    kind: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found in the files that people keep.

    Attributes:
        extract: what is to be saved, if anything.
        candidates: every file that was looked at.
        extracts: those of single files that `extract` is made of.
        stale: of the last changed plan in progress, where that was too long ago: it is nobody's workflow unasked.
    """

    extract: Extract | None
    candidates: tuple[Candidate, ...] = ()
    extracts: tuple[Extract, ...] = ()
    stale: Extract | None = None
