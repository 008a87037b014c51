"""Extracts: what was taken over from memory files and plans. What was buried is never taken over again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.clock import stamp
from holdfast.memory.store import new_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.project import OpenProject

_HIDDEN = "sha256:"  # prefix of a hashed name; a real name never has it, because names have no punctuation here


def remember(project: OpenProject, path: Path, name: str, digest: str, content: Mapping[str, Any]) -> None:
    """Store the extract last seen for the state file at `path`.

    `name` is the workflow's name as `names.key` gives it; `digest` and `content` (JSON values) are the extract's.
    Raises LedgerError.
    """
    project.ledger.run(
        "INSERT INTO extracts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, worktree, path) DO UPDATE SET "
        "host = excluded.host, client = excluded.client, name = excluded.name, digest = excluded.digest, "
        "content = excluded.content, at = excluded.at",
        *(new_id(), project.key, project.worktree, project.host, project.client.NAME),
        *(_place(project, path), name, digest, json.dumps(content), stamp()),
    )


def last(project: OpenProject, path: Path) -> dict[str, Any] | None:
    """Return name, digest and content of the extract last seen for a state file; None for none. Raises LedgerError."""
    sql = "SELECT name, digest, content FROM extracts WHERE project = ? AND worktree = ? AND path = ?"
    row = project.ledger.one(sql, project.key, project.worktree, _place(project, path))
    return row and {**row, "content": json.loads(row["content"])}


def saved_to(project: OpenProject, name: str, digest: str) -> Path | None:
    """Return the state file that an extract of this name and digest was last seen for; None for none.

    The file need not exist any more. Raises LedgerError.
    """
    sql = "SELECT path FROM extracts WHERE project = ? AND worktree = ? AND name = ? AND digest = ? ORDER BY at DESC"
    row = project.ledger.one(sql, project.key, project.worktree, name, digest)
    return project.root / row["path"] if row else None


def bury(project: OpenProject, name: str, digest: str) -> None:
    """Leave a tombstone: this extract of this workflow is done with and never creates a file again (I001-6).

    Raises LedgerError.
    """
    project.ledger.run(
        "INSERT INTO tombstones VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, worktree, name, digest) DO NOTHING",
        *(new_id(), project.key, project.worktree, project.host, project.client.NAME, name, digest, stamp()),
    )


def is_buried(project: OpenProject, name: str, digest: str) -> bool:
    """Return whether there is a tombstone for this extract of this workflow, under its name or the name's hash.

    Raises LedgerError.
    """
    sql = "SELECT id FROM tombstones WHERE project = ? AND worktree = ? AND name IN (?, ?) AND digest = ?"
    names = name, _hidden(project, name)
    return project.ledger.one(sql, project.key, project.worktree, *names, digest) is not None


def hide_tombstones(project: OpenProject, where: str, values: Sequence[object], *, dry: bool = False) -> int:
    """Replace the names on tombstones by hashes: a forgotten workflow must not come back from an old memory file.

    Args:
        project: the project.
        where: the SQL condition that selects the rows.
        values: its values.
        dry: whether only to count.

    Returns:
        How many of them had a name.

    Raises:
        LedgerError: the ledger can't be read or written.
    """
    rows = project.ledger.rows(
        f"SELECT * FROM tombstones WHERE ({where}) AND NOT name LIKE ?",
        *(*values, f"{_HIDDEN}%"),
    )
    for row in [] if dry else rows:
        _bury_hidden(project, row)
        project.ledger.run("DELETE FROM tombstones WHERE id = ?", row["id"])
    return len(rows)


def bury_gone(project: OpenProject, where: str, values: Sequence[object]) -> None:
    """Leave a hashed tombstone for each extract whose state file is gone: the extract itself was one.

    Args:
        project: the project.
        where: the SQL condition that selects the extracts.
        values: its values.

    Raises:
        LedgerError: the ledger can't be read or written.
    """
    for row in project.ledger.rows(f"SELECT * FROM extracts WHERE {where}", *values):
        if not (Path(row["worktree"]) / row["path"]).exists():
            _bury_hidden(project, row)


def _bury_hidden(project: OpenProject, row: Mapping[str, Any]) -> None:
    project.ledger.run(
        "INSERT INTO tombstones VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, worktree, name, digest) DO NOTHING",
        *(new_id(), row["project"], row["worktree"], row["host"], row["client"]),
        *(_hidden(project, row["name"]), row["digest"], row["at"]),
    )


def _hidden(project: OpenProject, name: str) -> str:
    return _HIDDEN + hashlib.sha256(f"{project.key} {name}".encode("utf-8", "surrogatepass")).hexdigest()


def _place(project: OpenProject, path: Path) -> str:
    return (path.relative_to(project.root) if path.is_relative_to(project.root) else path).as_posix()
