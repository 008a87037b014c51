"""A workspace is the open project it was made of, seen with its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.project import OpenProject
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("first", ["project", "workspace"])
def test_both_have_one_ledger_whichever_opens_it(first: str, tmp_path: Path) -> None:
    """An event opens its ledger once, and who closes the one has closed the other."""
    project = OpenProject.open(tmp_path)
    workspace = Workspace.of(project)

    opened = project.ledger if first == "project" else workspace.ledger

    assert project.ledger is workspace.ledger is opened
    assert Workspace.of(workspace) is workspace
    project.close()
