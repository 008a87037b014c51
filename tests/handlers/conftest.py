"""What the tests of handlers share: a project with a workflow of three phases."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.dispatch.calls import Answer, Caller
from holdfast.formats.hybrid import functions

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.dispatch.client import Event
    from holdfast.plugins.loader import Call
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


@pytest.fixture(autouse=True)
def events_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shipped handler gets the event itself, no copy. One that changes it has a fault and no answer."""
    plain = Caller.call

    def watched(self: Caller, call: Call, event: Event) -> Answer:
        before = copy.deepcopy(event)
        answer = plain(self, call, event)
        return answer if event == before else Answer(call.label, fault="it changed its event")

    monkeypatch.setattr(Caller, "call", watched)


@pytest.fixture
def tool(holdfast_project: Callable[..., HoldfastProject]) -> Tool:
    """A project with the workflow, which nobody owns, and no session seen yet."""
    return Tool(holdfast_project({}))
