"""After a hand edit of the state file, an event never overwrites a view that is not its own to write."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast import log
from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.sessions import owners
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


def test_nobodys_workflow_is_not_written(project: Workspace) -> None:
    """As in a fresh clone: an event of a session that doesn't own it leaves its view alone."""
    view = edited(project)
    (workflow,) = hybrid.find(project).workflows
    owners.release(project, workflow)
    assert hybrid.candidates(project, ()).workflows
    assert "- [ ] Phase 1: Test" in view.read_text()


def test_another_file_never_becomes_a_view(project: Workspace) -> None:
    """Somebody else's file stays as it is."""
    view = edited(project)
    view.write_text("# My own notes\n")
    os.utime(view, (1, 1))
    hybrid.candidates(project, ())
    assert view.read_text() == "# My own notes\n"
    assert not log.tail(1), "nobody has to hear of it at every event"


def test_a_broken_file_is_left_to_a_command(project: Workspace) -> None:
    """Even if all phases of its last content are completed, and the workflow isn't yet."""
    workflow = hybrid.start(project, Start(title="Tool", phases=(("Build", "a"), ("Test", "b"))))
    owners.own(project, workflow, ME)
    head, *phases = workflow.raw.partition(b'"phases"')
    project.keep(workflow.path, head + b"".join(phases).replace(b'"pending"', b'"completed"'), why="by hand")
    workflow.path.write_bytes(b"{ broken")
    (found,) = hybrid.candidates(project, ()).workflows
    assert (found.recovered, found.completed) == (True, 2)
    assert workflow.path.read_bytes() == b"{ broken"
