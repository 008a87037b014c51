"""A result the client told the main conversation is used, whether an event said so or only the transcript does."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.client import AgentResult, TaskNotification
from holdfast.sessions import agents
from tests.agentry import CALL, RUN, begin, launch, only, report
from tests.handmade import ME

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace

TRANSCRIPTS = Path(__file__).parent / "transcripts"
MIDTURN = {"2.1.197": "a5362340bfa46d1ef", "2.1.329": "ad216a306b79ac727"}  # the agents of the recorded sessions


def status(project: Workspace) -> str:
    (only,) = agents.list_launched(project, ME)
    return only.status


def notify(project: Workspace, word: str) -> None:
    """Have the client notify how the agent ended."""
    agents.record_notice(project, ME, TaskNotification(RUN, CALL, word, result="Done."), RUN)


@pytest.mark.parametrize("order", list(permutations(("stopped", "told"))))
@pytest.mark.parametrize("word", ["completed", "failed", "killed", ""])
def test_a_result_that_was_told_is_used(project: Workspace, order: tuple[str, ...], word: str) -> None:
    """Whether the notification comes before the run's own event or after it."""
    begin(project)
    report(project, "running")
    for step in order:
        if step == "stopped":
            report(project, "stopped", "Done.")
        else:
            notify(project, word)

    assert status(project) == "used"


@pytest.mark.parametrize("version", MIDTURN)
@pytest.mark.parametrize("kept", ["all", "queued only"])
def test_a_result_given_in_the_middle_of_a_turn_stands_in_the_transcript(
    project: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, kept: str
) -> None:
    """2.1.197 sends no UserPromptSubmit then; what is only queued has not reached the model (both recorded)."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-21T17:31:00Z")
    run, path = MIDTURN[version], tmp_path / "transcript.jsonl"
    lines = (TRANSCRIPTS / f"midturn-{version}.jsonl").read_text().splitlines()
    path.write_text("\n".join(lines if kept == "all" else [line for line in lines if "queued_command" not in line]))
    begin(project, "toolu_000001", run)
    report(project, "stopped", "BG REPORT", run=run)

    agents.catch_up(project, ME, str(path))

    assert status(project) == ("used" if kept == "all" else "finished")


def test_a_notice_of_an_earlier_run_uses_nothing_of_the_present_one(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that was sent on notifies once more; the first notice still stands in the transcript."""
    run, path = MIDTURN["2.1.197"], str(TRANSCRIPTS / "midturn-2.1.197.jsonl")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-21T17:31:00Z")
    begin(project, "toolu_000001", run)
    report(project, "stopped", "First.", run=run)
    agents.catch_up(project, ME, path)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-21T18:00:00Z")
    report(project, "running", run=run)
    agents.catch_up(project, ME, path)
    assert status(project) == "running"

    report(project, "stopped", "Second.", run=run)
    agents.catch_up(project, ME, path)
    assert status(project) == "finished"


@pytest.mark.parametrize(("word", "failed"), [("completed", False), ("", False), ("failed", True), ("killed", True)])
def test_an_ending_without_a_word_for_it_is_no_failure(project: Workspace, word: str, failed: bool) -> None:
    """Any other word than those for an end or for work is one."""
    begin(project)
    notify(project, word)
    assert [each.failed for each in agents.list_launched(project, ME)] == [failed]


def test_a_call_that_lets_an_agent_go_on_brings_its_next_result(project: Workspace) -> None:
    """The client names the agent only as the call returns; the earlier call keeps what it had."""
    begin(project)
    agents.record_return(project, ME, CALL, AgentResult("completed", RUN, text="First."))
    launch(project, "toolu_2")
    agents.record_return(project, ME, "toolu_2", AgentResult("completed", RUN, text="Second."))
    found = {each.call: (each.run, each.status, each.result) for each in agents.list_launched(project, ME)}
    assert found == {CALL: (RUN, "used", "First."), "toolu_2": (RUN, "used", "Second.")}


def answer(call: str, response: object, *, is_error: bool = False, **more: object) -> str:
    """Return a line that notes what a call returned."""
    block = {"type": "tool_result", "tool_use_id": call, "is_error": is_error, "content": "x"}
    entry = {"type": "user", "message": {"content": [block]}, "toolUseResult": response, **more}
    return json.dumps(entry, separators=(",", ":")) + "\n"


def completed(call: str, text: str) -> dict[str, object]:
    return {"status": "completed", "agentId": f"run of {call}", "content": [{"type": "text", "text": text}]}


def test_what_a_call_returned_is_taken_from_the_transcript_where_its_event_was_lost(
    project: Workspace, tmp_path: Path
) -> None:
    """A result, a launch into the background and an error; nothing of a call that nobody waits for."""
    path = tmp_path / "transcript.jsonl"
    calls = ("done", "beside", "broke", "open", "judged")
    path.write_text(
        answer("judged", completed("judged", "Late."))
        + answer("broke", "Error: Agent type 'builder' not found", is_error=True)
        + answer("beside", {"status": "async_launched", "agentId": "run of beside", "outputFile": "/tasks/beside"})
        + answer("done", completed("done", "All done."))
        + answer("nobody's", completed("nobody's", "Lost."))
        + answer("open", "The user rejected it", is_error=True)
        + answer("open", completed("open", "A subagent's"), isSidechain=True)
    )
    for call in calls:
        launch(project, call, f"phase of {call}")
    agents.judge(project, only(project, "judged"), "completed")

    agents.catch_up_calls(project, ME, str(path))

    due = [each for each in agents.launched(project, ME) if each.state not in agents.BEGUN]
    assert sorted((each.call, each.outcome, each.words) for each in due) == [
        ("broke", "failed", "Agent type 'builder' not found"),
        ("done", "completed", "All done."),
    ]
    found = {each.call: each for each in agents.list_launched(project, ME) if each.named}
    assert {call: each.status for call, each in found.items()} == {
        "done": "used",
        "broke": "used",
        "beside": "running",
    }
    assert found["beside"].output == "/tasks/beside"
    assert [each.call for each in agents.unanswered(project, ME)] == ["open"]
