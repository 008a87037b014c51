"""What a session is told of agents that others left, or that it launched before its conversation began anew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.sessions import agent_roster
from tests.handlers.test_reuse_scripts import LIVES, PROMPTS, RUN, launches, new_session, script
from tests.signals import Agent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.handlers.test_reuse_scripts import Launches

__all__ = ["launches"]

LEAD = "Agents of this session or of earlier work in this project."
NOTICE = f"<task-notification>\n<task-id>task-{RUN}</task-id>\n<status>completed</status>\n</task-notification>"


def working(launches: Launches, number: int = 1, description: str = "Look") -> Agent:
    """Return an agent that runs in the background, whose transcript the client has begun."""
    made = Agent(launches.project, description, prompt=f"{description}.", number=0x1A2B3C4D5E6F7A80 + number)
    made.arguments["run_in_background"] = True  # type: ignore[index]
    made.about_to()
    made.launched()
    made.started()
    file = own(launches, made)
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": f"{description}."}}), "utf-8")
    return made


def own(launches: Launches, agent: Agent) -> Path:
    """Return the place of an agent's transcript in the present session."""
    return launches.transcript.with_suffix("") / "subagents" / f"agent-{agent.run}.jsonl"


def test_an_agent_that_was_cut_off_is_named_and_can_go_on(launches: Launches) -> None:
    """Its transcript is beside the new session's; the earlier one stays."""
    made = working(launches)
    before = own(launches, made)
    told = new_session(launches).context
    assert f"builder ({made.run}) was interrupted; SendMessage to its id continues it (launched for" in told
    assert own(launches, made).read_bytes() == before.read_bytes()
    assert own(launches, made) != before


def test_a_result_that_nobody_used_is_told_once_it_is_used_no_more(launches: Launches) -> None:
    """The session ended before its notification came. What failed has no result, and isn't offered."""
    made, failed = working(launches), working(launches, 2, "Fail")
    made.stopped("Seven findings.")
    failed.died()
    told = new_session(launches).context
    assert made.run in told
    assert "Seven findings." in told
    assert failed.run not in told
    Agent(launches.project, "Look", prompt="Look.", number=0x1A2B3C4D5E6F7A90).about_to().assert_denied(
        "Seven findings."
    )
    assert "Seven findings." not in launches.compact().context


def test_a_running_script_is_named_with_its_task(launches: Launches) -> None:
    """After a compaction, in the client process that runs it."""
    launches.process = LIVES
    launches.ran()
    assert (
        f'script "review", run {RUN} (task task-{RUN}) is running, 5 of 6 agents finished' in launches.compact().context
    )


def test_a_script_that_was_cut_off_is_named_with_how_to_go_on(launches: Launches) -> None:
    """And its journal is there for the client, which looks for it before any hook hears of the call."""
    launches.ran()
    told = new_session(launches).context
    assert f"run {RUN} was interrupted, 5 of 6 agents finished. Resume: Workflow({{scriptPath: " in told
    assert f"resumeFromRunId: '{RUN}'}}), with the same args; results: " in told
    assert (launches.transcript.with_suffix("") / "subagents" / "workflows" / RUN / "journal.jsonl").exists()


def test_a_result_that_the_conversation_has_is_not_named(launches: Launches) -> None:
    """The notification is in the transcript, although no event told of it."""
    launches.ran(done=PROMPTS)
    launches.ended()
    assert f"run {RUN} has finished" in launches.compact().context
    entry = {"type": "user", "message": {"role": "user", "content": NOTICE}, "origin": {"kind": "task-notification"}}
    launches.transcript.write_text(json.dumps(entry) + "\n", "utf-8")
    assert RUN not in launches.compact().context


def test_only_the_session_that_has_a_result_is_told_where_it_is(launches: Launches) -> None:
    """After a compaction its model may have lost it; another session never had it."""
    launches.ran(done=PROMPTS)
    launches.fire("UserPromptSubmit", prompt=NOTICE)
    assert f"run {RUN} has finished, 6 of 6 agents finished; results: " in launches.compact().context
    new_session(launches)
    assert RUN not in launches.compact().context


def test_more_than_fits_is_counted(launches: Launches) -> None:
    """The text stays within its limit, and says where the rest is."""
    for number in range(1, 10):
        launches.ran(f"wf_0000000{number}-abc", script(f"Part {number}", name=f"script number {number}" * 4), ())
    told = new_session(launches).context
    part = told[told.index(LEAD) :]
    assert "more: `holdfast agents`" in part
    named = part.count("was interrupted")
    assert f"{9 - named} more: " in part
    assert len(part) < agent_roster.LIMIT_CHARS + 600
