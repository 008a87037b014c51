"""Of each agent it is known whether it runs, ended unused, or was consumed by the main conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import agent_status, lifecycle, notices
from holdfast.sessions.workspace import Workspace
from tests.agentry import CALL, RUN, begin, launch, report
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.agents.lifecycle import State


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return Workspace.open(tmp_path)


def fate(project: Workspace) -> str:
    (only,) = agent_status.of_session(project, ME)
    assert agent_status.waiting(project, ME) == ([] if only.fate == "consumed" else [only])
    return only.fate


def test_an_agent_that_is_sent_on_runs_again_and_brings_a_new_result(project: Workspace) -> None:
    """The same task may notify more than once (client fact §3.4): its first use says nothing of the second result."""
    begin(project)
    report(project, "stopped", "First.")
    notices.notified(project, ME, RUN, CALL, "completed", "First.")
    report(project, "running")
    assert fate(project) == "running"
    assert [each.agent_id for each in agent_status.running(project, ME)] == [RUN]
    assert [each.agent_id for each in agent_status.in_flight(project, "hybrid:x#1", bool)] == [RUN]

    report(project, "stopped", "Second.")
    (ended,) = agent_status.of_session(project, ME)
    assert (ended.fate, ended.words) == ("finished", "Second.")
    assert agent_status.running(project, ME) == []

    notices.notified(project, ME, RUN, CALL, "completed", "Second.")
    assert fate(project) == "consumed"


@pytest.mark.parametrize("state", ["failed", "missing", "stopped", "completed"])
def test_a_failure_is_one_whether_it_was_used_or_not(project: Workspace, state: State) -> None:
    """And is none any more while the agent runs again."""
    failed = state in ("failed", "missing")
    begin(project)
    report(project, state, "Words.")
    assert [each.failed for each in agent_status.of_session(project, ME)] == [failed]
    report(project, state, "Words.", used=True)
    assert [(each.fate, each.failed) for each in agent_status.of_session(project, ME)] == [("consumed", failed)]
    report(project, "running")
    assert [(each.fate, each.failed, each.ended_at) for each in agent_status.of_session(project, ME)] == [
        ("running", False, None)
    ]


def test_another_checkouts_agents_are_not_this_ones(tmp_path: Path) -> None:
    """Neither what ended unused there, nor what runs; a workflow of the same path is another one."""
    for name in ("here", "there"):
        (tmp_path / name / ".claude").mkdir(parents=True)
        (tmp_path / name / ".claude" / "holdfast.toml").write_text('[project]\nid = "shared"\n')
    here, there = (Workspace.open(tmp_path / name, trusted=True) for name in ("here", "there"))
    begin(there)
    found = [len(agent_status.in_flight(each, "hybrid:x#1", bool)) for each in (here, there)]
    report(there, "stopped", "Done.")
    ended = [len(agent_status.unused(each, "hybrid:x#1", bool)) for each in (here, there)]
    assert (found, ended) == ([0, 1], [0, 1])


def test_run_isnt_assigned_to_one_of_two_open_launches(project: Workspace) -> None:
    """One of two has begun: it may belong to either launch. Another session's launch is no reason to doubt."""
    launch(project, "c1")
    launch(project, "c2")
    report(project, "running", run="run1")
    launch(project, "c3", session=OTHER)
    report(project, "running", run="run3", session=OTHER)

    found = agent_status.in_flight(project, "hybrid:x#1", bool)
    assert sorted((each.session, each.agent_id) for each in found) == [(ME, ""), (ME, ""), (OTHER, "run3")]


def test_a_run_that_began_before_a_launch_is_not_taken_for_its_own(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that was interrupted tells no end; the one that is waited for has yet to begin."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    report(project, "running", run="interrupted")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:01:00Z")
    launch(project)
    assert [each.agent_id for each in agent_status.in_flight(project, "hybrid:x#1", bool)] == [""]

    report(project, "running", run="it")
    assert [each.agent_id for each in agent_status.in_flight(project, "hybrid:x#1", bool)] == ["it"]


def test_agents_for_no_workflow_count_with_those_of_sessions_that_are_asked_for(project: Workspace) -> None:
    """A workflow's own always do, another one's never; who is waited for is no background agent."""
    launch(project, "own")
    launch(project, "free", phase=None)
    launch(project, "theirs", phase=None, session=OTHER)
    lifecycle.launched(project, ME, "another", "builder", "hybrid:y#1", "phase_0")
    lifecycle.named(project, ME, "own", "run")

    def found(*asked: str) -> list[tuple[str, str | None, bool]]:
        flights = agent_status.in_flight(project, "hybrid:x#1", lambda session: session in asked)
        return sorted(((each.session, each.phase, each.background) for each in flights), key=str)

    own, free = (ME, "phase_0", True), (ME, None, False)
    assert found() == [own]
    assert found(ME) == [own, free]
    assert found(OTHER) == [own, (OTHER, None, False)]


STATES = (None, "running", "missing", "stopped", "completed", "failed")
ENDINGS = [
    (state, verdict, consumed, resumed)
    for state in STATES
    for verdict in (None, agent_status.UNWRITTEN, "completed", "failed", "abandoned")
    for consumed in (None, "2026-01-01T00:00:00Z")
    for resumed in (0, 1)
]


def fill(project: Workspace, rows: list[tuple[str | None, str | None, str | None, int]]) -> None:
    """Write agents as the ledger has them: state of the run (None without one), verdict, use, whether resumed."""
    ours, at = (project.key, ME), "2026-01-01T00:00:00Z"
    with project.ledger.transaction():
        for number, (state, verdict, consumed, resumed) in enumerate(rows):
            project.ledger.run(
                "INSERT INTO launches (project, session, tool_use_id, agent_id, worktree, host, client, agent_type,"
                " launched_at, verdict) VALUES (?, ?, ?, ?, '', '', '', 'builder', ?, ?)",
                *(*ours, f"toolu_{number:04}", f"a{number:04}", at, verdict),
            )
            if state is not None:
                project.ledger.run(
                    "INSERT INTO runs (project, session, agent_id, worktree, host, client, agent_type, state, words,"
                    " started_at, changed_at, consumed_at, resumed) VALUES (?, ?, ?, '', '', '', 'builder', ?, '', ?,"
                    " ?, ?, ?)",
                    *(*ours, f"a{number:04}", state, at, at, consumed, resumed),
                )


def test_indexed_queries_find_the_same_agents_as_a_full_scan(project: Workspace) -> None:
    """Whatever a run's state, a launch's verdict and the use of its result: an index finds what a look at all finds."""
    fill(project, ENDINGS)
    everyone = agent_status.of_session(project, ME)
    assert len(everyone) == len(ENDINGS)

    assert agent_status.waiting(project, ME) == [each for each in everyone if each.fate != "consumed"]
    left = [each for each in everyone if each.fate in ("running", "finished") or each.state == "missing"]
    assert agent_status.left_over(project, ME) == left
    due = [each for each in everyone if each.verdict in (None, agent_status.UNWRITTEN)]
    due = [each for each in due if each.state not in (None, "running")]
    assert agent_status.due(project, ME) == due
    lifecycle.still_there(project, ME, ())
    gone = [each.state == "missing" for each in agent_status.of_session(project, ME)]
    assert gone == [state in ("missing", "running") for state, *_ in ENDINGS]


def test_agents_that_run_are_counted_before_the_client_names_them_too(project: Workspace) -> None:
    """Of every state, verdict and use; those without a final verdict are found among them all."""
    fill(project, ENDINGS)
    launch(project)
    named = agent_status.of_session(project, ME)
    running = [each.tool_use_id for each in named if each.fate == "running"]
    assert agent_status.number_running(project, ME) == len([*running, CALL])
    judged = [each for each in named if each.verdict not in (None, agent_status.UNWRITTEN)]
    unjudged = [each.tool_use_id for each in named if each not in judged]
    assert [each.tool_use_id for each in agent_status.unjudged(project, ME)] == [*unjudged, CALL]
