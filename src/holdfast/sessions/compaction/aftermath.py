"""Compactions from end to end: how each was announced, what was restored after it, what its summary lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from holdfast import clock
from holdfast.sessions.compaction import deliveries, losses, snapshots

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.project import OpenProject
    from holdfast.sessions.compaction.deliveries import Delivery
    from holdfast.sessions.compaction.losses import Loss
    from holdfast.sessions.compaction.snapshots import SavedWorkflow, Snapshot

Ending = Literal["confirmed", "given", "lost", "nothing", "open"]
_AT_ONCE_S = 60.0  # seconds after a compaction in which a SessionStart's guidance answers it, and not a later resume
_NEAR_S = 600.0  # seconds that may lie between a compaction and the report of its summary


@dataclass(frozen=True, slots=True)
class Compaction:
    """One compaction, or the announcement of one.

    Attributes:
        session: the session that was to be compacted.
        trigger: `manual`, `auto`, or `none` if PreCompact never fired.
        announced_at: when PreCompact fired (UTC stamp); None if it never did.
        came_at: when a session came back from it (UTC stamp); None if none has.
        restored_in: the session that came back; empty if none has.
        workflows: the workflows that the session had.
        missed: whether the transcript shows that it came although nothing was given.
        given: the deliveries that answered it, oldest first, refused ones included.
        losses: the loss report of its summary, for each workflow.
    """

    session: str
    trigger: str
    announced_at: str | None
    came_at: str | None
    restored_in: str
    workflows: tuple[SavedWorkflow, ...]
    missed: bool
    given: tuple[Delivery, ...]
    losses: tuple[Loss, ...]

    @property
    def at(self) -> str:
        """When it came or, if it hasn't, when it was announced (UTC stamp)."""
        return self.came_at or self.announced_at or ""

    @property
    def ending(self) -> Ending:
        """How it ended for the model.

        `confirmed`: the transcript holds the guidance. `given`: it was given, and nobody knows yet whether it arrived.
        `lost`: nothing arrived, or it was refused. `nothing`: there was nothing to give. `open`: it was announced and
        has not come.
        """
        if self.missed:
            return "lost"
        if self.came_at is None:
            return "open"
        if not self.given:
            return "lost" if self.workflows else "nothing"
        states = {each.state for each in self.given}
        if states & {"confirmed"}:
            return "confirmed"
        return "given" if states & {"delivered", "pending", "unconfirmed"} else "lost"


def recent(project: OpenProject) -> list[Compaction]:
    """Return the compactions that the ledger still holds, of all worktrees, newest first. Raises LedgerError."""
    found = snapshots.recent(project, snapshots.KEPT)
    vain = snapshots.in_vain(found)
    found = [
        replace(snapshot, claimed_by=None, claimed_at=None) if snapshot.id in vain else snapshot for snapshot in found
    ]
    given = _answers(found, deliveries.recent(project, deliveries.KEPT), project.client.PROMPT_EVENT)
    lost = _reports(found, losses.recent(project, losses.KEPT))
    last: dict[str, Snapshot] = {}
    for snapshot in found:
        last.setdefault(snapshot.session, snapshot)
    told = [
        Compaction(
            session=snapshot.session,
            trigger=snapshot.why,
            announced_at=None if snapshot.why == "none" else snapshot.sealed_at,
            came_at=snapshot.claimed_at,
            restored_in=snapshot.claimed_by or "",
            workflows=snapshot.workflows,
            missed=not snapshot.claimed_at
            and last[snapshot.session] is snapshot
            and snapshots.missed(project, snapshot.session),
            given=tuple(given.get(snapshot.id, ())),
            losses=tuple(lost.get(snapshot.id, ())),
        )
        for snapshot in found
    ]
    return sorted(told, key=lambda each: each.at, reverse=True)


def _answers(found: Sequence[Snapshot], all_of: Sequence[Delivery], prompt: str) -> dict[str, list[Delivery]]:
    """Return, by snapshot id, what the session that claimed the snapshot was given before its next compaction."""
    answers: dict[str, list[Delivery]] = {}
    for delivery in reversed(all_of):
        before = [
            snapshot
            for snapshot in found
            if snapshot.claimed_by == delivery.session
            and snapshot.claimed_at
            and snapshot.claimed_at <= delivery.made_at
        ]
        snapshot = max(before, key=lambda each: each.claimed_at or "", default=None)
        if snapshot is None:
            continue
        again = delivery.repeats(prompt)  # the second attempt waits for the next prompt
        if again or _between(snapshot.claimed_at, delivery.made_at) <= _AT_ONCE_S:
            answers.setdefault(snapshot.id, []).append(delivery)
    return answers


def _reports(found: Sequence[Snapshot], all_of: Sequence[Loss]) -> dict[str, list[Loss]]:
    """Return, by snapshot id, the loss reports of its session that are nearest to it in time."""
    reports: dict[str, list[Loss]] = {}
    for loss in reversed(all_of):
        near = {
            snapshot.id: min(
                _between(each, loss.noted_at) for each in (snapshot.sealed_at, snapshot.claimed_at) if each
            )
            for snapshot in found
            if loss.session in (snapshot.session, snapshot.claimed_by)
        }
        nearest = min(near, key=lambda each: near[each], default=None)
        if nearest is not None and near[nearest] <= _NEAR_S:
            reports.setdefault(nearest, []).append(loss)
    return reports


def _between(one: str | None, other: str) -> float:
    """Return the seconds between two stamps; infinity if one is missing or isn't a stamp."""
    first, second = _moment(one), _moment(other)
    return abs((second - first).total_seconds()) if first and second else float("inf")


def _moment(stamp: str | None) -> datetime | None:
    return clock.parse(stamp) if stamp else None
