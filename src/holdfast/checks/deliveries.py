"""Whether the last compactions were announced, and their guidance was given back."""

from __future__ import annotations

import os
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.checks import notice, ok, problem
from holdfast.survival import seals, sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.checks import Finding
    from holdfast.project import Project
    from holdfast.survival.seals import Seal

LAST = 5  # compactions that are looked at
UNDER_WAY = timedelta(minutes=10)  # since PreCompact: the compaction may still run
_REMEDY = "holdfast doctor --fire"
_UNANNOUNCED = "none"  # what a restore leaves where no PreCompact came before it


def look(project: Project) -> Iterator[Finding]:
    """Compare what PreCompact sealed with what a session took back."""
    if not os.path.lexists(project.ledger_file):
        yield ok("no compaction was seen here yet")
        return
    if project.ledger.problem:
        yield notice("nothing is known of compactions, for the ledger cannot be used", "holdfast doctor --fix")
        return
    told = [seal for seal in seals.recent(project, seals.KEPT) if seal.workflows and not _under_way(seal)][:LAST]
    seen = {str(row["id"]): str(row["last_seen"]) for row in sessions.all_of(project)}
    if not told:
        yield ok("no compaction with a workflow was seen here yet")
        return
    lost = [seal for seal in told if _is_lost(seal, seen)]
    found = [*_not_given(told, lost), *_not_announced(told)]
    yield from found
    if not found:
        restored = sum(seal.claimed_by is not None for seal in told)
        yield ok(f"{restored} of the last {len(told)} compaction(s) with a workflow were followed by its guidance")


def _under_way(seal: Seal) -> bool:
    moment = clock.parse(seal.sealed_at)
    return seal.claimed_by is None and moment is not None and clock.now() - moment <= UNDER_WAY


def _is_lost(seal: Seal, seen: dict[str, str]) -> bool:
    """Tell whether a session went on after its PreCompact without its guidance: it has had events since."""
    return seal.claimed_by is None and seen.get(seal.session, "") > seal.sealed_at


def _not_given(told: Sequence[Seal], lost: Sequence[Seal]) -> Iterator[Finding]:
    if not lost:
        return
    text = (
        f"{len(lost)} of the last {len(told)} compaction(s) were announced and no guidance followed, the latest at "
        f"{lost[0].sealed_at} in session {lost[0].session[:8]}: it was broken off, or SessionStart does not reach us"
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
