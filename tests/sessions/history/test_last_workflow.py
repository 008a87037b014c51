"""Which workflow ended last, with a file or from the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.errors import LedgerError
from holdfast.sessions.history import archive, last_workflow
from holdfast.sessions.workspace import Workspace
from tests.handmade import workflow

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Workflow


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return Workspace.open(tmp_path)


def over(project: Workspace, name: str, at: str = "", *, archived: bool = True) -> Workflow:
    """Return a workflow that was completed at a time of one day."""
    made = workflow(project.root, name, status="completed", updated_at=f"2026-03-01T{at or '09:00:00'}.000000Z")
    if archived:
        archive.keep(project, made, f"2026-03-01T{at}.000000Z")
    return made


def test_the_one_completed_last(project: Workspace) -> None:
    """Whether its file is still there or not."""
    assert last_workflow.last(project, ()) is None
    old, new = over(project, "Old", "10:00:00"), over(project, "New", "11:00:00")
    newest = over(project, "Newest", "12:00:00", archived=False)

    last = last_workflow.last(project, (old, workflow(project.root, "Now")))
    assert last is not None
    assert last.key == new.key
    assert last_workflow.last(project, (old, newest)) is newest


def test_when_its_file_was_touched_says_nothing(project: Workspace) -> None:
    """A copy or a checkout touches a file; the archive knows when it was completed."""
    old, new = over(project, "Old", "10:00:00"), over(project, "New", "11:00:00")
    project.ledger.run("UPDATE archive SET completed_at = '2026-03-01T12:00:00.000000Z' WHERE path = ?", old.place)

    assert last_workflow.last(project, (old, new)) is old


def test_one_that_goes_on_has_not_ended(project: Workspace) -> None:
    """What its file says counts, and not the archive."""
    over(project, "Book", "10:00:00")

    assert last_workflow.last(project, (workflow(project.root, "Book"),)) is None


def test_another_worktrees_is_not_this_ones(project: Workspace) -> None:
    """The archive is shared by all checkouts of a repository."""
    over(project, "Book", "10:00:00")
    project.ledger.run("UPDATE archive SET worktree = '/elsewhere'")

    assert last_workflow.last(project, ()) is None


def test_without_a_ledger_files_count(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything works from the files."""

    def refuse(_: Workspace) -> list[archive.Archived]:
        raise LedgerError("locked")

    monkeypatch.setattr(archive, "kept", refuse)
    first, second = over(project, "A", "10:00:00", archived=False), over(project, "B", "11:00:00", archived=False)

    assert last_workflow.last(project, (first, second)) is second
