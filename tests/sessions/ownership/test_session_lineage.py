"""A session whose id changed keeps its agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import agent_status, lifecycle, notices
from holdfast.sessions.ownership import sessions
from holdfast.sessions.ownership.session_lineage import inherit
from holdfast.sessions.workspace import Workspace
from tests.handmade import ME, OTHER, THIRD

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.agents.lifecycle import State

CALL, RUN = "toolu_1", "a23b8482eb527498b"


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """A project in which a session has launched an agent in the background."""
    project = Workspace.open(tmp_path)
    lifecycle.launched(project, ME, CALL, "builder", "hybrid:x#1", "phase_0", description="Build it", prompt="Do.")
    lifecycle.reported(project, ME, RUN, "builder", "running")
    lifecycle.named(project, ME, CALL, RUN, "/tasks/a.output")
    return project


def fated(project: Workspace, session: str) -> list[tuple[str, str]]:
    return [(each.agent_id, each.fate) for each in agent_status.of_session(project, session)]


def due(project: Workspace, session: str) -> list[str]:
    return [each.outcome for each in agent_status.due(project, session)]


def test_the_agents_go_along(project: Workspace) -> None:
    """With all that is known of them; the old id has none any more."""
    inherit(project, ME, OTHER)

    assert (fated(project, ME), fated(project, OTHER)) == ([], [(RUN, "running")])
    (only,) = agent_status.of_session(project, OTHER)
    assert (only.phase, only.description, only.output) == ("phase_0", "Build it", "/tasks/a.output")
    assert [each.prompt for each in agent_status.running(project, OTHER)] == ["Do."]


@pytest.mark.parametrize("session", [ME, OTHER])
def test_its_end_counts_under_either_id(project: Workspace, session: str) -> None:
    """The client may send what such an agent does under the id it was started with."""
    inherit(project, ME, OTHER)
    lifecycle.reported(project, session, RUN, "builder", "stopped", "Done.")

    assert fated(project, OTHER) == [(RUN, "finished")]
    assert due(project, OTHER) == ["completed"]
    notices.notified(project, session, RUN, CALL, "completed", "Done.")
    assert fated(project, OTHER) == [(RUN, "consumed")]


def test_an_id_may_change_again(project: Workspace) -> None:
    """And what comes under the first of three ids still counts for the last."""
    inherit(project, ME, OTHER)
    inherit(project, OTHER, THIRD)
    lifecycle.reported(project, ME, RUN, "builder", "stopped", "Done.")

    assert fated(project, THIRD) == [(RUN, "finished")]


def test_a_session_that_gets_its_old_id_back_is_itself(project: Workspace) -> None:
    """What it launches from then on is nobody else's."""
    inherit(project, ME, OTHER)
    inherit(project, OTHER, ME)
    lifecycle.reported(project, ME, RUN, "builder", "stopped", "Done.")
    lifecycle.reported(project, OTHER, "later", "builder", "running")

    assert fated(project, ME) == [(RUN, "finished")]
    assert fated(project, OTHER) == []
    inherit(project, ME, ME)
    assert fated(project, ME) == [(RUN, "finished")]


def test_what_the_old_id_launches_afterwards_stays_its_own(project: Workspace) -> None:
    """A fork goes on beside the session it was made from."""
    inherit(project, ME, OTHER)
    lifecycle.launched(project, ME, "toolu_2", "builder", None, None)
    lifecycle.named(project, ME, "toolu_2", "later")
    lifecycle.reported(project, ME, "later", "builder", "stopped", "Done.")

    assert fated(project, ME) == [("later", "finished")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("running", "stopped", "finished"),
        ("stopped", "running", "finished"),
        ("failed", "stopped", "failed"),
        ("stopped", "failed", "failed"),
    ],
)
def test_of_two_notes_of_one_run_the_stronger_counts(project: Workspace, old: State, new: State, expected: str) -> None:
    """What it did between the change and its being noticed came under the new id."""
    lifecycle.reported(project, ME, RUN, "builder", old, old)
    lifecycle.reported(project, OTHER, RUN, "builder", new, new)

    inherit(project, ME, OTHER)

    (only,) = agent_status.of_session(project, OTHER)
    assert only.fate == expected
    assert only.words == {"finished": "stopped", "failed": "failed"}[expected]


@pytest.mark.parametrize(("old", "new"), [(True, False), (False, True)])
def test_a_result_used_under_either_id_is_used(project: Workspace, old: bool, new: bool) -> None:
    """And no note that it once ran makes it run again."""
    lifecycle.reported(project, ME, RUN, "builder", "stopped" if old else "running", "Done.", used=old)
    lifecycle.reported(project, OTHER, RUN, "builder", "stopped", "Done.", used=new)

    inherit(project, ME, OTHER)

    assert fated(project, OTHER) == [(RUN, "consumed")]


def test_a_launch_that_was_noted_twice_keeps_what_it_was_for(project: Workspace) -> None:
    """Its PostToolUse came under the new id, where nobody knew the call."""
    lifecycle.launched(project, ME, "toolu_2", "tester", "hybrid:x#1", "phase_1")
    lifecycle.launched(project, OTHER, "toolu_2", "tester", None, None)
    lifecycle.named(project, OTHER, "toolu_2", "run2", "/tasks/b.output")

    inherit(project, ME, OTHER)

    found = {each.agent_id: each for each in agent_status.of_session(project, OTHER)}
    assert (found["run2"].phase, found["run2"].output) == ("phase_1", "/tasks/b.output")


def test_a_verdict_goes_along(project: Workspace) -> None:
    """What was judged under the old id is not judged again."""
    lifecycle.reported(project, ME, RUN, "builder", "stopped", "Done.")
    lifecycle.judged(project, ME, CALL, "completed")

    inherit(project, ME, OTHER)

    assert due(project, OTHER) == []


@pytest.mark.parametrize(("client", "fate"), [("gone", "failed"), ("runs", "running"), ("unknown", "running")])
@pytest.mark.parametrize("said", [True, False])
def test_agents_ended_with_the_process_they_ran_in(project: Workspace, client: str, fate: str, *, said: bool) -> None:
    """A client that died took them along, whether it said goodbye or not: nobody is told that they run already."""
    above_every_pid_max = 2**22 + 1
    process = {"gone": str(above_every_pid_max), "runs": str(os.getpid())}.get(client)
    sessions.note_event(project, ME, process)
    if said:
        sessions.ended(project, ME)
    inherit(project, ME, OTHER)
    assert fated(project, OTHER) == [(RUN, fate)]


def test_a_notice_under_the_old_id_says_where_the_output_lies(project: Workspace) -> None:
    """And opens again what was given up meanwhile."""
    inherit(project, ME, OTHER)
    project.ledger.run("UPDATE launches SET verdict = 'abandoned'")
    notices.notified(project, ME, RUN, CALL, "completed", "Done.", "/tasks/b.output")

    (only,) = agent_status.of_session(project, OTHER)
    assert only.output == "/tasks/b.output"
    assert due(project, OTHER) == ["completed"]


def test_of_two_that_went_on_from_a_session_the_later_gets_what_it_launched_since(project: Workspace) -> None:
    """A session that was forked goes on, and its id changes later."""
    inherit(project, ME, OTHER)
    lifecycle.launched(project, ME, "toolu_2", "builder", None, None)
    lifecycle.named(project, ME, "toolu_2", "later")
    inherit(project, ME, THIRD)
    lifecycle.reported(project, ME, "later", "builder", "stopped", "Done.")
    assert fated(project, THIRD) == [("later", "finished")]


def test_a_call_that_both_ids_know_keeps_the_name_of_its_run(project: Workspace) -> None:
    """Whichever of them the client named it under."""
    lifecycle.launched(project, OTHER, CALL, "builder", None, None)
    lifecycle.launched(project, ME, "toolu_2", "builder", "hybrid:x#1", "phase_1")
    lifecycle.launched(project, OTHER, "toolu_2", "builder", None, None)
    lifecycle.named(project, OTHER, "toolu_2", "b1", "/tasks/b.output")

    inherit(project, ME, OTHER)

    found = [agent_status.find(project, OTHER, call) for call in (CALL, "toolu_2")]
    assert [each and (each.agent_id, each.phase) for each in found] == [(RUN, "phase_0"), ("b1", "phase_1")]


def test_where_a_result_lies_goes_along_though_both_ids_know_of_it(project: Workspace) -> None:
    """The later note of the call and of the run says less."""
    lifecycle.reported(project, ME, RUN, "builder", "stopped", "Done.", transcript="/agents/a.jsonl")
    lifecycle.launched(project, OTHER, CALL, "builder", None, None)
    lifecycle.named(project, OTHER, CALL, RUN)
    lifecycle.reported(project, OTHER, RUN, "builder", "stopped", "Done.")

    inherit(project, ME, OTHER)

    (only,) = agent_status.of_session(project, OTHER)
    assert (only.output, only.transcript) == ("/tasks/a.output", "/agents/a.jsonl")
