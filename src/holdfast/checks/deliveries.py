"""Check that PreCompact announced the last compactions, and that SessionStart restored the workflows after them."""

from __future__ import annotations

import os
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.checks import folders, ledger, notice, ok, problem
from holdfast.sessions.compaction import snapshots
from holdfast.sessions.ownership import sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.checks import Finding
    from holdfast.sessions.compaction.snapshots import Seal
    from holdfast.sessions.workspace import Workspace

LAST = 5  # compactions to look at
UNDER_WAY = timedelta(minutes=10)  # for so long after PreCompact the compaction may still run
_REMEDY = "holdfast doctor --fire"
_UNANNOUNCED = "none"  # the trigger of a restore without a PreCompact before it


def look(project: Workspace) -> Iterator[Finding]:
    """Compare the snapshots that PreCompact made with those that SessionStart claimed.

    A claimed snapshot means that a reply with the guidance was written. Whether it reached the model's context is
    recorded in the session's transcript, which is not read here.
    """
    closed = folders.blocked(project.ledger_file)
    if not closed and not os.path.lexists(project.ledger_file):
        yield ok("no compaction was seen here yet")
        return
    if closed or project.ledger.problem:
        # The ledger's own check knows the remedy, which may not be --fix.
        remedy = next((each.remedy for each in ledger.look(project) if each.level == "problem"), "holdfast status")
        yield notice("nothing is known of compactions, for the ledger cannot be used", remedy)
        return
    recent = snapshots.recent(project, snapshots.KEPT)
    told = [seal for seal in recent if seal.workflows and not _under_way(seal)][:LAST]
    seen = {str(row["id"]): str(row["last_seen"]) for row in sessions.all_of(project)}
    if not told:
        yield ok("no compaction with a workflow was seen here yet")
        return
    lost = [seal for seal in told if _is_lost(seal, seen)]
    found = [*_not_given(told, lost), *_not_announced(told)]
    yield from found
    if not found:
        restored = sum(seal.claimed_by is not None for seal in told)
        yield ok(
            f"SessionStart answered {restored} of the last {len(told)} compaction(s) with a workflow with its guidance"
            "; whether the model got it is not confirmed here"
        )


def _under_way(seal: Seal) -> bool:
    moment = clock.parse(seal.sealed_at)
    return seal.claimed_by is None and moment is not None and clock.now() - moment <= UNDER_WAY


def _is_lost(seal: Seal, seen: dict[str, str]) -> bool:
    """Tell whether nothing was restored after a PreCompact although the session had events since."""
    return seal.claimed_by is None and seen.get(seal.session, "") > seal.sealed_at


def _not_given(told: Sequence[Seal], lost: Sequence[Seal]) -> Iterator[Finding]:
    if not lost:
        return
    text = (
        f"{len(lost)} of the last {len(told)} compaction(s) were announced and SessionStart restored nothing after "
        f"them, the latest at {lost[0].sealed_at} in session {lost[0].session[:8]}: it was broken off, or SessionStart "
        "does not reach us"
    )
    newest = len(list(takewhile(lambda seal: seal in lost, told)))
    yield (problem if newest > 1 else notice)(text, _REMEDY)


def _not_announced(told: Sequence[Seal]) -> Iterator[Finding]:
    newest = list(takewhile(lambda seal: seal.why == _UNANNOUNCED, told))
    if newest:
        text = (
            f"PreCompact did not come before the last {len(newest)} restore(s), the latest at {newest[0].sealed_at} in "
            f"session {newest[0].session[:8]}: what CLAUDE.local.md or a plan said was not saved before it"
        )
        yield (problem if len(newest) > 1 else notice)(text, _REMEDY)
