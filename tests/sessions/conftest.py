"""Projects with a client, and what the tests of the neutral model use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.workspace import Workspace
from tests.handmade import workspace
from tests.workflow.conftest import put, seed, soon_after

if TYPE_CHECKING:
    from pathlib import Path


__all__ = ["put", "seed", "soon_after"]


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    (tmp_path / "project").mkdir()
    return workspace(tmp_path / "project")


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be an hour after the workflows made by hand last changed."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T12:00:00Z")


@pytest.fixture
def worktrees(tmp_path: Path) -> tuple[Workspace, Workspace]:
    """Two checkouts of one project."""
    for name in ("a", "b"):
        (tmp_path / name / ".claude").mkdir(parents=True)
        (tmp_path / name / ".claude" / "holdfast.toml").write_text('[project]\nid = "shared"\n')
    here, there = (Workspace.open(tmp_path / name, trusted=True) for name in ("a", "b"))
    return here, there
