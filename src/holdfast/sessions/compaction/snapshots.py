"""Seals: the snapshots that PreCompact leaves, saying which workflows a session had before its compaction."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.files.redact import redact
from holdfast.memory.store import new_id
from holdfast.sessions import conversations, messages
from holdfast.sessions.compaction import deliveries
from holdfast.sessions.history.timeline_event import TimelineEvent
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.project import OpenProject
    from holdfast.sessions.compaction.deliveries import Delivery
    from holdfast.sessions.history.timeline_event import Asked
    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.model import Workflow

LASTING = timedelta(days=1)  # the compaction of an older snapshot of another session won't come any more
KEPT = 200  # snapshots per project; the oldest go


@dataclass(frozen=True, slots=True)
class SavedWorkflow:
    """A workflow as a snapshot records it: its key, its title, its phase, and the SHA-256 of its file's content."""

    key: str
    title: str
    phase: str
    digest: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The snapshot that a PreCompact left.

    Attributes:
        id: unique across machines.
        session: the session whose compaction was announced.
        why: `manual`, `auto`, or `none` if a compaction came without PreCompact.
        workflows: the workflows that the session had.
        sealed_at: UTC stamp.
        claimed_by: the session that restored from it, if any.
        claimed_at: UTC stamp.
        transcript: the path of the session's transcript; empty if the event didn't say.
        size: the transcript's size then, in bytes.
    """

    id: str
    session: str
    why: str
    workflows: tuple[SavedWorkflow, ...]
    sealed_at: str
    claimed_by: str | None
    claimed_at: str | None
    transcript: str = ""
    size: int = 0


class Lost(NamedTuple):
    """Something that a session should have got after a compaction and never did.

    Attributes:
        delivery: the guidance that was given and did not arrive, as the transcript proves; None if none was given.
    """

    delivery: Delivery | None = None


def lost(event: Event, context: Context) -> Lost | None:
    """Return, once, what never reached a session after its compaction; pass it to `restore` to make up for it.

    This happens if the reply to SessionStart(compact) was lost, or if that event never fired after a PreCompact
    ([ISS 28305], [ISS 15174]).

    Args:
        event: a `UserPromptSubmit`.
        context: its context.
    """
    project, session = context.project, conversations.of(context.project, event.session_id)
    delivery = deliveries.settle(project, session)
    if delivery is None and not missed(project, session):
        return None
    context.log(f"the guidance {delivery.mark if delivery else 'of a compaction'} never arrived, so it was sent again")
    return Lost(delivery)


def of(workflow: Workflow) -> SavedWorkflow:
    """Return a workflow as a snapshot records it."""
    phase = redact(f"{workflow.position} {workflow.current_name}".strip())
    return SavedWorkflow(workflow.key, redact(workflow.title), phase, hashlib.sha256(workflow.raw).hexdigest())


def leave(
    project: OpenProject, session: str, why: str, workflows: Sequence[SavedWorkflow], transcript: str = ""
) -> str:
    """Leave a snapshot.

    Args:
        project: the project.
        session: the session whose compaction is announced.
        why: the compaction's trigger.
        workflows: the workflows that the session has, its own first.
        transcript: the path of the session's transcript, whose present size is stored.

    Returns:
        The snapshot's id.
    """
    snapshot = new_id()
    listed = json.dumps([[each.key, each.title, each.phase, each.digest] for each in workflows])
    with project.ledger.transaction():
        project.ledger.run(
            "INSERT INTO seals (id, project, worktree, host, client, session, why, workflows, sealed_at, transcript,"
            " size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(snapshot, project.key, project.worktree, project.host, project.client.NAME),
            *(session, why, listed, clock.stamp(), transcript, project.transcripts.size(transcript)),
        )
        project.ledger.prune(project.key, "seals", "sealed_at", KEPT)
    return snapshot


def unanswered(project: OpenProject, session: str) -> Snapshot | None:
    """Return the snapshot that a session claimed last if it got nothing for it, because the claiming process died."""
    row = _last(project, session)
    if row is None or row["claimed_by"] != session or deliveries.answered(project, session, row["claimed_at"]):
        return None
    return _snapshot(row)


def claim(project: OpenProject, session: str, *, known: bool) -> Snapshot | None:
    """Claim the snapshot of the compaction that a session comes from.

    A known session claims only its own snapshots. A session that the ledger had not seen claims another session's of
    the same worktree, and only if just one session left any. Each claim is one conditional update, so one of two
    claimants wins.

    Args:
        project: the project.
        session: the session that claims.
        known: whether the ledger had seen it before this compaction.

    Returns:
        The newest snapshot claimed, or None.
    """
    open_snapshots = _unclaimed(project, session if known else None)
    if not known and len({snapshot.session for snapshot in open_snapshots}) != 1:
        return None
    claimed = [snapshot for snapshot in open_snapshots if _take(project, snapshot, session)]
    return claimed[0] if claimed else None


def missed(project: OpenProject, session: str) -> bool:
    """Return whether a session was compacted but not restored: its last snapshot is open, and a compaction came.

    The transcript shows whether it came, since a PreCompact without a compaction leaves an open snapshot too. A
    snapshot counts as open if the process that claimed it was killed before it could give anything.
    """
    row = _last(project, session)
    if row is None or not json.loads(row["workflows"]):
        return False
    if row["claimed_at"] and deliveries.answered(project, session, row["claimed_at"]):
        return False
    return project.transcripts.compacted(row["transcript"], row["size"], row["sealed_at"])


def saved_at(project: OpenProject, session: str) -> str:
    """Return when a session last left a snapshot before a compaction (UTC stamp); empty if it left none."""
    row = _last(project, session)
    return "" if row is None or row["why"] == "none" else str(row["sealed_at"])


def recent(project: OpenProject, count: int) -> list[Snapshot]:
    """Return up to `count` snapshots, newest first."""
    rows = project.ledger.rows(
        "SELECT * FROM seals WHERE project = ? ORDER BY sealed_at DESC, id LIMIT ?", project.key, count
    )
    return [_snapshot(row) for row in rows]


def not_restored(project: OpenProject, snapshot: Snapshot) -> str:
    """Return why a session that claimed a snapshot was given none of its workflows; empty if it got one.

    Also empty where the ledger doesn't tell.
    """
    if not (snapshot.claimed_by and snapshot.claimed_at and snapshot.workflows) or snapshot.why == "none":
        return ""
    next_ = project.ledger.one(
        "SELECT MIN(sealed_at) AS at FROM seals WHERE project = ? AND session = ? AND sealed_at > ?",
        *(project.key, snapshot.claimed_by, snapshot.claimed_at),
    )
    rows = project.ledger.rows(
        "SELECT workflow, state FROM deliveries WHERE project = ? AND session = ? AND made_at >= ? AND made_at < ?"
        " AND (step > 0 OR workflow = '' OR event <> ?)",  # not what a slash command asked for
        *(project.key, snapshot.claimed_by, snapshot.claimed_at, (next_ and next_["at"]) or "9"),
        project.client.PROMPT_EVENT,
    )
    if any(row["workflow"] and row["state"] != "refused" for row in rows):
        return ""
    if any(row["state"] == "refused" for row in rows):
        return "it could belong to another live session"
    places = [each.key.partition(":")[2].rpartition("#")[0] for each in snapshot.workflows]
    for path in messages.unread_files(project, snapshot.claimed_by):
        if place := next((each for each in places if each and f"/{path}".endswith(f"/{each}")), ""):
            return f"{place} could not be read"
    return "only the session's own trail was given" if rows else ""


def in_vain(found: Iterable[Snapshot]) -> set[str]:
    """Return the ids of the snapshots that no compaction followed: their session left another snapshot first.

    `found` holds all snapshots, newest first.
    """
    later: dict[str, str] = {}  # session -> when it left its next snapshot
    vain = set[str]()
    for snapshot in found:
        if snapshot.claimed_at and snapshot.session in later and later[snapshot.session] <= snapshot.claimed_at:
            vain.add(snapshot.id)
        later[snapshot.session] = snapshot.sealed_at
    return vain


def naming(project: OpenProject, workflow: str) -> list[Snapshot]:
    """Return the snapshots of this worktree that name the workflow with this key, newest first."""
    rows = project.ledger.rows(
        "SELECT * FROM seals WHERE project = ? AND worktree = ? ORDER BY sealed_at DESC, id",
        *(project.key, project.worktree),
    )
    return [snapshot for snapshot in map(_snapshot, rows) if workflow in {each.key for each in snapshot.workflows}]


def forget(project: OpenProject, workflow: str, worktree: str, *, dry: bool = False) -> int:
    """Remove a workflow from the snapshots that name it, which stay, and return their number. `dry` only counts."""
    rows = project.ledger.rows(
        "SELECT id, workflows FROM seals WHERE project = ? AND worktree = ?", project.key, worktree
    )
    gone = [row for row in rows if workflow in {each[0] for each in json.loads(row["workflows"])}]
    for row in gone if not dry else ():
        kept = json.dumps([each for each in json.loads(row["workflows"]) if each[0] != workflow])
        project.ledger.run("UPDATE seals SET workflows = ? WHERE id = ?", kept, row["id"])
    return len(gone)


def happened(project: OpenProject, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: compactions announced, whether they came, and who claimed them."""
    rows = project.ledger.rows(
        "SELECT * FROM seals WHERE project = ? AND (sealed_at >= ? OR claimed_at >= ?) AND (? = '' OR session = ?"
        " OR claimed_by = ?) AND (? = '' OR worktree = ?) ORDER BY sealed_at DESC, id LIMIT ?",
        *(project.key, asked.since, asked.since, asked.session, asked.session, asked.session),
        *(asked.worktree, asked.worktree, KEPT),
    )
    found: list[TimelineEvent] = []
    vain = in_vain(map(_snapshot, rows))
    for row in rows:
        snapshot = _snapshot(row)
        if not asked.workflow or asked.workflow in {each.key for each in snapshot.workflows}:
            found = _told(project, snapshot, row, snapshot.id in vain) + found
    return [each for each in found if each.at >= asked.since]


def _told(project: OpenProject, snapshot: Snapshot, row: dict[str, Any], vain: bool) -> list[TimelineEvent]:
    had = ", ".join(f"{quoted(each.title)} {each.phase}".strip() for each in snapshot.workflows) or "no workflow"
    data = {"trigger": snapshot.why, "workflows": [each.title for each in snapshot.workflows]}
    place = row["worktree"]
    why = not_restored(project, snapshot)
    lacking = f"; not restored: {why}" if why else ""
    taken = TimelineEvent(
        snapshot.claimed_at or "",
        "compaction",
        "compaction completed",
        snapshot.claimed_by or "",
        detail=(f"from session {snapshot.session[:8]}: {had}" if snapshot.claimed_by != snapshot.session else had)
        + lacking,
        worktree=place,
        data=data | {"announced_by": None if snapshot.why == "none" else snapshot.session},
    )
    if snapshot.why == "none":
        return [replace(taken, what="compaction completed, not announced")]
    if vain:
        came = "it never happened"
    elif snapshot.claimed_at:
        came = ""
    elif project.transcripts.compacted(row["transcript"], row["size"], row["sealed_at"]):
        came = "it happened, and nothing was restored"
    else:
        came = "it hasn't happened yet"
    announced = TimelineEvent(
        *(snapshot.sealed_at, "compaction", f"compaction announced ({snapshot.why})", snapshot.session),
        detail="; ".join(filter(None, (had, came))),
        worktree=place,
        data=data | {"restored": bool(snapshot.claimed_at) and not vain and not why},
    )
    return [announced] if vain or not snapshot.claimed_at else [announced, taken]


def _last(project: OpenProject, session: str) -> dict[str, Any] | None:
    return project.ledger.one(
        "SELECT * FROM seals WHERE project = ? AND (session = ? OR claimed_by = ?) ORDER BY sealed_at DESC, id LIMIT 1",
        *(project.key, session, session),
    )


def _unclaimed(project: OpenProject, session: str | None) -> list[Snapshot]:
    left = "session = ?" if session is not None else "sealed_at >= ?"
    rows = project.ledger.rows(
        f"SELECT * FROM seals WHERE project = ? AND worktree = ? AND claimed_by IS NULL AND {left}"
        " ORDER BY sealed_at DESC, id",
        *(project.key, project.worktree, clock.stamp(clock.now() - LASTING) if session is None else session),
    )
    return [_snapshot(row) for row in rows]


def _take(project: OpenProject, snapshot: Snapshot, session: str) -> bool:
    changed = project.ledger.run(
        "UPDATE seals SET claimed_by = ?, claimed_at = ? WHERE id = ? AND claimed_by IS NULL",
        *(session, clock.stamp(), snapshot.id),
    )
    return changed == 1


def _snapshot(row: dict[str, Any]) -> Snapshot:
    workflows = tuple(SavedWorkflow(*each) for each in json.loads(row["workflows"]))
    fields = ("id", "session", "why", "sealed_at", "claimed_by", "claimed_at", "transcript", "size")
    return Snapshot(workflows=workflows, **{name: row[name] for name in fields})
