"""Agents in flight are those that were launched and have not reported their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import launches, running_agents, runs
from holdfast.sessions.workspace import Workspace
from tests.agentry import begin, launch, report
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return Workspace.open(tmp_path)


def test_agents_in_flight_are_those_that_were_named_and_have_not_ended(project: Workspace) -> None:
    """What the guidance says must not be started again."""
    for number in range(4):
        launch(project, f"c{number}")
    for number in range(3):
        launches.named(project, ME, f"c{number}", f"run{number}")
    report(project, "running", run="run0")
    report(project, "stopped", run="run2")

    assert [each.tool_use_id for each in running_agents.running(project, ME)] == ["c0", "c1"]
    assert running_agents.running(project, OTHER) == []


def test_a_run_that_has_stopped_is_not_taken_for_the_agent_that_is_waited_for(project: Workspace) -> None:
    """Whose run the client has not named; of those that may be meant, one runs."""
    launch(project)
    report(project, "stopped", run="over")
    report(project, "running", run="it")

    assert [each.agent_id for each in running_agents.in_flight(project, "hybrid:x#1", bool)] == ["it"]


def test_of_several_that_are_waited_for_nobody_is_told_which_one_runs(project: Workspace) -> None:
    """One of two has begun: it may belong to either launch. Another session's launch is no reason to doubt."""
    launch(project, "c1")
    launch(project, "c2")
    report(project, "running", run="run1")
    launch(project, "c3", session=OTHER)
    report(project, "running", run="run3", session=OTHER)

    found = running_agents.in_flight(project, "hybrid:x#1", bool)
    assert sorted((each.session, each.agent_id or "") for each in found) == [(ME, ""), (ME, ""), (OTHER, "run3")]


def test_a_run_that_began_before_a_launch_is_not_taken_for_its_own(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that was interrupted tells no end; the one that is waited for has yet to begin."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    report(project, "running", run="interrupted")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:01:00Z")
    launch(project)
    assert [each.agent_id for each in running_agents.in_flight(project, "hybrid:x#1", bool)] == [None]

    report(project, "running", run="it")
    assert [each.agent_id for each in running_agents.in_flight(project, "hybrid:x#1", bool)] == ["it"]


def test_agents_for_no_workflow_count_with_those_of_sessions_that_are_asked_for(project: Workspace) -> None:
    """A workflow's own always do, another one's never; who is waited for is no background agent."""
    launch(project, "own")
    launch(project, "free", phase=None)
    launch(project, "theirs", phase=None, session=OTHER)
    launches.launched(project, ME, "another", "builder", "hybrid:y#1", "phase_0")
    launches.named(project, ME, "own", "run")

    def found(*asked: str) -> list[tuple[str, str | None, bool]]:
        flights = running_agents.in_flight(project, "hybrid:x#1", lambda session: session in asked)
        return sorted(((each.session, each.phase, each.background) for each in flights), key=str)

    own, free = (ME, "phase_0", True), (ME, None, False)
    assert found() == [own]
    assert found(ME) == [own, free]
    assert found(OTHER) == [own, (OTHER, None, False)]


def test_a_run_is_taken_for_the_launch_of_its_kind_that_has_none(project: Workspace) -> None:
    """One in the background has its own; another kind's is another launch's."""
    launch(project, "c1")
    launches.named(project, ME, "c1", "run1")
    launch(project, "c2")
    launches.launched(project, ME, "c3", "tester", "hybrid:x#1", "phase_1")
    report(project, "running", run="run1")
    runs.reported(project, ME, "run3", "tester", "running")

    def found() -> list[str | None]:
        return [each.agent_id for each in running_agents.in_flight(project, "hybrid:x#1", bool)]

    assert found() == ["run1", None, "run3"]
    report(project, "running", run="run2")
    assert found() == ["run1", "run2", "run3"]


def test_a_phase_is_worked_on_until_its_agent_ends(project: Workspace) -> None:
    """Whether its verdict is written by then or not; an agent for no phase works on none."""
    begin(project, "c1", "run1")
    launch(project, "c2", "phase_1")
    launch(project, "c3", None)
    report(project, "running", run="run1")
    assert [each.phase for each in running_agents.at_work(project, ME)] == ["phase_0", "phase_1"]
    assert running_agents.at_work(project, OTHER) == []

    report(project, "stopped", run="run1")
    assert [each.phase for each in running_agents.at_work(project, ME)] == ["phase_1"]
    launches.judged(project, ME, "c2", "failed")
    assert running_agents.at_work(project, ME) == []
