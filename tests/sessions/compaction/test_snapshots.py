"""A snapshot is claimed once, by the session whose compaction it announced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.compaction import deliveries, snapshots
from holdfast.sessions.workspace import Workspace
from tests.handmade import ME, OTHER, together, workflow, workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An empty project at ten o'clock."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    return workspace(tmp_path)


def leave(project: Workspace, session: str, name: str = "Release") -> str:
    return snapshots.leave(project, session, "auto", [snapshots.of(workflow(project.root, name))])


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


def test_snapshot_of_another_worktree_isnt_claimed(tmp_path: Path) -> None:
    """Survival, step 2: of the same worktree."""
    for name in ("a", "b"):
        (tmp_path / name / ".claude").mkdir(parents=True)
        (tmp_path / name / ".claude" / "holdfast.toml").write_text('[project]\nid = "shared"\n')
    here, there = (Workspace.open(tmp_path / name, trusted=True) for name in ("a", "b"))
    leave(there, OTHER)

    assert snapshots.claim(here, ME, known=False) is None
    assert snapshots.claim(there, ME, known=False) is not None


def test_only_one_of_several_processes_claims_a_snapshot(project: Workspace) -> None:
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


def test_oldest_snapshots_are_pruned(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred seals of a project are kept, whichever session left them."""
    monkeypatch.setattr(snapshots, "KEPT", 3)
    for minute in range(5):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T10:{minute:02d}:00Z")
        leave(project, f"session-{minute}")

    assert [snapshot.session for snapshot in snapshots.recent(project, 9)] == ["session-4", "session-3", "session-2"]
