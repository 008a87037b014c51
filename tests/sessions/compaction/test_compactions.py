"""Whose an unmarked compaction is: the main conversation's or an agent's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import lifecycle
from holdfast.sessions.compaction import compactions
from holdfast.sessions.ownership import sessions
from tests.agentry import CALL, RUN, launch, report
from tests.handmade import ME, OTHER, workspace

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return workspace(tmp_path)


def test_the_main_thread_waits_while_a_foreground_agent_runs(project: Workspace) -> None:
    """A compaction that comes then is the agent's own, though older clients do not mark it."""
    assert not compactions.in_foreground(project, ME)
    launch(project)
    assert not compactions.in_foreground(project, ME)
    report(project, "running")
    assert compactions.in_foreground(project, ME)
    assert not compactions.in_foreground(project, OTHER)

    report(project, "stopped")
    assert not compactions.in_foreground(project, ME)


def test_an_agent_in_the_background_keeps_nobody_waiting(project: Workspace) -> None:
    """Once the launch has returned with the run's name, the main thread goes on beside it."""
    launch(project)
    report(project, "running")
    lifecycle.named(project, ME, CALL, RUN)

    assert not compactions.in_foreground(project, ME)


def test_a_foreground_agent_beside_one_in_the_background_is_seen(project: Workspace) -> None:
    """The one that runs in the background does not hide the one that is waited for."""
    launch(project, "background")
    lifecycle.named(project, ME, "background", "run1")
    report(project, "running", run="run1")
    launch(project, "foreground")
    assert not compactions.in_foreground(project, ME)

    report(project, "running", run="run2")
    assert compactions.in_foreground(project, ME)


def test_an_agent_in_the_background_is_not_taken_for_one_that_was_denied(project: Workspace) -> None:
    """Of two calls of one batch the first was denied and the second runs in the background."""
    launch(project, "denied")
    launch(project, "background")
    report(project, "running")
    lifecycle.named(project, ME, "background", RUN)

    assert not compactions.in_foreground(project, ME)


def test_after_a_launch_was_given_up_nobody_waits(project: Workspace) -> None:
    """An interrupted agent fires no SubagentStop; at the next prompt it is known to be gone."""
    launch(project)
    report(project, "running")
    lifecycle.abandon_open(project, ME)

    assert not compactions.in_foreground(project, ME)


def test_an_agent_that_was_interrupted_earlier_keeps_nobody_waiting(project: Workspace) -> None:
    """It fired no end; a launch after it that was denied is not it."""
    launch(project, "interrupted")
    report(project, "running")
    lifecycle.abandon_open(project, ME)
    launch(project, "denied")

    assert not compactions.in_foreground(project, ME)


def test_an_unmarked_compaction_is_an_agents_while_the_main_thread_cannot_have_one(project: Workspace) -> None:
    """While it waits for a foreground agent, or rests after a Stop with an agent in the background."""
    sessions.note_event(project, ME)
    launch(project)
    report(project, "running")
    assert compactions.is_an_agents(project, ME, {})

    lifecycle.named(project, ME, CALL, RUN)
    assert not compactions.is_an_agents(project, ME, {}), (
        "it works on beside the agent, so it counts as the main thread's"
    )
    sessions.rest(project, ME)
    assert compactions.is_an_agents(project, ME, {})
    report(project, "stopped")
    assert not compactions.is_an_agents(project, ME, {})


def test_a_client_that_marks_agents_marks_their_compaction(project: Workspace) -> None:
    """There an unmarked one is the main thread's, whatever runs."""
    launch(project)
    report(project, "running")

    assert not compactions.is_an_agents(project, ME, {"CLAUDE_PID": "42"})


def test_whose_an_unmarked_compaction_is(project: Workspace) -> None:
    """The one agent's that runs, waited for or not; nobody's where several run."""
    sessions.note_event(project, ME)
    assert compactions.whose(project, ME) is None
    launch(project, "c1")
    report(project, "running", run="foreground")
    assert compactions.whose(project, ME) == "foreground"
    lifecycle.named(project, ME, "c1", "foreground")  # so it runs in the background
    assert compactions.whose(project, ME) == "foreground"

    lifecycle.launched(project, ME, "c2", "tester", None, None)
    lifecycle.reported(project, ME, "second", "tester", "running")
    assert compactions.whose(project, ME) is None
    report(project, "stopped", "Done.", run="foreground")
    assert compactions.whose(project, ME) == "second"
