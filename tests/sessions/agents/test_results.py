"""What subagents report is kept until the launch names them, in whichever order it comes."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions.agents import launches, results, running_agents, runs
from holdfast.sessions.workspace import Workspace
from tests.agentry import CALL, RUN, launch, report
from tests.handmade import ME, OTHER, together

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.agents.runs import State

# A launch is noted at its PostToolUse at the latest, before it is named there.
ORDERS = [
    order
    for order in permutations(("launched", "named", "running", "stopped"))
    if order.index("launched") < order.index("named")
]


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """An empty project."""
    return Workspace.open(tmp_path)


def verdicts(project: Workspace, session: str = ME) -> list[tuple[str, str, str]]:
    return [(due.launch.tool_use_id, due.state, due.words) for due in results.due(project, session)]


def test_a_launch_is_due_when_it_is_named_and_its_run_has_ended(project: Workspace) -> None:
    """Launch and run are kept apart until they can be joined."""
    launch(project)
    assert verdicts(project) == []
    report(project, "running")
    launches.named(project, ME, CALL, RUN)
    assert verdicts(project) == []

    report(project, "stopped", "All done.")

    assert verdicts(project) == [(CALL, "completed", "All done.")]


@pytest.mark.parametrize("order", ORDERS)
def test_signals_may_come_in_any_order(project: Workspace, order: tuple[str, ...]) -> None:
    """Client facts §3.4: SubagentStart and SubagentStop may be handled before the launch's PostToolUse."""
    steps = {
        "launched": lambda: launch(project),
        "named": lambda: launches.named(project, ME, CALL, RUN),
        "running": lambda: report(project, "running"),
        "stopped": lambda: report(project, "stopped", "Words."),
    }
    for step in order:
        steps[step]()

    assert verdicts(project) == [(CALL, "completed", "Words.")]


@pytest.mark.parametrize("order", list(permutations(("running", "stopped", "completed", "failed"))))
def test_a_failure_beats_all_else_of_the_same_run(project: Workspace, order: tuple[State, ...]) -> None:
    """A failure signal beats "completed" from the same run, whichever comes first."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    for state in order:
        report(project, state, f"said {state}")

    assert verdicts(project) == [(CALL, "failed", "said failed")]


@pytest.mark.parametrize("order", list(permutations(("running", "stopped", "completed"))))
def test_a_verdict_beats_a_bare_stop(project: Workspace, order: tuple[State, ...]) -> None:
    """The words of the verdict stay, whatever else is said later."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    for state in order:
        report(project, state, f"said {state}")

    assert verdicts(project) == [(CALL, "completed", "said completed")]


def test_of_two_stops_the_later_words_count(project: Workspace) -> None:
    """An agent may stop several times, and its last words are its result; silence takes nothing back."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "stopped", "First.")
    report(project, "stopped", "Second.")
    report(project, "stopped", "")

    assert verdicts(project) == [(CALL, "completed", "Second.")]


def test_an_agent_that_is_started_again_keeps_its_verdict(project: Workspace) -> None:
    """A resumed agent fires SubagentStart once more; what it had reported stands."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "stopped", "Done.")
    report(project, "running")

    assert verdicts(project) == [(CALL, "completed", "Done.")]


def test_a_judged_launch_is_never_due_again(project: Workspace) -> None:
    """Of several processes that judge a launch one is told that it did."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "stopped")

    assert launches.judged(project, ME, CALL, "completed")
    assert not launches.judged(project, ME, CALL, "failed")
    report(project, "stopped", "Again.")
    assert verdicts(project) == []
    found = launches.find(project, ME, CALL)
    assert found is not None
    assert found.verdict == "completed"


def test_launches_are_due_in_the_order_in_which_they_ended(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Phases move in the order in which their agents finished."""
    for number, minute in ((1, 30), (2, 10), (3, 20)):
        launch(project, f"toolu_{number}")
        launches.named(project, ME, f"toolu_{number}", f"run{number}")
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T10:{minute}:00Z")
        report(project, "stopped", run=f"run{number}")

    assert [call for call, _, _ in verdicts(project)] == ["toolu_2", "toolu_3", "toolu_1"]


def test_two_sessions_agents_are_kept_apart(project: Workspace) -> None:
    """What another session's agent reports is not this one's result."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "stopped", session=OTHER)

    assert verdicts(project) == []
    assert verdicts(project, OTHER) == []


def test_a_launch_that_was_given_up_and_does_return_counts(project: Workspace) -> None:
    """A prompt can be submitted while an agent works; that must not cost the agent's result."""
    launch(project)
    launches.abandon_open(project, ME)
    launches.named(project, ME, CALL, RUN)
    report(project, "completed", "Done after all.")

    assert verdicts(project) == [(CALL, "completed", "Done after all.")]


def test_naming_opens_no_launch_that_was_judged(project: Workspace) -> None:
    """A notification names the launch again, and again when an agent is resumed."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "stopped")
    launches.judged(project, ME, CALL, "completed")
    launches.named(project, ME, CALL, RUN)

    assert verdicts(project) == []


def test_an_agent_the_client_no_longer_lists_has_failed(project: Workspace) -> None:
    """Client facts §3.4: one that was killed sends no SubagentStop."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "running")
    runs.still_there(project, ME, {RUN})
    assert verdicts(project) == []

    runs.still_there(project, ME, {"another"})

    ((call, verdict, words),) = verdicts(project)
    assert (call, verdict) == (CALL, "failed")
    assert words
    assert running_agents.running(project, ME) == []


def test_an_agent_that_was_never_seen_to_start_is_not_missed(project: Workspace) -> None:
    """One that runs elsewhere is not in the client's list of background tasks, and starts nothing here."""
    launch(project)
    launches.named(project, ME, CALL, "remote-task")
    runs.still_there(project, ME, set())

    assert verdicts(project) == []
    assert [each.agent_id for each in running_agents.running(project, ME)] == ["remote-task"]


@pytest.mark.parametrize("state", ["stopped", "completed", "failed"])
def test_a_missing_agents_own_word_counts_more(project: Workspace, state: State) -> None:
    """Its last event may only have been on its way."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "running")
    runs.still_there(project, ME, set())
    report(project, state, "its own words")

    expected = "failed" if state == "failed" else "completed"
    assert verdicts(project) == [(CALL, expected, "its own words")]


def test_a_failure_after_the_verdict_is_told_once(project: Workspace) -> None:
    """Completed, then a late failure: the verdict is disputed, and said once."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "stopped")
    launches.judged(project, ME, CALL, "completed")
    assert results.disputed(project, ME) == []
    report(project, "failed", "API Error: 529")

    (first,) = results.disputed(project, ME)
    assert (first.launch.phase, first.state, first.words) == ("phase_0", "failed", "API Error: 529")
    assert results.disputed(project, ME) == []


def test_a_late_failure_is_told_by_one_of_many(project: Workspace) -> None:
    """Three events that come at once do not tell it three times."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    launches.judged(project, ME, CALL, "completed")
    report(project, "failed")
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed=f"print(len(results.disputed(project, {ME!r})))",
        before="from holdfast.sessions.agents import results",
    )

    assert sorted(said) == ["0", "0", "1"]


def test_a_failure_of_an_agent_without_a_phase_is_nobodys_dispute(project: Workspace) -> None:
    """A helper agent's failure undoes nothing."""
    launch(project, phase=None)
    launches.named(project, ME, CALL, RUN)
    launches.judged(project, ME, CALL, "completed")
    report(project, "failed")

    assert results.disputed(project, ME) == []


def test_a_run_that_failed_before_its_verdict_is_no_dispute(project: Workspace) -> None:
    """It is judged failed, which says all there is to say."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "failed")
    launches.judged(project, ME, CALL, "failed")

    assert results.disputed(project, ME) == []


def test_an_agent_that_is_gone_after_its_verdict_is_no_dispute(project: Workspace) -> None:
    """Nobody has said that it failed; its phase was completed before."""
    launch(project)
    launches.named(project, ME, CALL, RUN)
    report(project, "running")
    launches.judged(project, ME, CALL, "completed")
    runs.still_there(project, ME, set())
    assert results.disputed(project, ME) == []
