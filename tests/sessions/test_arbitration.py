"""What a compacted session gets back: survival's five steps in their order, and nothing foreign ever."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import clock
from holdfast.sessions import arbitration, compactions, contents, conversations, owners
from tests.handmade import ME, OTHER, together, workflow, workspace
from tests.tables import each_row

if TYPE_CHECKING:
    from holdfast.sessions.arbitration import Verdict
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An empty project, an hour after the workflows made by hand last changed."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:00:00Z")
    return workspace(tmp_path)


def compacted(project: Workspace, *workflows: Workflow, session: str = ME, known: bool = True) -> Verdict:
    """Judge a session that comes out of a compaction, as the restoring handler does."""
    conversations.note_event(project, session)
    return arbitration.judge(project, session, workflows, known=known)


@pytest.mark.parametrize(("days", "restored"), [(6.9, True), (7.1, False)])
def test_a_stale_workflow_of_nobody_is_not_restored(project: Workspace, days: float, restored: bool) -> None:
    """Newest file wins is how a 90-day-old workflow got into a new session; 7 days after its change it is a line."""
    from holdfast import clock

    changed = clock.stamp(clock.from_mtime(clock.now().timestamp() - days * 86_400))
    verdict = compacted(project, old := workflow(project.root, updated_at=changed))

    assert (verdict.full is not None) is restored
    assert verdict.others == (() if restored else (old,))
    assert verdict.step == (5 if restored else 0)


def test_freshness_counts_from_the_last_change_of_content(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """I001-10: a copy or checkout touches the modification time of a file, not what it says."""
    touched = workflow(project.root, updated_at="2026-03-20T11:00:00.000000Z")
    contents.keep(project, touched.path, touched.raw, why="test")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-20T12:00:00Z")

    assert compacted(project, touched).full is None


def test_a_failed_workflow_is_restored(project: Workspace) -> None:
    """I000-9: a failed workflow can be retried, so it is unfinished."""
    failed = workflow(project.root, status="failed", phase_status="failed")

    assert compacted(project, failed).full == failed


def test_what_a_plan_says_ranks_below_what_an_agent_keeps(project: Workspace) -> None:
    """I001-9: of a workflow derived from a plan and one that agents made the latter is restored, even if older."""
    planned = workflow(project.root, "Planned", origin="plan", updated_at="2026-03-01T11:59:00.000000Z")
    made = workflow(project.root, "Made", updated_at="2026-03-01T08:00:00.000000Z")

    verdict = compacted(project, planned, made)

    assert (verdict.full, verdict.others) == (made, (planned,))


def test_order_of_files_doesnt_decide_between_equal_times(project: Workspace) -> None:
    """Lesson of `same bytes`: the order in which files are found decides nothing."""
    a, b = workflow(project.root, "A"), workflow(project.root, "B")

    assert compacted(project, a, b).full == compacted(project, b, a).full


def test_saved_workflow_goes_before_a_newer_one(project: Workspace) -> None:
    """What the session had at PreCompact is what it gets back, not what happened to change last."""
    had = workflow(project.root, "Had", updated_at="2026-03-01T08:00:00.000000Z")
    newer = workflow(project.root, "Newer")
    compactions.announce(project, ME, "auto", [compactions.of(had)])

    verdict = compacted(project, newer, had)

    assert (verdict.full, verdict.others, verdict.step) == (had, (newer,), 2)


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


@each_row("sealed", [False, True])
@each_row("branch", ["feature", "main", "third"])
def test_branch_decides_between_workflows_of_ended_sessions(tmp_path: Path, branch: str, sealed: bool) -> None:
    """Step 4: the newest is not the one that belongs to what is checked out; where that tells nothing, the newest."""
    checkout(tmp_path, "feature")
    project = workspace(tmp_path)
    old = workflow(tmp_path, "Old", updated_at=clock.stamp(clock.now() - timedelta(hours=2)))
    new = workflow(tmp_path, "New", updated_at=clock.stamp(clock.now() - timedelta(hours=1)))
    owners.own(project, old, OTHER)
    checkout(tmp_path, "main")
    owners.own(project, new, OTHER)
    conversations.note_event(project, OTHER)
    conversations.end(project, OTHER)
    assert (owners.branch(project, old), owners.branch(project, new)) == ("feature", "main")

    checkout(tmp_path, branch)
    if sealed:
        compactions.announce(project, ME, "auto", [compactions.of(new), compactions.of(old)])
    verdict = compacted(project, new, old)

    wanted = old if branch == "feature" else new
    assert verdict.full == wanted
    assert verdict.others == ((new,) if wanted is old else (old,))
    assert verdict.step == (2 if sealed else 4 if wanted is old else 5)


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


WRITTEN = Path(__file__).parent / "transcripts"
PARENT, FORK, STRANGER = (
    str(WRITTEN / f"{name}.jsonl") for name in ("worked-2.1.329-tasks", "fork-2.1.329", "clear-2.1.329")
)


@pytest.mark.parametrize("why", ["strangers", "no transcript", "owner's unknown", "goes on", "runs"])
def test_without_common_entries_or_beside_its_owner_nothing_is_inherited(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """A fork beside the session it came from takes nothing from it; another session's transcript proves nothing."""
    mine = workflow(project.root)
    conversations.note_event(
        project,
        OTHER,
        process=str(os.getpid()) if why == "runs" else None,
        transcript="" if why == "owner's unknown" else PARENT,
    )
    owners.own(project, mine, OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:01:00Z")
    own = {"strangers": STRANGER, "no transcript": ""}.get(why, FORK)
    conversations.note_event(project, ME, process="1" if why == "runs" else None, transcript=own)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:02:00Z")
    if why == "goes on":
        conversations.note_event(project, OTHER)

    verdict = compacted(project, mine)

    assert (verdict.full, verdict.refused, verdict.step) == (None, (), 0)
    assert conversations.live_others(project, ME) == {OTHER}


@pytest.mark.parametrize("owned", [True, False])
def test_what_is_paused_is_never_restored_in_full(project: Workspace, owned: bool) -> None:
    """However new it is, and whoever has it: it waits until somebody resumes it."""
    paused = workflow(project.root, "Paused", paused=True)
    older = workflow(project.root, "Older", updated_at="2026-03-01T08:00:00.000000Z")
    if owned:
        owners.own(project, paused, ME)

    assert (compacted(project, paused).full, compacted(project, paused).others) == (None, (paused,))
    verdict = compacted(project, paused, older)
    assert (verdict.full, verdict.others) == (older, (paused,))


def test_what_a_session_is_about_to_lose_becomes_its_own(project: Workspace) -> None:
    """The newest that nobody has, if it has none; the others it seals too, and they stay nobody's."""
    older = workflow(project.root, "Older", updated_at="2026-03-01T08:00:00.000000Z")
    newer = workflow(project.root, "Newer")
    conversations.note_event(project, ME)

    assert arbitration.settle(project, ME, [older, newer]) == [newer, older]
    assert [owners.owner(project, each) for each in (newer, older)] == [ME, None]

    paused = workflow(project.root, "Paused", paused=True)
    assert arbitration.settle(project, ME, [paused]) == []
    assert owners.owner(project, paused) is None
