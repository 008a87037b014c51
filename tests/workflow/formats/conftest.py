"""A session of the wfs format with a task in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.workflow.formats import wfs_moves, wfs_store
from holdfast.workflow.formats.wfs_task import New

if TYPE_CHECKING:
    from holdfast.project import Project
    from holdfast.workflow.formats.wfs_session import Session


@pytest.fixture
def session(project: Project) -> Session:
    """An active session with one task."""
    made = wfs_store.create(project, "User Auth")
    wfs_moves.add(project, made, New("Implement login"))
    return made
