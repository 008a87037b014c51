"""Whose an unmarked compaction is: the main conversation's or an agent's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions import agents, conversations
from tests.agentry import CALL, RUN, launch, report
from tests.handmade import ME

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace


def test_a_foreground_agent_beside_one_in_the_background_is_seen(project: Workspace) -> None:
    """The one that runs in the background does not hide the one that is waited for."""
    launch(project, "background")
    agents.name_run(project, ME, "background", "run1")
    report(project, "running", run="run1")
    launch(project, "foreground")
    assert not agents.compacts_itself(project, ME, {})

    report(project, "running", run="run2")
    assert agents.compacts_itself(project, ME, {})


def test_an_unmarked_compaction_is_an_agents_while_the_main_thread_cannot_have_one(project: Workspace) -> None:
    """While it waits for a foreground agent, or rests after a Stop with an agent in the background."""
    conversations.note_event(project, ME)
    launch(project)
    report(project, "running")
    assert agents.compacts_itself(project, ME, {})

    agents.name_run(project, ME, CALL, RUN)
    assert not agents.compacts_itself(project, ME, {}), (
        "it works on beside the agent, so it counts as the main thread's"
    )
    conversations.record_stop(project, ME)
    assert agents.compacts_itself(project, ME, {})
    report(project, "stopped")
    assert not agents.compacts_itself(project, ME, {})


def test_unmarked_compaction_belongs_to_the_only_running_agent(project: Workspace) -> None:
    """The one agent's that runs, waited for or not; nobody's where several run."""
    conversations.note_event(project, ME)
    assert agents.compacted_agent(project, ME) is None
    launch(project, "c1")
    report(project, "running", run="foreground")
    assert agents.compacted_agent(project, ME) == "foreground"
    agents.name_run(project, ME, "c1", "foreground")  # so it runs in the background
    assert agents.compacted_agent(project, ME) == "foreground"

    agents.record_launch(project, ME, "c2", "tester", "", "")
    agents.record_report(project, ME, "second", "running", agent_type="tester")
    assert agents.compacted_agent(project, ME) is None
    report(project, "stopped", "Done.", run="foreground")
    assert agents.compacted_agent(project, ME) == "second"
