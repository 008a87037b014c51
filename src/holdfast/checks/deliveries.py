"""Check that PreCompact announced the last compactions, and that the workflows came back after them."""

from __future__ import annotations

import os
from itertools import takewhile
from typing import TYPE_CHECKING

from holdfast.checks import folders, notice, ok, problem
from holdfast.sessions import compactions, conversations
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.checks import Finding
    from holdfast.sessions.compactions import CompactionReport
    from holdfast.sessions.workspace import Workspace

LAST = 5  # compactions to look at
_REMEDY = "holdfast doctor --fire"


def findings(project: Workspace) -> Iterator[Finding]:
    """Look at how the last compactions with a workflow ended, those aside that haven't come."""
    closed = folders.blocked(project.ledger_file)
    if not closed and not os.path.lexists(project.ledger_file):
        yield ok("no compaction here yet")
        return
    if closed or project.ledger.problem:
        yield notice("the ledger can't be used, so compactions can't be checked", "holdfast doctor ledger")
        return
    came = [each for each in compactions.recent(project) if each.workflows and each.ending != "open"][:LAST]
    lost = [each for each in came if each.ending == "lost"]
    unannounced = list(takewhile(lambda report: report.announced_at is None, came))
    if lost:
        text = f"nothing was restored after {len(lost)} of the last {count(len(came), 'compaction')}, most recently"
        yield _finding(came, lost, f"{text} {_where(project, lost[0])}")
    if unannounced:
        text = (
            f"no PreCompact came before {_where(project, unannounced[0])}, so CLAUDE.local.md and plans weren't saved"
        )
        yield _finding(came, unannounced, text)
    if not (lost or unannounced):
        restored = f"the workflow was sent after each of the last {count(len(came), 'compaction')}"
        yield ok(restored if came else "no compaction with a workflow here yet")


def _finding(came: Sequence[CompactionReport], wrong: Sequence[CompactionReport], text: str) -> Finding:
    """Return a notice if it went wrong once, a problem if it was so the last two times."""
    return (problem if len(came) > 1 and all(each in wrong for each in came[:2]) else notice)(text, _REMEDY)


def _where(project: Workspace, report: CompactionReport) -> str:
    return f"the one at {report.at} in session {conversations.session_id(project, report.row.conversation)[:8]}"
