"""A snapshot is claimed once, by the session whose compaction it announced."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.compaction import deliveries, snapshots
from holdfast.sessions.workspace import Workspace
from tests.handmade import ME, OTHER, THIRD, together, workflow, workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An empty project at ten o'clock."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    return workspace(tmp_path)


def leave(project: Workspace, session: str, name: str = "Release") -> str:
    return snapshots.leave(project, session, "auto", [snapshots.of(workflow(project.root, name))])


def test_a_seal_says_what_the_session_had(project: Workspace) -> None:
    """Key, title, phase and the digest of the content: which workflows, at which generation."""
    release = workflow(project.root, raw=b'{"x": 1}')
    id_ = snapshots.leave(project, ME, "manual", [snapshots.of(release)])

    (snapshot,) = snapshots.recent(project, 5)
    assert (snapshot.id, snapshot.session, snapshot.why) == (id_, ME, "manual")
    assert (snapshot.sealed_at, snapshot.claimed_by, snapshot.claimed_at) == ("2026-03-01T10:00:00.000000Z", None, None)
    (sealed,) = snapshot.workflows
    assert sealed.key == release.key
    assert (sealed.title, sealed.phase) == ("Release", "2/5 Build")
    assert sealed.digest == hashlib.sha256(b'{"x": 1}').hexdigest()


def test_a_known_session_claims_its_own_seal_once(project: Workspace) -> None:
    """The snapshot is spent by the restore: a second SessionStart finds none."""
    id_ = leave(project, ME)

    snapshot = snapshots.claim(project, ME, known=True)

    assert snapshot is not None
    assert snapshot.id == id_
    assert snapshots.claim(project, ME, known=True) is None
    (spent,) = snapshots.recent(project, 5)
    assert (spent.claimed_by, spent.claimed_at) == (ME, "2026-03-01T10:00:00.000000Z")


def test_a_known_session_never_claims_anothers(project: Workspace) -> None:
    """Survival, step 2: a known session claims only its own seals."""
    leave(project, OTHER)

    assert snapshots.claim(project, ME, known=True) is None
    assert snapshots.recent(project, 5)[0].claimed_by is None


def test_a_session_nobody_saw_claims_the_only_open_seal(project: Workspace) -> None:
    """Survival, step 2: a compaction may change the session's id."""
    leave(project, OTHER)

    snapshot = snapshots.claim(project, ME, known=False)

    assert snapshot is not None
    assert (snapshot.session, snapshots.recent(project, 5)[0].claimed_by) == (OTHER, ME)


def test_between_seals_of_two_sessions_nobody_guesses(project: Workspace) -> None:
    """With two compactions announced, which of them a new id came from is anybody's guess."""
    leave(project, OTHER)
    leave(project, THIRD)

    assert snapshots.claim(project, ME, known=False) is None
    assert [snapshot.claimed_by for snapshot in snapshots.recent(project, 5)] == [None, None]


def test_all_open_seals_of_a_session_are_spent_together(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """PreCompact may fire without a compaction; what it left counts no more once a later one was restored from."""
    leave(project, ME, "Old")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:05:00Z")
    newest = leave(project, ME, "New")

    snapshot = snapshots.claim(project, ME, known=True)

    assert snapshot is not None
    assert snapshot.id == newest
    assert all(each.claimed_by == ME for each in snapshots.recent(project, 5))


@pytest.mark.parametrize(("now", "claimed"), [("2026-03-02T10:00:00Z", True), ("2026-03-02T10:00:01Z", False)])
def test_a_seal_of_another_session_lasts_a_day(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, now: str, claimed: bool
) -> None:
    """A compaction that has not come within a day never came; a new session inherits nothing from it."""
    leave(project, OTHER)
    monkeypatch.setenv("HOLDFAST_NOW", now)

    assert (snapshots.claim(project, ME, known=False) is not None) is claimed


def test_a_sessions_own_seal_lasts_longer(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """PreCompact may have fired hours or days before the summary is swapped in."""
    leave(project, ME)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-05T10:00:00Z")

    assert snapshots.claim(project, ME, known=True) is not None


TRAIL, REFUSED, WORKFLOW = "trail", "refused", "workflow"


def give(project: Workspace, what: str) -> None:
    """Note that the session got its trail or a workflow, or was refused one."""
    release = workflow(project.root)
    if what == REFUSED:
        deliveries.refuse(project, ME, event="SessionStart", workflows=[release])
    else:
        key = release.key if what == WORKFLOW else ""
        deliveries.begin(project, ME, event="SessionStart", workflow=key, title="", mark="", units=1, transcript="")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ((), ""),
        ((WORKFLOW,), ""),
        ((TRAIL,), "only the session's own trail was given"),
        ((REFUSED, TRAIL), "it could belong to another live session"),
        ((REFUSED, WORKFLOW), ""),
    ],
)
def test_a_claimed_snapshot_knows_why_nothing_was_restored(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], reason: str
) -> None:
    """Only what the session got before its next compaction counts."""
    leave(project, ME)
    (unclaimed,) = snapshots.recent(project, 5)
    snapshots.claim(project, ME, known=True)
    (claimed,) = snapshots.recent(project, 5)
    for what in given:
        give(project, what)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:05:00Z")
    leave(project, ME)
    give(project, WORKFLOW)

    assert snapshots.not_restored(project, claimed) == reason
    assert snapshots.not_restored(project, unclaimed) == ""
    assert snapshots.not_restored(project, replace(claimed, why="none")) == ""


def test_seals_of_another_worktree_are_not_claimed(tmp_path: Path) -> None:
    """Survival, step 2: of the same worktree."""
    for name in ("a", "b"):
        (tmp_path / name / ".claude").mkdir(parents=True)
        (tmp_path / name / ".claude" / "holdfast.toml").write_text('[project]\nid = "shared"\n')
    here, there = (Workspace.open(tmp_path / name, trusted=True) for name in ("a", "b"))
    leave(there, OTHER)

    assert snapshots.claim(here, ME, known=False) is None
    assert snapshots.claim(there, ME, known=False) is not None


def test_of_many_claimants_at_once_one_wins(project: Workspace) -> None:
    """Claims are atomic: three processes restore from one snapshot, and only one of them gets it."""
    leave(project, "gone")
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed="snapshot = seals.claim(project, me, known=False); print(snapshot.session if snapshot else '-')",
        before="from holdfast.sessions.compaction import snapshots as seals",
    )

    assert sorted(said) == ["-", "-", "gone"]


def test_a_claimant_that_looked_before_another_took_gets_nothing(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each claim is one conditional update: what was open a moment ago may be taken by now."""
    leave(project, OTHER)
    seen_open = snapshots._unclaimed(project, None)
    assert snapshots.claim(project, ME, known=False) is not None

    monkeypatch.setattr(snapshots, "_unclaimed", lambda project, session: seen_open)
    assert snapshots.claim(project, THIRD, known=False) is None
    assert snapshots.recent(project, 5)[0].claimed_by == ME


def test_a_seal_that_was_claimed_stands_in_nobodys_way(project: Workspace) -> None:
    """The compaction of the one session is over; the other's is the only one that can be meant."""
    leave(project, OTHER)
    snapshots.claim(project, OTHER, known=True)
    leave(project, THIRD)

    snapshot = snapshots.claim(project, ME, known=False)
    assert snapshot is not None
    assert snapshot.session == THIRD


def test_the_oldest_seals_go(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred seals of a project are kept, whichever session left them."""
    monkeypatch.setattr(snapshots, "KEPT", 3)
    for minute in range(5):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T10:{minute:02d}:00Z")
        leave(project, f"session-{minute}")

    assert [snapshot.session for snapshot in snapshots.recent(project, 9)] == ["session-4", "session-3", "session-2"]


def test_the_last_seals_are_counted_from_the_newest(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """`holdfast status` asks for the last few."""
    for minute in range(3):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T10:{minute:02d}:00Z")
        leave(project, f"session-{minute}")

    assert [snapshot.session for snapshot in snapshots.recent(project, 2)] == ["session-2", "session-1"]


def test_a_seal_may_name_no_workflow(project: Workspace) -> None:
    """A compaction of a session that had none leaves its trace, so that nobody takes it for another's."""
    snapshots.leave(project, ME, "auto", [])

    snapshot = snapshots.claim(project, ME, known=True)
    assert snapshot is not None
    assert snapshot.workflows == ()
