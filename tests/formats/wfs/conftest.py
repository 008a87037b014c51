"""A session of the wfs format with a task in it, and a starting point for the tests of all checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.formats.wfs import store, transitions
from holdfast.formats.wfs.task import New
from tests.checks.conftest import elsewhere, root

if TYPE_CHECKING:
    from holdfast.formats.wfs.session import Session
    from holdfast.sessions.workspace import Workspace

__all__ = ["elsewhere", "root", "session"]


@pytest.fixture
def session(project: Workspace) -> Session:
    """An active session with one task."""
    made = store.create(project, "User Auth")
    transitions.add(project, made, New("Implement login"))
    return made
