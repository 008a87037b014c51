"""Agents in flight are those that were launched and have not reported their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.project import Project
from holdfast.sessions.agents import launches, running_agents
from tests.agentry import launch, report
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project.open(tmp_path)


def test_agents_in_flight_are_those_that_were_named_and_have_not_ended(project: Project) -> None:
    """What the guidance says must not be started again."""
    for number in range(4):
        launch(project, f"c{number}")
    for number in range(3):
        launches.named(project, ME, f"c{number}", f"run{number}")
    report(project, "running", run="run0")
    report(project, "stopped", run="run2")

    assert [each.tool_use_id for each in running_agents.running(project, ME)] == ["c0", "c1"]
    assert running_agents.running(project, OTHER) == []


def test_a_run_that_has_stopped_is_not_taken_for_the_agent_that_is_waited_for(project: Project) -> None:
    """Whose run the client has not named; of those that may be meant, one runs."""
    launch(project)
    report(project, "stopped", run="over")
    report(project, "running", run="it")

    assert [each.agent_id for each in running_agents.in_flight(project, "hybrid:x#1", bool)] == ["it"]
