"""A launch is noted once and judged once; what its run reports is kept until the launch names it, in any order."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from holdfast.events import AgentResult
from holdfast.sessions.agents import agent_status, lifecycle, progress
from holdfast.sessions.workspace import Workspace
from tests.agentry import CALL, RUN, begin, launch, report
from tests.handmade import ME, OTHER, together
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.events import AgentStatus
    from holdfast.sessions.agents.lifecycle import State

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
    return [(due.tool_use_id, due.outcome, due.words) for due in agent_status.due(project, session)]


def test_a_launch_that_is_known_keeps_what_it_has(project: Workspace) -> None:
    """PostToolUse notes a launch again in case PreToolUse never fired; the first note stands."""
    launch(project, phase="phase_0")
    launch(project, phase="phase_3")

    found = agent_status.find(project, ME, CALL)
    assert found is not None
    assert (found.phase, found.workflow, found.agent_type) == ("phase_0", "hybrid:x#1", "builder")
    assert agent_status.find(project, OTHER, CALL) is None


def test_the_prompt_is_kept_in_bounds(project: Workspace) -> None:
    """Of a launch's prompt 4,000 characters are kept; a lone surrogate costs nothing."""
    launch(project, description="odd \ud83d", prompt="x" * 5_000)

    found = agent_status.find(project, ME, CALL)
    assert found is not None
    assert (found.description, found.prompt) == ("odd ?", "x" * 4_000)


def test_a_secret_is_masked_where_the_prompt_is_cut(project: Workspace) -> None:
    """Half of it would look like none."""
    launch(project, prompt=f"{'x' * 3_990} ghp_{'a1B2c3D4e5' * 4}")

    found = agent_status.find(project, ME, CALL)
    assert found is not None
    assert "ghp_" not in found.prompt


@pytest.mark.parametrize("length", [499, 500, 501, 5_000])
def test_a_result_is_kept_in_bounds(project: Workspace, monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    """It says that it was cut."""
    monkeypatch.setattr(lifecycle, "RESULT_LIMIT_CHARS", 500)
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "completed", "a" * length)

    found = agent_status.find(project, ME, CALL)
    assert found is not None
    if length <= 500:
        assert found.words == "a" * length
    else:
        assert len(found.words) == 500
        assert found.words.endswith(f"of {length:,} characters; the agent's transcript has all of it)")


def test_a_secret_is_masked_where_a_result_is_cut(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the cut is."""
    monkeypatch.setattr(lifecycle, "RESULT_LIMIT_CHARS", 500)
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    for start in range(360, 500, 5):
        report(project, "completed", f"{'x ' * (start // 2)}ghp_{'a1B2c3D4e5' * 4}{' y' * 500}")
        found = agent_status.find(project, ME, CALL)
        assert found is not None
        assert "ghp_" not in found.words


def test_of_many_judges_at_once_one_judges(project: Workspace) -> None:
    """Three agents of one batch may bring three processes to the same launch."""
    launch(project)
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed=f"print(lifecycle.judged(project, {ME!r}, {CALL!r}, 'completed'))",
        before="from holdfast.sessions.agents import lifecycle",
    )

    assert sorted(said) == ["False", "False", "True"]


def test_foreground_launches_that_never_returned_are_given_up(project: Workspace) -> None:
    """At the prompt no foreground agent can run; one in the background goes on, and a verdict stands."""
    launch(project, "foreground")
    launch(project, "background")
    lifecycle.named(project, ME, "background", RUN)
    launch(project, "judged")
    lifecycle.judged(project, ME, "judged", "failed")

    lifecycle.abandon_open(project, ME)

    states = {}
    for call in ("foreground", "background", "judged"):
        found = agent_status.find(project, ME, call)
        assert found is not None
        states[call] = found.verdict
    assert states == {"foreground": "abandoned", "background": None, "judged": "failed"}


def test_calls_without_an_id_are_told_apart_by_what_was_asked() -> None:
    """Older clients send no tool_use_id; the input of PreToolUse and PostToolUse is the same."""
    asked = {"prompt": "Build it", "description": "build"}

    assert lifecycle.call_id(CALL, asked) == CALL
    assert lifecycle.call_id(None, asked) == lifecycle.call_id("", dict(reversed(asked.items())))
    assert lifecycle.call_id(None, asked) != lifecycle.call_id(None, asked | {"prompt": "Test it"})
    assert lifecycle.call_id(None, {"odd": "\ud83d"}).startswith("asked:")


def test_of_two_calls_that_name_a_run_the_later_is_meant(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent may be sent on with a call of its own, for another phase."""
    for minute, call in ((10, "first"), (20, "second")):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T10:{minute}:00Z")
        launch(project, call, phase=call)
        lifecycle.named(project, ME, call, RUN)
    found = agent_status.of_run(project, ME, RUN)
    assert found is not None
    assert found.phase == "second"


def test_only_what_was_judged_completed_is_doubted_and_once(project: Workspace) -> None:
    """A failure is no surprise, and a doubt is told once."""
    for call, verdict in (("c1", "completed"), ("c2", "failed"), ("c3", None)):
        launch(project, call)
        if verdict:
            assert lifecycle.judged(project, ME, call, verdict)

    assert [lifecycle.dispute(project, ME, call) for call in ("c1", "c1", "c2", "c3")] == [True, False, False, False]


def test_a_call_has_returned_once_its_run_is_named_or_it_is_judged(project: Workspace) -> None:
    """Of the others the transcript is asked at each event; the first launched comes first."""
    for call in ("judged", "named", "second", "first"):
        launch(project, call)
    project.ledger.run("UPDATE launches SET launched_at = '2026' WHERE tool_use_id = 'first'")
    lifecycle.named(project, ME, "named", RUN)
    lifecycle.judged(project, ME, "judged", "failed")

    assert [each.tool_use_id for each in agent_status.unanswered(project, ME)] == ["first", "second"]
    assert agent_status.unanswered(project, OTHER) == []


def test_a_verdict_that_waits_to_be_written_is_told_once_and_still_judged(project: Workspace) -> None:
    """Of many events on a full disk the first tells of it; the one that finds room again ends it."""
    launch(project)
    assert [lifecycle.unwritten(project, ME, CALL) for _ in range(2)] == [True, False]
    assert [lifecycle.judged(project, ME, CALL, "completed") for _ in range(2)] == [True, False]
    assert not lifecycle.unwritten(project, ME, CALL)


def test_what_the_user_keeps_out_of_capture_is_kept_of_no_launch(tmp_path: Path) -> None:
    """Neither of its description nor of its prompt, which guidance and reports quote."""
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "holdfast.toml").write_text('exclude_patterns = ["Workspace [A-Z]+"]\n')
    project = Workspace.open(tmp_path, trusted=True)
    launch(project, description="Build Workspace ORION", prompt="Workspace ORION is ours.")

    found = agent_status.find(project, ME, CALL)
    assert found is not None
    assert (found.description, found.prompt) == ("Build [excluded]", "[excluded] is ours.")


def test_a_launch_is_due_when_it_is_named_and_its_run_has_ended(project: Workspace) -> None:
    """Launch and run are kept apart until they can be joined."""
    launch(project)
    assert verdicts(project) == []
    report(project, "running")
    lifecycle.named(project, ME, CALL, RUN)
    assert verdicts(project) == []

    report(project, "stopped", "All done.")

    assert verdicts(project) == [(CALL, "completed", "All done.")]


@pytest.mark.parametrize("order", ORDERS)
def test_signals_may_come_in_any_order(project: Workspace, order: tuple[str, ...]) -> None:
    """Client facts §3.4: SubagentStart and SubagentStop may be handled before the launch's PostToolUse."""
    steps = {
        "launched": lambda: launch(project),
        "named": lambda: lifecycle.named(project, ME, CALL, RUN),
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
    lifecycle.named(project, ME, CALL, RUN)
    for state in order:
        report(project, state, f"said {state}")

    assert verdicts(project) == [(CALL, "failed", "said failed")]


@pytest.mark.parametrize("order", list(permutations(("running", "stopped", "completed"))))
def test_a_verdict_beats_a_bare_stop(project: Workspace, order: tuple[State, ...]) -> None:
    """The words of the verdict stay, whatever else is said later."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    for state in order:
        report(project, state, f"said {state}")

    assert verdicts(project) == [(CALL, "completed", "said completed")]


def test_of_two_stops_the_later_words_count(project: Workspace) -> None:
    """An agent may stop several times, and its last words are its result; silence takes nothing back."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "stopped", "First.")
    report(project, "stopped", "Second.")
    report(project, "stopped", "")

    assert verdicts(project) == [(CALL, "completed", "Second.")]


def test_an_agent_that_is_started_again_keeps_its_verdict(project: Workspace) -> None:
    """A resumed agent fires SubagentStart once more; what it had reported stands."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "stopped", "Done.")
    report(project, "running")

    assert verdicts(project) == [(CALL, "completed", "Done.")]


def test_a_judged_launch_is_never_due_again(project: Workspace) -> None:
    """Of several processes that judge a launch one is told that it did."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "stopped")

    assert lifecycle.judged(project, ME, CALL, "completed")
    assert not lifecycle.judged(project, ME, CALL, "failed")
    report(project, "stopped", "Again.")
    assert verdicts(project) == []
    found = agent_status.find(project, ME, CALL)
    assert found is not None
    assert found.verdict == "completed"


def test_launches_are_due_in_the_order_in_which_they_ended(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Phases move in the order in which their agents finished."""
    for number, minute in ((1, 30), (2, 10), (3, 20)):
        launch(project, f"toolu_{number}")
        lifecycle.named(project, ME, f"toolu_{number}", f"run{number}")
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T10:{minute}:00Z")
        report(project, "stopped", run=f"run{number}")

    assert [call for call, _, _ in verdicts(project)] == ["toolu_2", "toolu_3", "toolu_1"]


def test_two_sessions_agents_are_kept_apart(project: Workspace) -> None:
    """What another session's agent reports is not this one's result."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "stopped", session=OTHER)

    assert verdicts(project) == []
    assert verdicts(project, OTHER) == []


def test_a_launch_that_was_given_up_and_does_return_counts(project: Workspace) -> None:
    """A prompt can be submitted while an agent works; that must not cost the agent's result."""
    launch(project)
    lifecycle.abandon_open(project, ME)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "completed", "Done after all.")

    assert verdicts(project) == [(CALL, "completed", "Done after all.")]


def test_naming_opens_no_launch_that_was_judged(project: Workspace) -> None:
    """A notification names the launch again, and again when an agent is resumed."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "stopped")
    lifecycle.judged(project, ME, CALL, "completed")
    lifecycle.named(project, ME, CALL, RUN)

    assert verdicts(project) == []


def test_an_agent_the_client_no_longer_lists_has_failed(project: Workspace) -> None:
    """Client facts §3.4: one that was killed sends no SubagentStop."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "running")
    lifecycle.still_there(project, ME, {RUN})
    assert verdicts(project) == []

    lifecycle.still_there(project, ME, {"another"})

    ((call, verdict, words),) = verdicts(project)
    assert (call, verdict) == (CALL, "failed")
    assert words
    assert agent_status.running(project, ME) == []


def test_an_agent_that_was_never_seen_to_start_is_not_missed(project: Workspace) -> None:
    """One that runs elsewhere is not in the client's list of background tasks, and starts nothing here."""
    launch(project)
    lifecycle.named(project, ME, CALL, "remote-task")
    lifecycle.still_there(project, ME, set())

    assert verdicts(project) == []
    assert [each.agent_id for each in agent_status.running(project, ME)] == ["remote-task"]


@pytest.mark.parametrize("state", ["stopped", "completed", "failed"])
def test_a_missing_agents_own_word_counts_more(project: Workspace, state: State) -> None:
    """Its last event may only have been on its way."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "running")
    lifecycle.still_there(project, ME, set())
    report(project, state, "its own words")

    expected = "failed" if state == "failed" else "completed"
    assert verdicts(project) == [(CALL, expected, "its own words")]


def test_a_failure_after_the_verdict_is_told_once(project: Workspace) -> None:
    """Completed, then a late failure: the verdict is disputed, and said once."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "stopped")
    lifecycle.judged(project, ME, CALL, "completed")
    assert progress.contradicted(project, ME) == []
    report(project, "failed", "API Error: 529")

    ((first, words),) = progress.contradicted(project, ME)
    assert (first.phase, first.outcome, words) == ("phase_0", "failed", "API Error: 529")
    assert progress.contradicted(project, ME) == []


def test_a_late_failure_is_told_by_one_of_many(project: Workspace) -> None:
    """Three events that come at once do not tell it three times."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    lifecycle.judged(project, ME, CALL, "completed")
    report(project, "failed")
    project.close()

    said = together(
        project.root,
        ["one", "two", "three"],
        deed=f"print(len(progress.contradicted(project, {ME!r})))",
        before="from holdfast.sessions.agents import progress",
    )

    assert sorted(said) == ["0", "0", "1"]


def test_a_failure_of_an_agent_without_a_phase_is_nobodys_dispute(project: Workspace) -> None:
    """A helper agent's failure undoes nothing."""
    launch(project, phase=None)
    lifecycle.named(project, ME, CALL, RUN)
    lifecycle.judged(project, ME, CALL, "completed")
    report(project, "failed")

    assert progress.contradicted(project, ME) == []


def test_a_run_that_failed_before_its_verdict_is_no_dispute(project: Workspace) -> None:
    """It is judged failed, which says all there is to say."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "failed")
    lifecycle.judged(project, ME, CALL, "failed")

    assert progress.contradicted(project, ME) == []


def test_an_agent_that_is_gone_after_its_verdict_is_no_dispute(project: Workspace) -> None:
    """Nobody has said that it failed; its phase was completed before."""
    launch(project)
    lifecycle.named(project, ME, CALL, RUN)
    report(project, "running")
    lifecycle.judged(project, ME, CALL, "completed")
    lifecycle.still_there(project, ME, set())
    assert progress.contradicted(project, ME) == []


def test_a_run_without_an_id_is_called_after_its_call() -> None:
    """A failed launch does not say which agent it was."""
    assert lifecycle.run_id(RUN, CALL) == RUN
    assert lifecycle.run_id("", CALL) not in ("", CALL)


@each_row(
    "status, failed, state",
    [
        ("completed", False, "completed"),
        ("completed", True, "failed"),
        ("other", True, "failed"),
        ("async_launched", False, None),
        ("remote_launched", False, None),
    ],
)
def test_any_sign_of_a_failure_beats_what_a_call_says_of_its_status(
    tmp_path: Path, status: AgentStatus, failed: bool, state: str | None
) -> None:
    """I000-14; a launch into the background is no result at all."""
    project = Workspace.open(tmp_path)
    begin(project)
    lifecycle.returned(project, ME, CALL, AgentResult(status, RUN, "builder", "Words.", failed=failed))

    assert [(each.outcome, each.words) for each in agent_status.due(project, ME)] == (
        [(state, "Words.")] if state else []
    )
