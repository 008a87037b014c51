"""The Markdown view of a hybrid workflow beside files and links that are in its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from holdfast import log
from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.workflow.model import Start, Workflow
from tests.hybrid_moves import move

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put

STATE = ".claude/state/workflow.json"
VIEW = ".claude/workflow_state_system.md"
PHASES = (("Plan it", "planner"), ("Build it", "coder"), ("Test it", "tester"))


@pytest.fixture
def workflow(project: Workspace) -> Workflow:
    """A workflow of three phases, none started."""
    return hybrid.start(project, Start(title="Ship", phases=PHASES))


def moved(project: Workspace, phase: str, status: Any, **more: Any) -> Workflow:
    return move(project, phase, status, **more)


def test_a_foreign_view_is_not_overwritten(project: Workspace, put: Put) -> None:
    """A file at the view's path that is no view stays, the state is written, and the log says so."""
    view = put(VIEW, "# My own notes\n")
    hybrid.start(project, Start(title="Ship", phases=PHASES))
    assert view.read_text() == "# My own notes\n"
    assert (project.root / STATE).exists()
    assert "isn't a view that Holdfast wrote" in log.tail(1)[0]


def test_a_view_that_cannot_be_written_costs_no_state(project: Workspace) -> None:
    """A folder in the view's place is logged, the move stands."""
    (project.root / VIEW).mkdir(parents=True)
    hybrid.start(project, Start(title="Ship", phases=PHASES))
    assert moved(project, "phase_0", "active").position == "1/3"
    assert "workflow's view wasn't written" in log.tail(1)[0]


def test_a_view_behind_a_link_is_in_the_way(project: Workspace, workflow: Workflow, tmp_path: Path) -> None:
    """It reads as ours, but is not written: whoever looks for the reason hears it."""
    view = project.root / VIEW
    assert list(hybrid.foreign(project)) == []
    view.rename(tmp_path / "view.md")
    view.symlink_to(tmp_path / "view.md")

    (found,) = hybrid.foreign(project)

    assert (found.path, found.in_the_way) == (view, True)
    assert "symbolic link" in found.meaning
