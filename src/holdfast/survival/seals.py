"""Seals: the rows PreCompact leaves, saying which workflows a session had before its compaction."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.state.ledger import new_id
from holdfast.survival import transcripts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.project import Project
    from holdfast.workflow.model import Workflow

LASTING = timedelta(days=1)  # an older seal of another session was no compaction's that is still to come
KEPT = 200  # seals per project; the oldest go
TABLE = """
CREATE TABLE IF NOT EXISTS seals (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    session TEXT NOT NULL, why TEXT NOT NULL, workflows TEXT NOT NULL, sealed_at TEXT NOT NULL,
    transcript TEXT NOT NULL DEFAULT '', size INTEGER NOT NULL DEFAULT 0, claimed_by TEXT, claimed_at TEXT)
"""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A workflow as a seal names it: its key, its title, its phase, and the digest of its file's content."""

    key: str
    title: str
    phase: str
    digest: str


@dataclass(frozen=True, slots=True)
class Seal:
    """What a PreCompact left.

    Attributes:
        id: unique across machines.
        session: whose compaction was announced.
        why: `manual`, `auto`, or `none` where a compaction came without PreCompact.
        workflows: what the session had.
        sealed_at: UTC.
        claimed_by: the session that restored from it, if any.
        claimed_at: UTC.
    """

    id: str
    session: str
    why: str
    workflows: tuple[Sealed, ...]
    sealed_at: str
    claimed_by: str | None
    claimed_at: str | None


def of(workflow: Workflow) -> Sealed:
    """Return what a seal says of a workflow."""
    phase = f"{workflow.position} {workflow.phase}".strip()
    return Sealed(workflow.key, workflow.title, phase, hashlib.sha256(workflow.raw).hexdigest())


def leave(project: Project, session: str, why: str, workflows: Sequence[Sealed], transcript: str = "") -> str:
    """Leave a seal.

    Args:
        project: where.
        session: whose compaction is announced.
        why: the compaction's trigger.
        workflows: what the session has, newest first.
        transcript: the session's transcript, whose size now is noted.

    Returns:
        The seal's id.
    """
    project.ledger.ensure(TABLE)
    seal = new_id()
    listed = json.dumps([[each.key, each.title, each.phase, each.digest] for each in workflows])
    with project.ledger.transaction():
        project.ledger.run(
            "INSERT INTO seals (id, project, worktree, host, client, session, why, workflows, sealed_at, transcript,"
            " size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(seal, project.key, project.worktree, project.host, project.client),
            *(session, why, listed, clock.stamp(), transcript, transcripts.size(transcript)),
        )
        project.ledger.run(
            "DELETE FROM seals WHERE project = ? AND id NOT IN"
            " (SELECT id FROM seals WHERE project = ? ORDER BY sealed_at DESC, id LIMIT ?)",
            *(project.key, project.key, KEPT),
        )
    return seal


def claim(project: Project, session: str, *, known: bool) -> Seal | None:
    """Claim the seal of the compaction that a session comes from.

    A known session claims only its own; a session the ledger had not seen claims another's of the same
    worktree, and only if just one session left any (survival: "Whose workflow is it?", step 2). Each claim is
    one conditional update, so that of two claimants one wins.

    Args:
        project: where.
        session: who claims.
        known: whether the ledger had seen it before this compaction.

    Returns:
        The newest seal claimed, or None.
    """
    project.ledger.ensure(TABLE)
    open_seals = _unclaimed(project, session if known else None)
    if not known and len({seal.session for seal in open_seals}) != 1:
        return None
    claimed = [seal for seal in open_seals if _take(project, seal, session)]
    return claimed[0] if claimed else None


def missed(project: Project, session: str) -> bool:
    """Tell whether a session was compacted and nothing was restored: its last seal is open, and a compaction came.

    The transcript says so; a PreCompact after which no compaction came leaves an open seal too.
    """
    project.ledger.ensure(TABLE)
    row = project.ledger.one(
        "SELECT transcript, size, claimed_at, workflows FROM seals WHERE project = ? AND session = ?"
        " ORDER BY sealed_at DESC, id LIMIT 1",
        *(project.key, session),
    )
    if row is None or row["claimed_at"] or not json.loads(row["workflows"]):
        return False
    return transcripts.compacted(row["transcript"], row["size"])


def recent(project: Project, count: int) -> list[Seal]:
    """Return the last seals, newest first."""
    project.ledger.ensure(TABLE)
    rows = project.ledger.rows(
        "SELECT * FROM seals WHERE project = ? ORDER BY sealed_at DESC, id LIMIT ?", project.key, count
    )
    return [_seal(row) for row in rows]


def naming(project: Project, workflow: str) -> list[Seal]:
    """Return the seals of this worktree that name the workflow with this key, newest first."""
    project.ledger.ensure(TABLE)
    rows = project.ledger.rows(
        "SELECT * FROM seals WHERE project = ? AND worktree = ? ORDER BY sealed_at DESC, id",
        *(project.key, project.worktree),
    )
    return [seal for seal in map(_seal, rows) if workflow in {each.key for each in seal.workflows}]


def _unclaimed(project: Project, session: str | None) -> list[Seal]:
    rows = project.ledger.rows(
        "SELECT * FROM seals WHERE project = ? AND worktree = ? AND claimed_by IS NULL"
        " AND (session = ? OR (? IS NULL AND sealed_at >= ?)) ORDER BY sealed_at DESC, id",
        *(project.key, project.worktree, session, session, clock.stamp(clock.now() - LASTING)),
    )
    return [_seal(row) for row in rows]


def _take(project: Project, seal: Seal, session: str) -> bool:
    changed = project.ledger.run(
        "UPDATE seals SET claimed_by = ?, claimed_at = ? WHERE id = ? AND claimed_by IS NULL",
        *(session, clock.stamp(), seal.id),
    )
    return changed == 1


def _seal(row: dict[str, Any]) -> Seal:
    workflows = tuple(Sealed(*each) for each in json.loads(row["workflows"]))
    fields = ("id", "session", "why", "sealed_at", "claimed_by", "claimed_at")
    return Seal(workflows=workflows, **{name: row[name] for name in fields})
