"""A project with a workflow of three phases, for the handlers' tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.hybrid.commands import functions

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

PHASES = [
    ("Create calculator module", "builder"),
    ("Write and run tests", "tester"),
    ("Document the module", "writer"),
]


class Tool:
    """A hybrid workflow of three phases in a project, and what its file says."""

    def __init__(self, project: HoldfastProject) -> None:
        """Start the workflow."""
        self.project = project
        self.id = functions.create_workflow_state("Build the tool", PHASES, root=project.root)

    @property
    def state(self) -> dict[str, Any]:
        """What the state file says now."""
        state: dict[str, Any] = json.loads((self.project.root / ".claude" / "state" / "workflow.json").read_bytes())
        return state

    @property
    def statuses(self) -> list[str]:
        """The phases' statuses now."""
        return [phase["status"] for phase in self.state["phases"]]


@pytest.fixture
def tool(holdfast_project: Callable[..., HoldfastProject]) -> Tool:
    """A project with the workflow, which nobody owns, and no session seen yet."""
    return Tool(holdfast_project({}))
