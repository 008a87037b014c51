"""Contents: the versions of state files, stored verbatim."""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING, Any

from holdfast import capture, log
from holdfast.clock import stamp
from holdfast.errors import LedgerError
from holdfast.memory.log import note
from holdfast.memory.rows import Content
from holdfast.memory.store import ANY, any_of, storable
from holdfast.workflow.records import Version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.project import OpenProject

MOST = 200  # versions of one file; the oldest go
_OF_PATH = "FROM contents WHERE worktree = ? AND path = ?"


def keep(project: OpenProject, path: Path, raw: bytes, *, why: str) -> bool:
    """Store the content of a state file as a new version, and return whether that was done.

    It isn't if the content is the latest version already, if the user excludes the file from capture (`exclude`; a
    broken file then can't be restored from its last content), or if the ledger fails. A failure is logged, and the
    caller's own save goes on.
    """
    if not capture.allowed(project.config, path):
        return False
    digest = hashlib.sha256(raw).hexdigest()
    try:
        last = _last(project, path)
        if last and last["digest"] == digest:  # most often; so nobody has to wait for a lock
            return False
        with project.ledger.transaction():
            last = _last(project, path)
            if last and last["digest"] == digest:
                return False
            _insert(project, path, raw, digest, why, (last["number"] if last else 0) + 1)
            return True
    except LedgerError as error:
        log.write("warning", f"no version of {path} was stored: {error}")
        return False


def latest(project: OpenProject, path: Path, most: int = sys.maxsize) -> bytes | None:
    """Return a state file's latest version; None for none, or if it exceeds `most` bytes. Raises LedgerError."""
    row = _last(project, path, f"CASE WHEN LENGTH(content) <= {most:d} THEN content END AS content")
    return bytes(row["content"]) if row and row["content"] is not None else None


def holds(project: OpenProject, path: Path, raw: bytes) -> bool:
    """Return whether a content is a state file's latest version, in a ledger that outlives this run."""
    return changed_at(project, path, raw) is not None and project.ledger.problem is None


def list_versions(project: OpenProject, path: Path) -> list[Version]:
    """Return the versions of a state file, the latest first, without their content. Raises LedgerError."""
    sql = f"SELECT number, digest, why, at {_OF_PATH} ORDER BY number DESC"
    return [Version(**row) for row in project.ledger.rows(sql, *_key(project, path))]


def paths(project: OpenProject) -> list[str]:
    """Return the paths in this checkout that have versions. Raises LedgerError."""
    sql = "SELECT DISTINCT path FROM contents WHERE worktree = ? ORDER BY path"
    return [str(row["path"]) for row in project.ledger.rows(sql, project.worktree)]


def changed_at(project: OpenProject, path: Path, raw: bytes) -> str | None:
    """Return when the ledger first saw a state file with its present content (UTC stamp), None if it never did.

    Copies and checkouts touch a file's modification time without changing it (I001-10). Raises LedgerError.
    """
    return seen_at(project, {path: raw}).get(path)


def seen_at(project: OpenProject, contents: Mapping[Path, bytes]) -> dict[Path, str]:
    """Return the `changed_at` of many files, without those for which it is None."""
    names = {storable(_key(project, path)[1]): path for path in contents}
    latest = "number = (SELECT MAX(number) FROM contents WHERE worktree = last.worktree AND path = last.path)"
    rows = project.ledger.rows(
        f"SELECT path, digest, at FROM contents AS last WHERE worktree = ? AND path {ANY} AND {latest}",
        *(project.worktree, any_of(names)),
    )
    found = {names[row["path"]]: row for row in rows}
    digests = {path: hashlib.sha256(contents[path]).hexdigest() for path in found}
    return {path: str(row["at"]) for path, row in found.items() if row["digest"] == digests[path]}


def content(project: OpenProject, path: Path, number: int) -> bytes | None:
    """Return the content of one version; None if there never was one, or it has been dropped. Raises LedgerError."""
    row = project.ledger.one(f"SELECT content {_OF_PATH} AND number = ?", *_key(project, path), number)
    return bytes(row["content"]) if row else None


def _last(project: OpenProject, path: Path, columns: str = "number, digest") -> dict[str, Any] | None:
    # By number and not by time: a clock may jump back, and two versions may share a microsecond.
    return project.ledger.one(f"SELECT {columns} {_OF_PATH} ORDER BY number DESC LIMIT 1", *_key(project, path))


def _insert(project: OpenProject, path: Path, raw: bytes, digest: str, why: str, number: int) -> None:
    table, (worktree, place) = project.ledger.table(Content), _key(project, path)
    table.put(Content(worktree, place, number, digest, why, stamp(), raw))
    table.drop("number <= ?", number - MOST, worktree=worktree, path=place)
    note(project, "generation", "kept", data={"path": place, "number": number, "digest": digest, "reason": why})


def _key(project: OpenProject, path: Path) -> tuple[str, str]:
    return project.worktree, project.place(path)
