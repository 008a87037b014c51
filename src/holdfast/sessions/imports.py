"""Imports: records of workflows taken over from memory files and plans. A buried one is never taken over again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.clock import stamp
from holdfast.memory.rows import Import

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject

_HIDDEN = "sha256:"  # prefix of a hashed name; a real name never has it, because names have no punctuation here


def remember(project: OpenProject, path: Path, name: str, digest: str, content: Mapping[str, Any]) -> None:
    """Store what was taken over last into the state file at `path`.

    `name` is the workflow's name as `names.key` gives it; `digest` and `content` (JSON values) are the extract's.
    Raises LedgerError.
    """
    table, place = project.ledger.table(Import), project.place(path)
    with project.ledger.transaction():
        table.drop(worktree=project.worktree, path=place)
        table.put(Import(project.worktree, place, name, digest, json.dumps(content), stamp()))


def last(project: OpenProject, path: Path) -> dict[str, Any] | None:
    """Return name, digest and content of what was taken over last into a file; None for none. Raises LedgerError."""
    row = project.ledger.table(Import).one(worktree=project.worktree, path=project.place(path))
    return {"name": row.name, "digest": row.digest, "content": json.loads(row.content)} if row else None


def saved_to(project: OpenProject, name: str, digest: str) -> Path | None:
    """Return the state file that an extract of this name and digest was last taken over into; None for none.

    The file need not exist any more. Raises LedgerError.
    """
    table = project.ledger.table(Import)
    row = table.one("path <> ''", worktree=project.worktree, name=name, digest=digest, order="at DESC")
    return project.root / row.path if row else None


def bury(project: OpenProject, name: str, digest: str) -> None:
    """Record that this extract of this workflow is done with and never creates a file again (I001-6).

    Raises LedgerError.
    """
    project.ledger.table(Import).add(Import(project.worktree, "", name, digest, "", stamp()))


def is_buried(project: OpenProject, name: str, digest: str) -> bool:
    """Return whether this extract of this workflow is buried, under its name or the name's hash. Raises LedgerError."""
    table, names = project.ledger.table(Import), (name, _hidden(project, name))
    found = table.one("name IN (?, ?)", *names, worktree=project.worktree, path="", digest=digest)
    return found is not None


def forget(project: OpenProject, worktree: str, path: str, name: str, *, dry: bool = False) -> int:
    """Forget the imports into a state file, hash the name under which they are buried, and return their number.

    A forgotten workflow must not come back from an old memory file. What was taken over into a file that is gone counts
    as buried. `path` is relative to the root, `name` as `names.key` writes it; `dry` only counts. Raises LedgerError.
    """
    table = project.ledger.table(Import)
    found = table.where("path = ? OR path = '' AND name = ?", path, name, worktree=worktree)
    for row in [] if dry else found:
        table.drop(worktree=row.worktree, path=row.path, name=row.name, digest=row.digest)
        if not row.path or not (Path(worktree) / path).exists():
            hidden = _hidden(project, row.name)
            table.add(replace(row, path="", name=hidden, content=""))
    return len(found)


def _hidden(project: OpenProject, name: str) -> str:
    return _HIDDEN + hashlib.sha256(f"{project.key} {name}".encode("utf-8", "surrogatepass")).hexdigest()
