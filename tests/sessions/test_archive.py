"""Completed workflows, kept after their files are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.sessions import archive, selection
from holdfast.workflow import verbs
from holdfast.workflow.model import Start
from tests import handmade

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


def test_a_workflow_comes_back_as_it_was(project: Workspace) -> None:
    """Every field, the file's bytes included; only what the file said, nothing of another one."""
    start = Start("Ship", "custom", (("A", "x"), ("B", "")), None, ("@docs/a.md",), ("care",), {"k": [1, {"ü": None}]})
    over = verbs.done(project, hybrid.start(project, start), everything=True, note="all done")
    (kept,) = archive.entries(project)
    assert kept.workflow == over
    assert (kept.worktree, kept.workflow.finished) == (str(project.root), True)
    assert kept.workflow.raw == (project.root / ".claude/state/workflow.json").read_bytes()


def test_what_a_later_version_adds_is_left_out(project: Workspace) -> None:
    """An unknown field in the ledger is no reason to lose the row."""
    archive.keep(project, handmade.workflow(project.root, status="completed"), "2026-03-01T10:00:00.000000Z")
    project.ledger.run('UPDATE workflows SET fields = REPLACE(fields, \'{"format"\', \'{"later": 1, "format"\')')
    assert [each.workflow.title for each in archive.entries(project)] == ["Release"]


def test_archived_workflow_is_found_by_id_title_and_prefix(project: Workspace) -> None:
    """As a live workflow is; the latest of several runs of one name (workflows are repeatable)."""
    for minute in (1, 2):
        workflow = handmade.workflow(project.root, "Release", id=f"state-release-{minute}", status="completed")
        archive.keep(project, workflow, f"2026-03-01T10:0{minute}:00.000000Z")
    for wanted in ("Release", "Rel", "state-release", "state-release-2"):
        found = selection.archived(project, wanted)
        assert found is not None
        assert (found.workflow.id, found.completed_at) == ("state-release-2", "2026-03-01T10:02:00.000000Z")
    assert selection.archived(project, "nope") is None


def over(project: Workspace, name: str, at: str = "", *, archived: bool = True) -> Workflow:
    """Return a workflow that was completed at a time of one day."""
    made = handmade.workflow(
        project.root, name, status="completed", updated_at=f"2026-03-01T{at or '09:00:00'}.000000Z"
    )
    if archived:
        archive.keep(project, made, f"2026-03-01T{at}.000000Z")
    return made


def test_last_completed_workflow_is_found_with_or_without_its_file(project: Workspace) -> None:
    """Whether its file is still there or not."""
    assert archive.last(project, ()) is None
    old, new = over(project, "Old", "10:00:00"), over(project, "New", "11:00:00")
    newest = over(project, "Newest", "12:00:00", archived=False)

    last = archive.last(project, (old, handmade.workflow(project.root, "Now")))
    assert last is not None
    assert last.key == new.key
    assert archive.last(project, (old, newest)) is newest


def test_archive_of_another_worktree_is_left_alone(project: Workspace) -> None:
    """All checkouts of a repository share one; the same workflow may go on in this checkout."""
    book = over(project, "Book", "10:00:00")
    project.ledger.run("UPDATE workflows SET worktree = '/elsewhere'")

    assert archive.last(project, ()) is None
    archive.drop(project, book)
    assert [each.worktree for each in archive.entries(project)] == ["/elsewhere"]
