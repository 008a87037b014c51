"""What was last taken over from memory files and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.memory.rows import Import
from holdfast.sessions import imports
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_found_by_the_extract_it_was_saved_from(project: Workspace) -> None:
    """So that a file removed by hand, with its memory file unchanged, can be told from one never made."""
    imports.remember(project, project.root / "gone.json", "name", "d1", {})
    assert imports.saved_to(project, "name", "d1") == project.root / "gone.json"
    assert imports.saved_to(project, "name", "d2") is None
    assert imports.saved_to(project, "other", "d1") is None


def test_worktrees_are_kept_apart(project: Workspace, tmp_path: Path) -> None:
    """What was completed in one checkout is not completed in another."""
    (tmp_path / "other").mkdir()
    other = Workspace.open(tmp_path / "other")
    imports.bury(project, "name", "d1")
    assert not imports.is_buried(other, "name", "d1")


def test_forgotten_import_stays_buried_without_its_name(project: Workspace) -> None:
    """What was forgotten is not saved again, and the name stands nowhere; the other workflow's stays."""
    imports.bury(project, "zeisig", "d1")
    imports.bury(project, "other", "d1")
    assert imports.forget(project, project.worktree, "x.json", "zeisig", dry=True) == 1
    assert names(project) == {"zeisig", "other"}
    assert imports.forget(project, project.worktree, "x.json", "zeisig") == 1
    assert names(project) & {"zeisig", "other"} == {"other"}
    assert imports.is_buried(project, "zeisig", "d1") and imports.is_buried(project, "other", "d1")
    assert not imports.is_buried(project, "zeisig", "d2")

    imports.bury(project, "zeisig", "d1")
    assert [imports.forget(project, project.worktree, "x.json", "zeisig") for _ in range(2)] == [1, 0]
    assert project.ledger.table(Import).count() == 2


def test_forgotten_import_into_a_file_that_is_gone_is_buried(project: Workspace) -> None:
    """That there was one is what says that it is over; one whose file is there needs nothing."""
    (project.root / "there.json").touch()
    for name in ("there", "gone"):
        imports.remember(project, project.root / f"{name}.json", name, "d1", {"title": name})
        assert imports.forget(project, project.worktree, f"{name}.json", name) == 1
    assert imports.is_buried(project, "gone", "d1")
    assert not imports.is_buried(project, "there", "d1")
    assert "gone" not in str(project.ledger.table(Import).where())


def test_an_import_into_the_same_file_of_another_worktree_stays(worktrees: tuple[Workspace, Workspace]) -> None:
    """Both are in one ledger."""
    here, there = worktrees
    for each in worktrees:
        imports.remember(each, each.root / "x.json", "zeisig", "d1", {"title": "Zeisig"})
    assert imports.forget(here, here.worktree, "x.json", "zeisig") == 1
    assert imports.last(there, there.root / "x.json")


def names(project: Workspace) -> set[str]:
    return {each.name for each in project.ledger.table(Import).where()}
