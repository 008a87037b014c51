"""What subagents report is kept until the launch names them, in whichever order it comes."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from holdfast.project import Project
from holdfast.survival import agents, compactions, sessions
from tests.handmade import ME, OTHER, together

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.survival.agents import State

CALL, RUN = "toolu_1", "a23b8482eb527498b"
# A launch is noted at its PostToolUse at the latest, before it is named there.
ORDERS = [
    order
    for order in permutations(("launched", "named", "running", "stopped"))
    if order.index("launched") < order.index("named")
]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project.open(tmp_path)


def launch(project: Project, call: str = CALL, phase: str | None = "phase_0", session: str = ME) -> None:
    agents.launched(project, session, call, "builder", "hybrid:x#1" if phase else None, phase)


def report(project: Project, state: State, words: str = "", run: str = RUN, session: str = ME) -> None:
    agents.reported(project, session, run, "builder", state, words)


def verdicts(project: Project, session: str = ME) -> list[tuple[str, str, str]]:
    return [(due.launch.tool_use_id, due.state, due.words) for due in agents.due(project, session)]


def test_a_launch_is_due_when_it_is_named_and_its_run_has_ended(project: Project) -> None:
    """Launch and run are kept apart until they can be joined."""
    launch(project)
    assert verdicts(project) == []
    report(project, "running")
    agents.named(project, ME, CALL, RUN)
    assert verdicts(project) == []

    report(project, "stopped", "All done.")

    assert verdicts(project) == [(CALL, "completed", "All done.")]


@pytest.mark.parametrize("order", ORDERS)
def test_signals_may_come_in_any_order(project: Project, order: tuple[str, ...]) -> None:
    """Client facts §3.4: SubagentStart and SubagentStop may be handled before the launch's PostToolUse."""
    steps = {
        "launched": lambda: launch(project),
        "named": lambda: agents.named(project, ME, CALL, RUN),
        "running": lambda: report(project, "running"),
        "stopped": lambda: report(project, "stopped", "Words."),
    }
    for step in order:
        steps[step]()

    assert verdicts(project) == [(CALL, "completed", "Words.")]


@pytest.mark.parametrize("order", list(permutations(("running", "stopped", "completed", "failed"))))
def test_a_failure_beats_all_else_of_the_same_run(project: Project, order: tuple[State, ...]) -> None:
    """A failure signal beats "completed" from the same run, whichever comes first."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    for state in order:
        report(project, state, f"said {state}")

    assert verdicts(project) == [(CALL, "failed", "said failed")]


@pytest.mark.parametrize("order", list(permutations(("running", "stopped", "completed"))))
def test_a_verdict_beats_a_bare_stop(project: Project, order: tuple[State, ...]) -> None:
    """The words of the verdict stay, whatever else is said later."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    for state in order:
        report(project, state, f"said {state}")

    assert verdicts(project) == [(CALL, "completed", "said completed")]


def test_of_two_stops_the_later_words_count(project: Project) -> None:
    """An agent may stop several times, and its last words are its result; silence takes nothing back."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    report(project, "stopped", "First.")
    report(project, "stopped", "Second.")
    report(project, "stopped", "")

    assert verdicts(project) == [(CALL, "completed", "Second.")]


def test_an_agent_that_is_started_again_keeps_its_verdict(project: Project) -> None:
    """A resumed agent fires SubagentStart once more; what it had reported stands."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    report(project, "stopped", "Done.")
    report(project, "running")

    assert verdicts(project) == [(CALL, "completed", "Done.")]


def test_a_judged_launch_is_never_due_again(project: Project) -> None:
    """Of several processes that judge a launch one is told that it did."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    report(project, "stopped")

    assert agents.judged(project, ME, CALL, "completed")
    assert not agents.judged(project, ME, CALL, "failed")
    report(project, "stopped", "Again.")
    assert verdicts(project) == []
    found = agents.find(project, ME, CALL)
    assert found is not None
    assert found.verdict == "completed"


def test_of_many_judges_at_once_one_judges(project: Project) -> None:
    """Three agents of one batch may bring three processes to the same launch."""
    launch(project)
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed=f"print(agents.judged(project, {ME!r}, {CALL!r}, 'completed'))",
        before="from holdfast.survival import agents",
    )

    assert sorted(said) == ["False", "False", "True"]


def test_a_launch_that_is_known_keeps_what_it_has(project: Project) -> None:
    """PostToolUse notes a launch again in case PreToolUse never fired; the first note stands."""
    launch(project, phase="phase_0")
    launch(project, phase="phase_3")

    found = agents.find(project, ME, CALL)
    assert found is not None
    assert (found.phase, found.workflow, found.agent_type) == ("phase_0", "hybrid:x#1", "builder")
    assert agents.find(project, OTHER, CALL) is None


def test_launches_are_due_in_the_order_in_which_they_ended(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Phases move in the order in which their agents finished."""
    for number, minute in ((1, 30), (2, 10), (3, 20)):
        launch(project, f"toolu_{number}")
        agents.named(project, ME, f"toolu_{number}", f"run{number}")
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T10:{minute}:00Z")
        report(project, "stopped", run=f"run{number}")

    assert [call for call, _, _ in verdicts(project)] == ["toolu_2", "toolu_3", "toolu_1"]


def test_two_sessions_agents_are_kept_apart(project: Project) -> None:
    """What another session's agent reports is not this one's result."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    report(project, "stopped", session=OTHER)

    assert verdicts(project) == []
    assert verdicts(project, OTHER) == []


def test_a_failure_after_the_verdict_is_told_once(project: Project) -> None:
    """Completed, then a late failure: the verdict is disputed, and said once."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    report(project, "stopped")
    agents.judged(project, ME, CALL, "completed")
    assert agents.disputed(project, ME) == []
    report(project, "failed", "API Error: 529")

    (first,) = agents.disputed(project, ME)
    assert (first.launch.phase, first.state, first.words) == ("phase_0", "failed", "API Error: 529")
    assert agents.disputed(project, ME) == []


def test_a_late_failure_is_told_by_one_of_many(project: Project) -> None:
    """Three events that come at once do not tell it three times."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    agents.judged(project, ME, CALL, "completed")
    report(project, "failed")
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed=f"print(len(agents.disputed(project, {ME!r})))",
        before="from holdfast.survival import agents",
    )

    assert sorted(said) == ["0", "0", "1"]


def test_a_failure_of_an_agent_without_a_phase_is_nobodys_dispute(project: Project) -> None:
    """A helper agent's failure undoes nothing."""
    launch(project, phase=None)
    agents.named(project, ME, CALL, RUN)
    agents.judged(project, ME, CALL, "completed")
    report(project, "failed")

    assert agents.disputed(project, ME) == []


def test_a_run_that_failed_before_its_verdict_is_no_dispute(project: Project) -> None:
    """It is judged failed, which says all there is to say."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    report(project, "failed")
    agents.judged(project, ME, CALL, "failed")

    assert agents.disputed(project, ME) == []


def test_foreground_launches_that_never_returned_are_given_up(project: Project) -> None:
    """At the prompt no foreground agent can run; one in the background goes on."""
    launch(project, "foreground")
    launch(project, "background")
    agents.named(project, ME, "background", RUN)

    agents.abandon_open(project, ME)

    states = {}
    for call in ("foreground", "background"):
        found = agents.find(project, ME, call)
        assert found is not None
        states[call] = found.verdict
    assert states == {"foreground": "abandoned", "background": None}


def test_a_launch_that_was_given_up_and_does_return_counts(project: Project) -> None:
    """A prompt can be submitted while an agent works; that must not cost the agent's result."""
    launch(project)
    agents.abandon_open(project, ME)
    agents.named(project, ME, CALL, RUN)
    report(project, "completed", "Done after all.")

    assert verdicts(project) == [(CALL, "completed", "Done after all.")]


def test_naming_opens_no_launch_that_was_judged(project: Project) -> None:
    """A notification names the launch again, and again when an agent is resumed."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    report(project, "stopped")
    agents.judged(project, ME, CALL, "completed")
    agents.named(project, ME, CALL, RUN)

    assert verdicts(project) == []


def test_the_main_thread_waits_while_a_foreground_agent_runs(project: Project) -> None:
    """A compaction that comes then is the agent's own, though older clients do not mark it (client-rig)."""
    assert not compactions.in_foreground(project, ME)
    launch(project)
    assert not compactions.in_foreground(project, ME)
    report(project, "running")
    assert compactions.in_foreground(project, ME)
    assert not compactions.in_foreground(project, OTHER)

    report(project, "stopped")
    assert not compactions.in_foreground(project, ME)


def test_an_agent_in_the_background_keeps_nobody_waiting(project: Project) -> None:
    """Once the launch has returned with the run's name, the main thread goes on beside it."""
    launch(project)
    report(project, "running")
    agents.named(project, ME, CALL, RUN)

    assert not compactions.in_foreground(project, ME)


def test_a_foreground_agent_beside_one_in_the_background_is_seen(project: Project) -> None:
    """The one that runs in the background does not hide the one that is waited for."""
    launch(project, "background")
    agents.named(project, ME, "background", "run1")
    report(project, "running", run="run1")
    launch(project, "foreground")
    assert not compactions.in_foreground(project, ME)

    report(project, "running", run="run2")
    assert compactions.in_foreground(project, ME)


def test_an_agent_in_the_background_is_not_taken_for_one_that_was_denied(project: Project) -> None:
    """Of two calls of one batch the first was denied and the second runs in the background."""
    launch(project, "denied")
    launch(project, "background")
    report(project, "running")
    agents.named(project, ME, "background", RUN)

    assert not compactions.in_foreground(project, ME)


def test_after_a_launch_was_given_up_nobody_waits(project: Project) -> None:
    """An interrupted agent fires no SubagentStop; at the next prompt it is known to be gone."""
    launch(project)
    report(project, "running")
    agents.abandon_open(project, ME)

    assert not compactions.in_foreground(project, ME)


def test_an_agent_that_was_interrupted_earlier_keeps_nobody_waiting(project: Project) -> None:
    """It fired no end; a launch after it that was denied is not it."""
    launch(project, "interrupted")
    report(project, "running")
    agents.abandon_open(project, ME)
    launch(project, "denied")

    assert not compactions.in_foreground(project, ME)


def test_agents_in_flight_are_those_that_were_named_and_have_not_ended(project: Project) -> None:
    """What the guidance says must not be started again."""
    for number in range(4):
        launch(project, f"c{number}")
    for number in range(3):
        agents.named(project, ME, f"c{number}", f"run{number}")
    report(project, "running", run="run0")
    report(project, "stopped", run="run2")

    assert [each.tool_use_id for each in agents.running(project, ME)] == ["c0", "c1"]
    assert agents.running(project, OTHER) == []


def test_an_agent_the_client_no_longer_lists_has_failed(project: Project) -> None:
    """Client facts §3.4: one that was killed sends no SubagentStop."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    report(project, "running")
    agents.still_there(project, ME, {RUN})
    assert verdicts(project) == []

    agents.still_there(project, ME, {"another"})

    ((call, verdict, words),) = verdicts(project)
    assert (call, verdict) == (CALL, "failed")
    assert words
    assert agents.running(project, ME) == []


def test_an_agent_that_was_never_seen_to_start_is_not_missed(project: Project) -> None:
    """One that runs elsewhere is not in the client's list of background tasks, and starts nothing here."""
    launch(project)
    agents.named(project, ME, CALL, "remote-task")
    agents.still_there(project, ME, set())

    assert verdicts(project) == []
    assert [each.agent_id for each in agents.running(project, ME)] == ["remote-task"]


@pytest.mark.parametrize("state", ["stopped", "completed", "failed"])
def test_a_missing_agents_own_word_counts_more(project: Project, state: State) -> None:
    """Its last event may only have been on its way."""
    launch(project)
    agents.named(project, ME, CALL, RUN)
    report(project, "running")
    agents.still_there(project, ME, set())
    report(project, state, "its own words")

    expected = "failed" if state == "failed" else "completed"
    assert verdicts(project) == [(CALL, expected, "its own words")]


def test_an_unmarked_compaction_is_an_agents_while_the_main_thread_cannot_have_one(project: Project) -> None:
    """While it waits for a foreground agent, or rests after a Stop with an agent in the background."""
    sessions.seen(project, ME)
    launch(project)
    report(project, "running")
    assert compactions.is_an_agents(project, ME, {})

    agents.named(project, ME, CALL, RUN)
    assert not compactions.is_an_agents(project, ME, {}), (
        "it works on beside the agent, so it counts as the main thread's"
    )
    sessions.rest(project, ME)
    assert compactions.is_an_agents(project, ME, {})
    report(project, "stopped")
    assert not compactions.is_an_agents(project, ME, {})


def test_clients_that_name_their_process_mark_an_agents_compaction(project: Project) -> None:
    """There an unmarked one is the main thread's, whatever runs."""
    launch(project)
    report(project, "running")

    assert not compactions.is_an_agents(project, ME, {"CLAUDE_PID": "42"})


def test_calls_without_an_id_are_told_apart_by_what_was_asked() -> None:
    """Older clients send no tool_use_id; the input of PreToolUse and PostToolUse is the same."""
    asked = {"prompt": "Build it", "description": "build"}

    assert agents.call_id(CALL, asked) == CALL
    assert agents.call_id(None, asked) == agents.call_id("", dict(reversed(asked.items())))
    assert agents.call_id(None, asked) != agents.call_id(None, asked | {"prompt": "Test it"})
    assert agents.call_id(None, {"odd": "\ud83d"}).startswith("asked:")


def test_a_run_without_an_id_is_called_after_its_call() -> None:
    """A failed launch does not say which agent it was."""
    assert agents.run_id(RUN, CALL) == RUN
    assert agents.run_id("", CALL) not in ("", CALL)
