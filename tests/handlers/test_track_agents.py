"""Agents finish, fail and are told apart, whatever the order of their signals."""

from __future__ import annotations

import json
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.hybrid import functions
from holdfast.testing import HoldfastProject
from holdfast.testkit import recorded
from tests import processes
from tests.handlers.conftest import Tool
from tests.handmade import ME, OTHER
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import Fired

BEGUN = ["active", "pending", "pending"]
DONE = ["completed", "active", "pending"]
FAILED = ["failed", "pending", "pending"]


def play(agent: Agent, order: tuple[str, ...]) -> list[Fired]:
    """Fire an agent's signals in an order."""
    steps: dict[str, Callable[[], Fired]] = {
        "started": agent.started,
        "stopped": agent.stopped,
        "returned": agent.returned,
        "launched": agent.launched,
        "notified": agent.notified,
        "died": agent.died,
        "failed": agent.failed,
        "returned an error": agent.returned_api_error,
        "notified failed": lambda: agent.notified("failed", "It broke."),
        "notified killed": lambda: agent.notified("killed", "It was stopped."),
    }
    return [steps[step]() for step in order]


def prompt(tool: Tool) -> Fired:
    """Let the main thread have an event: the user's next prompt."""
    return tool.project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on")


def run_agent(tool: Tool, order: tuple[str, ...]) -> list[Fired]:
    """Launch the first phase's agent, fire its signals in an order, and let the main thread have an event."""
    agent = Agent(tool.project)
    agent.about_to()
    return [*play(agent, order), prompt(tool)]


def told(fired: list[Fired], words: str) -> int:
    """Count the events on which the model was told something."""
    return sum(words in each.context for each in fired)


@pytest.mark.usefixtures("holdfast_project")
@pytest.mark.parametrize(
    ("signals", "statuses", "words"),
    [
        (("started", "stopped", "returned"), DONE, "is completed"),
        (("started", "launched", "stopped", "notified"), DONE, "is completed"),
        (("started", "launched", "died", "notified failed"), FAILED, "is failed"),
        (("started", "failed", "died"), FAILED, "is failed"),
        (("started", "stopped", "returned an error", "died"), FAILED, "is failed (API Error: 529 Overloaded.)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_agents_signals_move_its_phase_once_in_any_order(
    tmp_path: Path, signals: tuple[str, ...], statuses: list[str], words: str
) -> None:
    """R000-28: in the foreground and in the background, whether it fails or not, on old and new clients."""
    found = []
    for number, order in enumerate(permutations(signals)):
        (tmp_path / f"{number}").mkdir()
        tool = Tool(HoldfastProject(tmp_path / f"{number}"))
        fired = run_agent(tool, order)
        if (tool.statuses, told(fired, words)) != (statuses, 1):
            found.append(f"{order}: {tool.statuses}, told {told(fired, words)} times")
    assert not found, "\n".join(found)


def test_a_late_failure_leaves_the_completion_and_is_told_once(tool: Tool) -> None:
    """A wrong completion can be undone by people, never by a hook."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.returned("Calculator made.")
    agent.died("API Error: 529 Overloaded.")
    assert tool.statuses == DONE

    first, second = prompt(tool), prompt(tool)

    first.assert_advised("failure", "API Error: 529", "holdfast reopen")
    assert "phase_0" not in first.context
    assert "failure" not in second.context
    assert tool.statuses == DONE


@pytest.mark.parametrize("words", ["phase_1", "Phase 2/3", "Write and run tests", "write  AND run, tests"])
@pytest.mark.parametrize("field", ["description", "prompt"])
def test_a_reference_beats_the_agents_name(tool: Tool, words: str, field: str) -> None:
    """I000-15: a phase's id or title as description or as the prompt's first line decides, whatever agent does it."""
    asked: dict[str, Any] = {field: words if field == "description" else f"{words}\n\nPlease do it now."}
    agent = Agent(tool.project, **asked)
    agent.about_to()
    assert tool.statuses == ["pending", "active", "pending"]

    agent.returned()
    assert tool.statuses[1] == "completed"


@pytest.mark.parametrize(("description", "kind"), [("phase_0", "Explore"), ("go", "builder")])
def test_a_launch_claims_what_is_nobodys(tool: Tool, description: str, kind: str) -> None:
    """Another live session could own it, but who works on it does; a mention claims nothing."""
    for session in (ME, OTHER):
        tool.project.fire("SessionStart", session_id=session)
    Agent(tool.project, "look at phase_0", "Explore", number=3).returned()
    assert tool.statuses == ["pending"] * 3

    agent = Agent(tool.project, description, kind)
    agent.about_to()
    assert tool.statuses == BEGUN
    Agent(tool.project, "phase_0", number=2, session=OTHER).returned()
    assert tool.statuses == BEGUN, "it is the first one's now"
    agent.returned()
    assert tool.statuses == DONE


BLOCKS = [{"type": "text", "text": "Made it."}]


@pytest.mark.parametrize(
    "response", [None, 5, {"status": "mystery"}, {}, "Made it.", BLOCKS, {"content": BLOCKS}, {"status": "completed"}]
)
def test_a_result_that_is_empty_or_without_a_status_completes_nothing(tool: Tool, response: object) -> None:
    """I000-14: only the status `completed` counts, and only with words that say what was done."""
    agent = Agent(tool.project)
    agent.about_to()
    fired = agent.returned(tool_response=response)

    assert tool.statuses == BEGUN
    if response == {"status": "completed"}:
        fired.assert_advised("is active (its agent returned no result, so it isn't completed", "`holdfast done ")


def test_a_notification_without_a_result_completes_nothing(tool: Tool) -> None:
    """I000-14: the client's own line about the agent isn't its result; one that follows counts."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.launched()
    agent.stopped("")
    assert prompt(tool).context == "", "the notification brings the result"
    agent.notified("completed", "")
    assert tool.statuses == BEGUN
    agent.notified("completed", "Made it.")
    assert tool.statuses == DONE


def stop(tool: Tool, *running: Agent, says: bool = True) -> None:
    """Let the main thread's turn end, with the background agents that the client lists."""
    listed = [{"id": agent.run, "type": "subagent", "status": "running"} for agent in running]
    payload = recorded.load("Stop", session_id=ME, cwd=str(tool.project.root), background_tasks=listed)
    if not says:
        del payload["background_tasks"]
    tool.project.send(payload).assert_silent("track_agents")


def test_a_background_agent_that_was_killed_fails_its_phase(tool: Tool) -> None:
    """Client facts §3.4: it sends no SubagentStop; at the end of a turn the client no longer lists it."""
    agent = Agent(tool.project)
    play(agent, ("started",))
    agent.about_to()
    agent.launched()
    stop(tool, agent)
    prompt(tool)
    assert tool.statuses == BEGUN

    stop(tool)
    assert tool.statuses == BEGUN
    prompt(tool).assert_advised('"Create calculator module" is failed')
    assert tool.statuses == FAILED


def test_a_client_that_lists_no_agents_kills_none(tool: Tool) -> None:
    """Before 2.1.145 Stop did not say what still runs."""
    agent = Agent(tool.project)
    agent.about_to()
    agent.started()
    agent.launched()
    stop(tool, says=False)
    prompt(tool)

    assert tool.statuses == BEGUN


def test_a_huge_result_is_recorded(tmp_path: Path) -> None:
    """Two megabytes without a blank, made to look like the beginning of secrets, don't cost the agent's end."""
    place = processes.make(tmp_path)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()
    functions.create_workflow_state("Huge result", [("First part", "a"), ("Second part", "b")], root=place.root)
    call = {
        "tool_use_id": "toolu_1",
        "tool_input": {"description": "First part", "prompt": "Do it.", "subagent_type": "a"},
    }
    text = "nmcli wifi password" * (2_000_000 // 19)
    assert place.fire(place.payload("PreToolUse-Agent", **call)).exit_code == 0

    response = {"status": "completed", "agentId": "run1", "content": [{"type": "text", "text": text}]}
    ended = place.fire(place.payload("PostToolUse-Agent", **call, tool_response=response))

    state = json.loads((place.root / ".claude" / "state" / "workflow.json").read_bytes())
    assert [phase["status"] for phase in state["phases"]] == ["completed", "active"]
    assert '"First part" is completed' in ended.advice
    assert "error" not in place.log()
