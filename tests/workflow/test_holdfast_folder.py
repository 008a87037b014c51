"""The file that holds the guidance's overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast import log
from holdfast.formats.compaction.format import FORMAT as compaction
from holdfast.workflow.guidance import write_sidecar
from holdfast.workflow.model import Start, Workflow

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace


@pytest.fixture
def workflow(project: Workspace) -> Workflow:
    """Any workflow."""
    return compaction.start(project, Start(title="../QA Loop"))


@pytest.mark.parametrize("place", [".claude", ".claude/holdfast", ".claude/holdfast/compaction-qa-loop.md"])
def test_links_are_not_followed(project: Workspace, workflow: Workflow, tmp_path: Path, place: str) -> None:
    """Nothing is written where a link leads, and the log says why there is no sidecar."""
    outside = tmp_path / "outside"
    outside.mkdir()
    link = project.root / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside if not place.endswith(".md") else outside / "x.md")
    assert write_sidecar(project.root, workflow, "one") is None
    assert list(outside.iterdir()) == []
    assert "symbolic link" in log.tail(1)[0]
