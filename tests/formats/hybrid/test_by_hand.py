"""After a state file was changed by hand, the next event updates its Markdown view."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from holdfast import log
from holdfast.formats.hybrid import adapter as hybrid
from holdfast.sessions.ownership import owners
from holdfast.workflow.model import Start
from tests.handmade import ME

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace

VIEW = ".claude/workflow_state_system.md"


def edited(project: Workspace) -> Path:
    """Start a workflow, rename its second phase by hand, and return the view."""
    workflow = hybrid.start(project, Start(title="Tool", phases=(("Build", "a"), ("Test", "b"))))
    owners.own(project, workflow, ME)
    workflow.path.write_bytes(workflow.raw.replace(b'"Test"', b'"Verify"'))
    view = project.root / VIEW
    past = workflow.path.stat().st_mtime - 10
    os.utime(view, (past, past))
    return view


@pytest.mark.parametrize("by", ["event", "write"])
def test_the_view_follows_a_hand_edit(project: Workspace, by: str) -> None:
    """R000-24: at the next event that reads the changed file, be it that of the very edit."""
    view = edited(project)
    assert "Test" in view.read_text()

    if by == "event":
        assert hybrid.candidates(project, ()).workflows
    else:
        (workflow,) = hybrid.find(project).workflows
        assert hybrid.written(project, workflow, workflow.path, why="Edit") == workflow
    assert "- [ ] Phase 1: Verify" in view.read_text()
    assert "Test" not in view.read_text()


def test_nobodys_workflow_is_not_written(project: Workspace) -> None:
    """As in a fresh clone: an event of a session that doesn't own it leaves its view alone."""
    view = edited(project)
    (workflow,) = hybrid.find(project).workflows
    owners.release(project, workflow)
    assert hybrid.candidates(project, ()).workflows
    assert "- [ ] Phase 1: Test" in view.read_text()


def test_a_view_that_says_it_all_is_not_rewritten(project: Workspace) -> None:
    """Unchanged content is not rewritten, though the state's file is newer."""
    view = edited(project)
    hybrid.candidates(project, ())
    past = view.stat().st_mtime - 100
    os.utime(view, (past, past))
    before = (view.stat().st_ino, view.stat().st_mtime_ns)

    hybrid.candidates(project, ())

    assert (view.stat().st_ino, view.stat().st_mtime_ns) == before


def test_another_file_never_becomes_a_view(project: Workspace) -> None:
    """Somebody else's file stays as it is."""
    view = edited(project)
    view.write_text("# My own notes\n")
    os.utime(view, (1, 1))
    hybrid.candidates(project, ())
    assert view.read_text() == "# My own notes\n"
    assert not log.tail(1), "nobody has to hear of it at every event"


def test_a_move_that_changes_nothing_draws_a_view_that_was_left_behind(project: Workspace) -> None:
    """As by a writer that was killed after the state; a view that says it all is not rewritten."""
    hybrid.start(project, Start(title="Tool", phases=(("Build", "a"), ("Test", "b"))))
    hybrid.move(project, "phase_0", "active")
    view = project.root / VIEW
    good = view.read_bytes()
    view.write_text("# Workflow Status: Tool\n\nStatus: pending | Current Phase: none\n")

    assert not hybrid.move(project, "phase_0", "active")[1]
    assert view.read_bytes() == good

    before = (view.stat().st_ino, view.stat().st_mtime_ns)
    assert not hybrid.move(project, "phase_0", "active")[1]
    assert (view.stat().st_ino, view.stat().st_mtime_ns) == before
