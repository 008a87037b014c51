"""Check that PreCompact announced the last compactions, and that SessionStart restored the workflows after them."""

from __future__ import annotations

import os
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.checks import folders, ledger, notice, ok, problem
from holdfast.sessions import conversations
from holdfast.sessions.compaction import snapshots
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.checks import Finding
    from holdfast.sessions.compaction.snapshots import Snapshot
    from holdfast.sessions.workspace import Workspace

LAST = 5  # compactions to look at
UNDER_WAY = timedelta(minutes=10)  # for so long after PreCompact the compaction may still run
_REMEDY = "holdfast doctor --fire"
_UNANNOUNCED = "none"  # the trigger of a restore without a PreCompact before it


def findings(project: Workspace) -> Iterator[Finding]:
    """Compare the snapshots that PreCompact made with those that SessionStart claimed.

    A claimed snapshot means that a reply with the guidance was written. Whether it reached the model's context is
    recorded in the session's transcript, which is not read here.
    """
    closed = folders.blocked(project.ledger_file)
    if not closed and not os.path.lexists(project.ledger_file):
        yield ok("no compaction here yet")
        return
    if closed or project.ledger.problem:
        # The ledger's own check knows the remedy, which may not be --fix.
        remedy = next((each.remedy for each in ledger.findings(project) if each.level == "problem"), "holdfast status")
        yield notice("the ledger can't be used, so compactions can't be checked", remedy)
        return
    every = snapshots.recent(project, snapshots.KEPT)
    recent = [snapshot for snapshot in every if snapshot.workflows and not _under_way(snapshot)][:LAST]
    seen = {row.id: row.last_seen for row in conversations.every(project)}
    if not recent:
        yield ok("no compaction with a workflow here yet")
        return
    lost = [snapshot for snapshot in recent if _is_lost(snapshot, seen)]
    found = [*_not_restored(recent, lost), *_not_announced(recent)]
    yield from found
    if not found:
        restored = sum(snapshot.claimed_by is not None for snapshot in recent)
        yield ok(
            f"SessionStart sent the workflow after {restored} of the last {count(len(recent), 'compaction')}; this "
            "check doesn't confirm that the model received it"
        )


def _under_way(snapshot: Snapshot) -> bool:
    saved = clock.parse(snapshot.sealed_at)
    return snapshot.claimed_by is None and saved is not None and clock.now() - saved <= UNDER_WAY


def _is_lost(snapshot: Snapshot, seen: dict[str, str]) -> bool:
    """Return whether nothing was restored after a PreCompact although the session had events since."""
    return snapshot.claimed_by is None and seen.get(snapshot.session, "") > snapshot.sealed_at


def _not_restored(recent: Sequence[Snapshot], lost: Sequence[Snapshot]) -> Iterator[Finding]:
    if not lost:
        return
    text = (
        f"nothing was restored after {len(lost)} of the last {count(len(recent), 'compaction')}, most recently at "
        f"{lost[0].sealed_at} in session {lost[0].session[:8]}: the compaction was cancelled, or SessionStart doesn't "
        "reach Holdfast"
    )
    newest = len(list(takewhile(lambda snapshot: snapshot in lost, recent)))
    yield (problem if newest > 1 else notice)(text, _REMEDY)


def _not_announced(recent: Sequence[Snapshot]) -> Iterator[Finding]:
    newest = list(takewhile(lambda snapshot: snapshot.why == _UNANNOUNCED, recent))
    if newest:
        restores = f"{len(newest)} restores" if len(newest) > 1 else "restore"
        text = (
            f"no PreCompact came before the last {restores}, most recently at {newest[0].sealed_at} in session "
            f"{newest[0].session[:8]}, so what CLAUDE.local.md or a plan said wasn't saved"
        )
        yield (problem if len(newest) > 1 else notice)(text, _REMEDY)
