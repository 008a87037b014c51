"""Of each agent it is known whether it runs, ended unused, or was consumed by the main conversation."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import agent_status, lifecycle, notices, script_runs
from holdfast.sessions.workspace import Workspace
from tests import earlier
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
    assert [each.agent_id for each in agent_status.running(project, ME)] == [RUN]
    assert [each.agent_id for each in agent_status.in_flight(project, "hybrid:x#1", bool)] == [RUN]

    report(project, "stopped", "Second.")
    (ended,) = agent_status.of_session(project, ME)
    assert (ended.fate, ended.words) == ("finished", "Second.")
    assert agent_status.running(project, ME) == []

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
    lifecycle.still_there(project, ME, {RUN})
    assert fate(project) == "running"

    lifecycle.still_there(project, ME, ())
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
    assert lifecycle.judged(project, ME, CALL, "failed")
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
    found = [len(agent_status.in_flight(each, "hybrid:x#1", bool)) for each in (here, there)]
    report(there, "stopped", "Done.")
    ended = [len(agent_status.unused(each, "hybrid:x#1", bool)) for each in (here, there)]
    assert (found, ended) == ([0, 1], [0, 1])


def test_an_agent_that_is_sent_on_after_its_verdict_is_waited_for_again(project: Workspace) -> None:
    """Its phase is judged, and what it brings now is a result all the same."""
    begin(project)
    report(project, "stopped", "First.", used=True)
    assert lifecycle.judged(project, ME, CALL, "completed")
    assert fate(project) == "consumed"
    report(project, "running")

    assert fate(project) == "running"
    assert [each.tool_use_id for each in agent_status.running(project, ME)] == [CALL]
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


def test_agents_in_flight_are_those_that_were_named_and_have_not_ended(project: Workspace) -> None:
    """What the guidance says must not be started again."""
    for number in range(4):
        launch(project, f"c{number}")
    for number in range(3):
        lifecycle.named(project, ME, f"c{number}", f"run{number}")
    report(project, "running", run="run0")
    report(project, "stopped", run="run2")

    assert [each.tool_use_id for each in agent_status.running(project, ME)] == ["c0", "c1"]
    assert agent_status.running(project, OTHER) == []


def test_a_run_that_has_stopped_is_not_taken_for_the_agent_that_is_waited_for(project: Workspace) -> None:
    """Whose run the client has not named; of those that may be meant, one runs."""
    launch(project)
    report(project, "stopped", run="over")
    report(project, "running", run="it")

    assert [each.agent_id for each in agent_status.in_flight(project, "hybrid:x#1", bool)] == ["it"]


def test_of_several_that_are_waited_for_nobody_is_told_which_one_runs(project: Workspace) -> None:
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


def test_a_run_is_taken_for_the_launch_of_its_kind_that_has_none(project: Workspace) -> None:
    """One in the background has its own; another kind's is another launch's."""
    launch(project, "c1")
    lifecycle.named(project, ME, "c1", "run1")
    launch(project, "c2")
    lifecycle.launched(project, ME, "c3", "tester", "hybrid:x#1", "phase_1")
    report(project, "running", run="run1")
    lifecycle.reported(project, ME, "run3", "tester", "running")

    def found() -> list[str]:
        return [each.agent_id for each in agent_status.in_flight(project, "hybrid:x#1", bool)]

    assert found() == ["run1", "", "run3"]
    report(project, "running", run="run2")
    assert found() == ["run1", "run2", "run3"]


def test_a_phase_is_worked_on_until_its_agent_ends(project: Workspace) -> None:
    """Whether its verdict is written by then or not; an agent for no phase works on none."""
    begin(project, "c1", "run1")
    launch(project, "c2", "phase_1")
    launch(project, "c3", None)
    report(project, "running", run="run1")
    assert [each.phase for each in agent_status.at_work(project, ME)] == ["phase_0", "phase_1"]
    assert agent_status.at_work(project, OTHER) == []

    report(project, "stopped", run="run1")
    assert [each.phase for each in agent_status.at_work(project, ME)] == ["phase_1"]
    lifecycle.judged(project, ME, "c2", "failed")
    assert agent_status.at_work(project, ME) == []


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


def test_each_question_finds_all_of_its_agents(project: Workspace) -> None:
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


def test_the_work_of_an_event_does_not_grow_with_the_agents_of_its_session(tmp_path: Path) -> None:
    """A thousand agents whose results were used cost no more than ten, counted in the ledger's own steps."""
    counts = []
    for number in (10, 1_000):
        project = Workspace.open(tmp_path / str(number))
        fill(project, [("completed", "completed", "2026-01-01T00:00:00Z", 0)] * number)
        begin(project)
        steps: list[None] = []
        project.ledger._connection.set_progress_handler(partial(steps.append, None), 1)
        assert [each.tool_use_id for each in agent_status.waiting(project, ME)] == [CALL]
        assert [each.tool_use_id for each in agent_status.left_over(project, ME)] == [CALL]
        assert not agent_status.due(project, ME)
        lifecycle.still_there(project, ME, ())
        project.ledger._connection.set_progress_handler(None, 0)
        counts.append(len(steps))
    assert counts[1] == counts[0] > 0


def test_a_stop_does_not_look_at_all_script_runs_of_its_session(tmp_path: Path) -> None:
    """A thousand runs that have ended cost no more than a hundred, and one that is open is found beside them."""
    counts = []
    for number in (100, 1_000):
        project = Workspace.open(tmp_path / str(number))
        for each in range(number + 1):
            project.ledger.run(
                "INSERT INTO script_runs (project, session, tool_use_id, worktree, host, client, task, digest, args,"
                " prompt, epoch, ending, launched_at) VALUES (?, ?, ?, '', '', '', ?, '', '', '', '', ?, ?)",
                *(project.key, ME, str(each), f"t{each}", "" if each == number else "completed"),
                f"2026-03-01T12:{each // 60:02}:{each % 60:02}Z",
            )
        steps: list[None] = []
        project.ledger._connection.set_progress_handler(partial(steps.append, None), 1)
        script_runs.still_there(project, ME, {f"t{number}"})
        project.ledger._connection.set_progress_handler(None, 0)
        counts.append(len(steps))
        script_runs.still_there(project, ME, ())
        ended = project.ledger.rows("SELECT ending FROM script_runs WHERE tool_use_id = ?", str(number))
        assert [each["ending"] for each in ended] == ["stopped"]
    assert counts[1] == counts[0] > 0
