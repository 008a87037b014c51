"""Completed workflows, kept after their files are gone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast.formats.compaction import adapter as compaction
from holdfast.formats.hybrid import adapter as hybrid
from holdfast.sessions.history import archive
from holdfast.sessions.ownership import selection
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.model import Start
from tests import handmade

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """A project with a ledger of its own."""
    (tmp_path / "project").mkdir()
    return Workspace.open(tmp_path / "project")


def test_a_workflow_comes_back_as_it_was(project: Workspace) -> None:
    """Every field, the file's bytes included; only what the file said, nothing of another one."""
    start = Start("Ship", "custom", (("A", "x"), ("B", "")), None, ("@docs/a.md",), ("care",), {"k": [1, {"ü": None}]})
    over = hybrid.done(project, hybrid.start(project, start), everything=True, note="all done")
    (kept,) = archive.kept(project)
    assert kept.workflow == over
    assert (kept.worktree, kept.workflow.finished) == (str(project.root), True)
    assert kept.workflow.raw == (project.root / ".claude/state/workflow.json").read_bytes()


def test_a_compaction_workflow_is_there_after_its_file_is_gone(project: Workspace) -> None:
    """I001-3: completing removes the files; the archive is the option that keeps them."""
    over = compaction.done(project, compaction.start(project, Start(title="Pages", total=1)))
    assert not over.path.exists()
    (kept,) = archive.kept(project)
    assert kept.workflow == over
    assert b'"Pages"' in kept.workflow.raw


def test_the_latest_comes_first_and_the_oldest_go(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old entries make room; one that is kept again does not appear twice."""
    monkeypatch.setattr(archive, "KEPT", 3)
    for number in range(5):
        workflow = handmade.workflow(project.root, f"W{number}", status="completed")
        for _ in range(2):
            archive.keep(project, workflow, f"2026-03-01T10:0{number}:00.000000Z")
    assert [each.workflow.title for each in archive.kept(project)] == ["W4", "W3", "W2"]


def test_what_a_later_version_adds_is_left_out(project: Workspace) -> None:
    """An unknown field in the ledger is no reason to lose the row."""
    archive.keep(project, handmade.workflow(project.root, status="completed"), "2026-03-01T10:00:00.000000Z")
    project.ledger.run('UPDATE archive SET said = REPLACE(said, \'{"format"\', \'{"later": 1, "format"\')')
    assert [each.workflow.title for each in archive.kept(project)] == ["Release"]


def test_a_row_is_read_as_every_version_wrote_it(project: Workspace) -> None:
    """Its keys stay as they are, whatever the code calls them; how tasks are counted is for their format to say."""
    paused = handmade.workflow(project.root, format="wfs", status="pending", paused=True)
    archive.keep(project, paused, "2026-03-01T10:00:00.000000Z")
    (row,) = project.ledger.rows("SELECT said FROM archive")
    assert set(json.loads(row["said"])) == {
        *("format", "id", "title", "kind", "status", "phases", "current", "total", "phase", "phase_status", "reading"),
        *("reminders", "context", "created_at", "updated_at", "origin", "plan_at", "warnings", "recovered", "beside"),
        *("resting", "unit", "due", "needs"),
    }
    (kept,) = archive.kept(project)
    assert (kept.workflow.paused, kept.workflow.in_order, kept.workflow.spread) == (True, False, True)
    assert kept.workflow.progress_text.endswith("tasks completed")


def test_it_is_found_by_id_title_and_beginning(project: Workspace) -> None:
    """As a live workflow is; the latest of several runs of one name (workflows are repeatable)."""
    for minute in (1, 2):
        workflow = handmade.workflow(project.root, "Release", id=f"state-release-{minute}", status="completed")
        archive.keep(project, workflow, f"2026-03-01T10:0{minute}:00.000000Z")
    for wanted in ("Release", "Rel", "state-release", "state-release-2"):
        found = selection.archived(project, wanted)
        assert found is not None
        assert (found.workflow.id, found.completed_at) == ("state-release-2", "2026-03-01T10:02:00.000000Z")
    assert selection.archived(project, "nope") is None
