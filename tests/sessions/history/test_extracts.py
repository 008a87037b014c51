"""What was last taken over from memory files and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.history import extracts
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """A project with a ledger of its own."""
    (tmp_path / "project").mkdir()
    return Workspace.open(tmp_path / "project")


def test_a_file_is_found_by_the_extract_it_was_saved_from(project: Workspace) -> None:
    """So that a file removed by hand, with its memory file unchanged, can be told from one never made."""
    extracts.remember(project, project.root / "gone.json", "name", "d1", {})
    assert extracts.saved_to(project, "name", "d1") == project.root / "gone.json"
    assert extracts.saved_to(project, "name", "d2") is None
    assert extracts.saved_to(project, "other", "d1") is None


def test_worktrees_are_kept_apart(project: Workspace, tmp_path: Path) -> None:
    """What was completed in one checkout is not completed in another."""
    (tmp_path / "other").mkdir()
    other = Workspace.open(tmp_path / "other")
    extracts.bury(project, "name", "d1")
    assert not extracts.is_buried(other, "name", "d1")


def test_forgotten_import_stays_buried_without_its_name(project: Workspace) -> None:
    """What was forgotten is not saved again, and the name stands nowhere."""
    extracts.bury(project, "zeisig", "d1")
    extracts.bury(project, "other", "d1")
    mine = "project = ? AND name = ?", (project.key, "zeisig")
    assert extracts.hide_tombstones(project, *mine, dry=True) == 1
    assert {row["name"] for row in project.ledger.rows("SELECT name FROM tombstones")} == {"zeisig", "other"}
    assert extracts.hide_tombstones(project, *mine) == 1
    assert "zeisig" not in str(project.ledger.rows("SELECT * FROM tombstones"))
    assert extracts.is_buried(project, "zeisig", "d1") and extracts.is_buried(project, "other", "d1")
    assert not extracts.is_buried(project, "zeisig", "d2")

    extracts.bury(project, "zeisig", "d1")
    assert [extracts.hide_tombstones(project, "project = ?", (project.key,)) for _ in range(2)] == [2, 0]
    assert len(project.ledger.rows("SELECT * FROM tombstones")) == 2
    assert extracts.is_buried(project, "other", "d1")


def test_an_extract_whose_file_was_removed_leaves_a_tombstone(project: Workspace) -> None:
    """That there was one is what says that it is over; one whose file is there needs none."""
    (project.root / "there.json").touch()
    extracts.remember(project, project.root / "there.json", "there", "d1", {})
    extracts.remember(project, project.root / "gone.json", "gone", "d1", {})
    extracts.bury_gone(project, "project = ?", (project.key,))
    assert extracts.is_buried(project, "gone", "d1")
    assert not extracts.is_buried(project, "there", "d1")
    assert "gone" not in str(project.ledger.rows("SELECT name FROM tombstones"))
