"""Of each agent it is known whether it runs, ended unused, or was consumed by the main conversation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import agent_status, launches, notices, running_agents, runs
from holdfast.sessions.workspace import Workspace
from tests import earlier
from tests.agentry import CALL, RUN, begin, report
from tests.handmade import ME

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.agents.runs import State


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return Workspace.open(tmp_path)


def fate(project: Workspace) -> str:
    (only,) = agent_status.of_session(project, ME)
    assert agent_status.waiting(project, ME) == ([] if only.fate == "consumed" else [only])
    return only.fate


def test_an_agents_life(project: Workspace) -> None:
    """Running, then ended without a known use, then consumed; with all that the ledger keeps of it."""
    begin(project, description="Build it")
    assert fate(project) == "running"
    report(project, "running")
    assert fate(project) == "running"
    report(project, "stopped", "All is built.", transcript="/agents/a.jsonl")

    (ended,) = agent_status.of_session(project, ME)
    assert (ended.fate, ended.unused, ended.words) == ("finished", True, "All is built.")
    assert ended.digest == hashlib.sha256(b"All is built.").hexdigest()[:12]
    assert (ended.agent_id, ended.agent_type, ended.phase, ended.description) == (RUN, "builder", "phase_0", "Build it")
    assert (ended.output, ended.transcript) == (f"/tasks/{RUN}.output", "/agents/a.jsonl")
    assert ended.since <= (ended.ended_at or "")

    notices.notified(project, ME, RUN, CALL, "completed", "All is built.")
    assert fate(project) == "consumed"


@pytest.mark.parametrize("state", ["failed", "missing"])
def test_a_failure_is_no_finish(project: Workspace, state: State) -> None:
    """A failed agent is never said to have finished, and one that was killed says at least that."""
    begin(project)
    report(project, state)

    (ended,) = agent_status.of_session(project, ME)
    assert ended.fate == "failed"
    assert ended.words == ("it was stopped before it had ended" if state == "missing" else "")


def test_an_agent_that_is_sent_on_runs_again_and_brings_a_new_result(project: Workspace) -> None:
    """The same task may notify more than once (client fact §3.4): its first use says nothing of the second result."""
    begin(project)
    report(project, "stopped", "First.")
    notices.notified(project, ME, RUN, CALL, "completed", "First.")
    report(project, "running")
    assert fate(project) == "running"
    assert [each.agent_id for each in running_agents.running(project, ME)] == [RUN]
    assert [each.agent_id for each in running_agents.in_flight(project, "hybrid:x#1", bool)] == [RUN]

    report(project, "stopped", "Second.")
    (ended,) = agent_status.of_session(project, ME)
    assert (ended.fate, ended.words) == ("finished", "Second.")
    assert running_agents.running(project, ME) == []

    notices.notified(project, ME, RUN, CALL, "completed", "Second.")
    assert fate(project) == "consumed"


def test_an_agent_that_is_started_again_before_its_result_was_used_keeps_it(project: Workspace) -> None:
    """Nothing was used that could make the old result an old one."""
    begin(project)
    report(project, "stopped", "First.")
    report(project, "running")

    assert fate(project) == "finished"


def test_an_agent_sent_on_that_the_client_does_not_list_is_as_it_was(project: Workspace) -> None:
    """Its start was noted late, or it was killed: it brought nothing that could be used."""
    begin(project)
    report(project, "stopped", "First.")
    notices.notified(project, ME, RUN, CALL, "completed", "First.")
    report(project, "running")
    runs.still_there(project, ME, {RUN})
    assert fate(project) == "running"

    runs.still_there(project, ME, ())
    assert fate(project) == "consumed"


def test_what_an_earlier_version_noted_is_not_told_as_unused(project: Workspace) -> None:
    """Its ledger says nothing of uses; hundreds of old agents must not come up as waiting."""
    begin(project)
    with earlier.ledger(project) as ledger:
        for index in ("runs_consumed", "runs_resumed"):
            ledger.execute(f"DROP INDEX {index}")
        for column in ("digest", "transcript", "consumed_at", "resumed", "resumed_at", "reminded_at"):
            ledger.execute(f"ALTER TABLE runs DROP COLUMN {column}")
        ledger.execute(
            "INSERT INTO runs VALUES (?, ?, ?, 'w', 'h', 'c', 'builder', 'stopped', 'Done.', '2026', '2026')",
            (project.key, ME, RUN),
        )

    assert fate(project) == "consumed"
    begin(project, "toolu_2", "new")
    report(project, "stopped", "New.", run="new")
    assert [each.fate for each in agent_status.of_session(project, ME)] == ["consumed", "finished"]


def test_what_is_unused_of_a_workflow(project: Workspace) -> None:
    """Its own agents, and those for none of sessions that are asked for; not what runs, nor what was used."""
    for call, phase in (("mine", "phase_0"), ("free", None), ("used", "phase_0"), ("runs", "phase_0")):
        begin(project, call, call, phase)
    for run in ("mine", "free", "used"):
        report(project, "stopped", run, run=run)
    notices.notified(project, ME, "used", "used", "completed", "used")

    def ids(key: str, *, free: bool) -> list[str]:
        return [each.agent_id for each in agent_status.unused(project, key, lambda session: free)]

    assert ids("hybrid:x#1", free=True) == ["mine", "free"]
    assert ids("hybrid:x#1", free=False) == ["mine"]
    assert ids("another", free=False) == []


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


def test_a_launch_that_was_judged_without_a_run_brings_nothing_more(project: Workspace) -> None:
    """Nobody waits for it for ever."""
    begin(project)
    assert launches.judged(project, ME, CALL, "failed")
    assert fate(project) == "consumed"


def test_an_agent_sent_on_runs_since_it_was_first_sent_on(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its start may be told more than once; a notice that came in between is of this run."""
    begin(project)
    report(project, "stopped", "First.", used=True)
    for minute in (10, 20):
        monkeypatch.setenv("HOLDFAST_NOW", f"2099-03-01T10:{minute}:00Z")
        report(project, "running")
    (only,) = agent_status.of_session(project, ME)
    assert only.since[11:16] == "10:10"


def test_what_is_known_of_a_result_is_not_taken_back_by_silence(project: Workspace) -> None:
    """A later signal that says less: no words, no transcript, no place of the output."""
    begin(project)
    report(project, "stopped", "Done.", transcript="/agents/a.jsonl")
    (before,) = agent_status.of_session(project, ME)
    report(project, "completed", "", used=True)
    notices.notified(project, ME, RUN, CALL, "completed", "")

    (after,) = agent_status.of_session(project, ME)
    assert after.fate == "consumed"
    for name in ("words", "digest", "transcript", "output"):
        assert getattr(after, name) == getattr(before, name) != ""


def test_another_checkouts_agents_are_not_this_ones(tmp_path: Path) -> None:
    """Neither what ended unused there, nor what runs; a workflow of the same path is another one."""
    for name in ("here", "there"):
        (tmp_path / name / ".claude").mkdir(parents=True)
        (tmp_path / name / ".claude" / "holdfast.toml").write_text('[project]\nid = "shared"\n')
    here, there = (Workspace.open(tmp_path / name, trusted=True) for name in ("here", "there"))
    begin(there)
    found = [len(running_agents.in_flight(each, "hybrid:x#1", bool)) for each in (here, there)]
    report(there, "stopped", "Done.")
    ended = [len(agent_status.unused(each, "hybrid:x#1", bool)) for each in (here, there)]
    assert (found, ended) == ([0, 1], [0, 1])


def test_an_agent_that_is_sent_on_after_its_verdict_is_waited_for_again(project: Workspace) -> None:
    """Its phase is judged, and what it brings now is a result all the same."""
    begin(project)
    report(project, "stopped", "First.", used=True)
    assert launches.judged(project, ME, CALL, "completed")
    assert fate(project) == "consumed"
    report(project, "running")

    assert fate(project) == "running"
    assert [each.tool_use_id for each in running_agents.running(project, ME)] == [CALL]
    report(project, "stopped", "Second.")
    assert fate(project) == "finished"


def test_what_ended_unused_is_listed_as_it_ended(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as it was launched: the guidance names the last ones."""
    for call in ("first", "second"):
        begin(project, call, call)
    for minute, run in ((10, "second"), (20, "first")):
        monkeypatch.setenv("HOLDFAST_NOW", f"2099-03-01T10:{minute}:00Z")
        report(project, "stopped", "Done.", run=run)
    assert [each.agent_id for each in agent_status.unused(project, "hybrid:x#1", bool)] == ["second", "first"]
