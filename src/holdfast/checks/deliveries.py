"""Check that PreCompact announced the last compactions, and that SessionStart restored the workflows after them."""

from __future__ import annotations

import os
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.checks import folders, ledger, notice, ok, problem
from holdfast.sessions import compactions, conversations
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.checks import Finding
    from holdfast.sessions.compactions import CompactionReport
    from holdfast.sessions.workspace import Workspace

LAST = 5  # compactions to look at
UNDER_WAY = timedelta(minutes=10)  # for so long after PreCompact the compaction may still run
_REMEDY = "holdfast doctor --fire"


def findings(project: Workspace) -> Iterator[Finding]:
    """Compare the compactions that PreCompact announced with those that SessionStart claimed.

    A claimed one means that a reply with the guidance was written. Whether it reached the model's context is
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
    recent = [each for each in compactions.recent(project) if each.workflows and not _under_way(each)][:LAST]
    seen = {row.id: row.last_seen for row in conversations.every(project)}
    if not recent:
        yield ok("no compaction with a workflow here yet")
        return
    lost = [each for each in recent if _is_lost(each, seen)]
    found = [*_not_restored(recent, lost), *_not_announced(recent)]
    yield from found
    if not found:
        restored = sum(each.row.restored_at is not None for each in recent)
        yield ok(
            f"SessionStart sent the workflow after {restored} of the last {count(len(recent), 'compaction')}; this "
            "check doesn't confirm that Claude received it"
        )


def _under_way(report: CompactionReport) -> bool:
    announced = clock.parse(report.row.announced_at)
    return report.row.restored_at is None and announced is not None and clock.now() - announced <= UNDER_WAY


def _is_lost(report: CompactionReport, seen: dict[str, str]) -> bool:
    """Return whether nothing was restored after a PreCompact although the session had events since."""
    return report.row.restored_at is None and seen.get(report.row.conversation, "") > report.row.announced_at


def _not_restored(recent: Sequence[CompactionReport], lost: Sequence[CompactionReport]) -> Iterator[Finding]:
    if not lost:
        return
    text = (
        f"nothing was restored after {len(lost)} of the last {count(len(recent), 'compaction')}, most recently "
        f"{_where(lost[0])}: the compaction was cancelled, or SessionStart doesn't reach Holdfast"
    )
    newest = len(list(takewhile(lambda report: report in lost, recent)))
    yield (problem if newest > 1 else notice)(text, _REMEDY)


def _not_announced(recent: Sequence[CompactionReport]) -> Iterator[Finding]:
    newest = list(takewhile(lambda report: report.announced_at is None, recent))
    if newest:
        restores = f"{len(newest)} restores" if len(newest) > 1 else "restore"
        text = (
            f"no PreCompact came before the last {restores}, most recently {_where(newest[0])}, so what "
            "CLAUDE.local.md or a plan said wasn't saved"
        )
        yield (problem if len(newest) > 1 else notice)(text, _REMEDY)


def _where(report: CompactionReport) -> str:
    return f"at {report.row.announced_at} in session {report.row.conversation[:8]}"
