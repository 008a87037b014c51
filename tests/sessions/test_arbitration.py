"""What a compacted session gets back: survival's five steps in their order, and nothing foreign ever."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from holdfast import clock
from holdfast.sessions import arbitration, compactions, conversations, owners
from tests.handmade import ME, OTHER, together, workflow, workspace

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.arbitration import Verdict
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

pytestmark = pytest.mark.usefixtures("noon")


def compacted(project: Workspace, *workflows: Workflow, session: str = ME, known: bool = True) -> Verdict:
    """Judge a session that comes out of a compaction, as the restoring handler does."""
    conversations.note_event(project, session)
    return arbitration.judge(project, session, workflows, known=known)


def test_a_failed_workflow_is_restored(project: Workspace) -> None:
    """I000-9: a failed workflow can be retried, so it is unfinished."""
    failed = workflow(project.root, status="failed", phase_status="failed")

    assert compacted(project, failed).full == failed


def test_compaction_of_a_replaced_workflow_decides_nothing(project: Workspace) -> None:
    """A path may be used again: the key of a workflow holds which one it is."""
    gone = workflow(project.root, "Release", id="first")
    again = workflow(project.root, "Release", id="second")
    conversations.note_event(project, OTHER)
    compactions.announce(project, ME, "auto", [compactions.of(gone)])

    assert compacted(project, again).full is None


def test_of_sessions_that_restore_at_once_at_most_one_gets_a_workflow(project: Workspace) -> None:
    """Three sessions nobody saw before come out of compactions at the same moment, with one announced among them."""
    mine = workflow(project.root)
    compactions.announce(project, "gone", "auto", [compactions.of(mine)])
    project.close()
    before = "from holdfast.sessions import arbitration, conversations\nfrom tests.handmade import workflow"

    said = together(
        project.root,
        ["one", "two", "three"],
        deed="conversations.note_event(project, me)\n"
        "verdict = arbitration.judge(project, me, [workflow(project.root)], known=False)\n"
        "print(verdict.full.title if verdict.full else '-')",
        before=before,
    )

    assert sorted(said) == ["-", "-", "Release"]


def test_released_workflow_returns_to_the_session_that_saved_it(project: Workspace) -> None:
    """Nobody claimed it between, so it is still that session's, another one beside it or not."""
    mine, nobodys = workflow(project.root, "Mine"), workflow(project.root, "Nobody's")
    owners.own(project, mine, ME)
    compactions.announce(project, ME, "auto", [compactions.of(mine), compactions.of(nobodys)])
    owners.release(project, mine)
    conversations.note_event(project, OTHER)

    verdict = compacted(project, nobodys, mine)

    assert (verdict.full, verdict.others, verdict.step) == (mine, (), 2)


def checkout(root: Path, branch: str) -> None:
    """Check a branch out, as far as Holdfast looks."""
    (root / ".git").mkdir(exist_ok=True)
    (root / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")


def test_a_compaction_notes_in_which_branch_a_session_works_on_what_it_has(tmp_path: Path) -> None:
    """Who comes after it in that branch goes on with it."""
    checkout(tmp_path, "main")
    project = workspace(tmp_path)
    mine = workflow(tmp_path, "Mine")
    owners.own(project, mine, ME)
    conversations.note_event(project, ME)
    checkout(tmp_path, "feature")

    arbitration.settle(project, ME, [mine])

    assert owners.branch(project, mine) == "feature"


def test_a_workflow_of_no_known_branch_comes_no_later_for_it(tmp_path: Path) -> None:
    """Nobody has worked on it yet, so only the time decides."""
    checkout(tmp_path, "main")
    project = workspace(tmp_path)
    old = workflow(tmp_path, "Old", updated_at=clock.stamp(clock.now() - timedelta(hours=2)))
    new = workflow(tmp_path, "New", updated_at=clock.stamp(clock.now() - timedelta(hours=1)))
    owners.own(project, old, OTHER)
    conversations.note_event(project, OTHER)
    conversations.end(project, OTHER)

    assert compacted(project, old, new).full == new
