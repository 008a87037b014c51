"""Generations: the earlier contents of state files, stored verbatim."""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING, Any

from holdfast import capture, log
from holdfast.clock import stamp
from holdfast.errors import LedgerError
from holdfast.memory.store import new_id
from holdfast.sessions.history import timeline_event
from holdfast.sessions.history.timeline_event import TimelineEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from holdfast.project import OpenProject
    from holdfast.sessions.history.timeline_event import Asked

KEPT = 200  # generations of one file; the oldest go

_OF_PATH = "FROM generations WHERE project = ? AND worktree = ? AND path = ?"


def keep(project: OpenProject, path: Path, raw: bytes, *, why: str) -> str | None:
    """Store the content `raw` of the state file at `path` and return the generation's id.

    Returns None if the same content is the latest generation already, if the user excludes the file from capture
    (`exclude`; a broken file then can't be restored from its last content), or if the ledger fails. A failure is
    logged, and the caller's own save goes on. The oldest generations beyond 200 of one path are dropped.
    """
    if not capture.allowed(project.config, path):
        return None
    digest = hashlib.sha256(raw).hexdigest()
    try:
        last = _last(project, path)
        if last and last["digest"] == digest:  # most often; so nobody has to wait for a lock
            return None
        with project.ledger.transaction():
            last = _last(project, path)
            if last and last["digest"] == digest:
                return None
            return _insert(project, path, raw, digest, why, (last["number"] if last else 0) + 1)
    except LedgerError as error:
        log.write("warning", f"no generation of {path} was kept: {error}")
        return None


def latest(project: OpenProject, path: Path, most: int = sys.maxsize) -> bytes | None:
    """Return the content of a state file's latest generation; None if there is none, or if it exceeds `most` bytes.

    Raises LedgerError.
    """
    row = _last(project, path, f"CASE WHEN LENGTH(content) <= {most:d} THEN content END AS content")
    return bytes(row["content"]) if row and row["content"] is not None else None


def holds(project: OpenProject, path: Path, raw: bytes) -> bool:
    """Return whether a content is a state file's latest generation, in a ledger that outlives this run."""
    try:
        return changed_at(project, path, raw) is not None and project.ledger.problem is None
    except LedgerError:
        return False


def all(project: OpenProject, path: Path) -> list[dict[str, Any]]:
    """Return the generations of a state file, the latest first, without their content.

    Each has id, number, digest (SHA-256), why, at (UTC stamp) and size (bytes). Raises LedgerError.
    """
    columns = "id, number, digest, why, at, LENGTH(content) AS size"
    return project.ledger.rows(f"SELECT {columns} {_OF_PATH} ORDER BY number DESC", *_key(project, path))


def paths(project: OpenProject) -> list[str]:
    """Return the paths in this checkout of which generations were kept. Raises LedgerError."""
    sql = "SELECT DISTINCT path FROM generations WHERE project = ? AND worktree = ? ORDER BY path"
    return [str(row["path"]) for row in project.ledger.rows(sql, project.key, project.worktree)]


def changed_at(project: OpenProject, path: Path, raw: bytes) -> str | None:
    """Return when the ledger first saw a state file with its present content (UTC stamp), None if it never did.

    Copies and checkouts touch a file's modification time without changing it (I001-10). Raises LedgerError.
    """
    return seen_at(project, {path: raw}).get(path)


def seen_at(project: OpenProject, contents: Mapping[Path, bytes]) -> dict[Path, str]:
    """Return what `changed_at` does for each of many files, without those for which that is None."""
    names = {_key(project, path)[2]: path for path in contents}
    rows = project.ledger.by_value(
        "path",
        names,
        "SELECT path, digest, at FROM generations AS last WHERE project = ?1 AND worktree = ?2 AND path IN (*)"
        " AND number = (SELECT MAX(number) FROM generations WHERE project = ?1 AND worktree = ?2 AND path = last.path)",
        *(project.key, project.worktree),
    )
    found = {names[name]: row for name, row in rows.items()}
    return {
        path: str(row["at"])
        for path, row in found.items()
        if row["digest"] == hashlib.sha256(contents[path]).hexdigest()
    }


def content(project: OpenProject, generation: str) -> bytes | None:
    """Return the content of the generation with this id, None if there is none. Raises LedgerError."""
    sql = "SELECT content FROM generations WHERE project = ? AND id = ?"
    row = project.ledger.one(sql, project.key, generation)
    return bytes(row["content"]) if row else None


def numbered(project: OpenProject, path: Path, number: int) -> dict[str, Any] | None:
    """Return one generation of a state file by its number; None if it was never kept, or has been dropped.

    It has number, digest, why, at and content (bytes). Raises LedgerError.
    """
    sql = f"SELECT number, digest, why, at, content {_OF_PATH} AND number = ?"
    row = project.ledger.one(sql, *_key(project, path), number)
    return row and {**row, "content": bytes(row["content"])}


def of(project: OpenProject, worktree: str, wanted: Callable[[str, bytes], bool]) -> list[str]:
    """Return the ids of a checkout's generations that `wanted` accepts, ordered by path and number.

    `wanted` gets each path, relative to the checkout's root, and its content. Raises LedgerError.
    """
    where = "WHERE project = ? AND worktree = ?"
    rows = project.ledger.rows(f"SELECT id, path FROM generations {where} ORDER BY path, number", project.key, worktree)
    return [row["id"] for row in rows if wanted(row["path"], content(project, row["id"]) or b"")]


def happened(project: OpenProject, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: generations that were kept."""
    columns = "worktree, path, number, digest, why, at"
    wanted = {"table": "generations", "at": "at", "session": "", "path": "path", "columns": columns}
    return [
        TimelineEvent(
            *(row["at"], "generation", f"generation {row['number']} kept"),
            detail=f"{row['path']} ({row['why']})",
            worktree=row["worktree"],
            data={name: row[name] for name in ("path", "number", "digest")} | {"reason": row["why"]},
        )
        for row in timeline_event.newest(project, asked, **wanted)
    ]


def _last(project: OpenProject, path: Path, columns: str = "number, digest") -> dict[str, Any] | None:
    # By number and not by time: a clock may jump back, and two generations may share a microsecond.
    return project.ledger.one(f"SELECT {columns} {_OF_PATH} ORDER BY number DESC LIMIT 1", *_key(project, path))


def _insert(project: OpenProject, path: Path, raw: bytes, digest: str, why: str, number: int) -> str:
    id_, (key, worktree, place) = new_id(), _key(project, path)
    row = (id_, key, worktree, project.host, project.client.NAME, place, number, digest, raw, why, stamp())
    project.ledger.run(f"INSERT INTO generations VALUES ({', '.join('?' * len(row))})", *row)
    if number > KEPT:
        project.ledger.run(f"DELETE {_OF_PATH} AND number <= ?", *_key(project, path), number - KEPT)
    return id_


def _key(project: OpenProject, path: Path) -> tuple[str, str, str]:
    place = path.relative_to(project.root) if path.is_relative_to(project.root) else path
    return project.key, project.worktree, place.as_posix()
