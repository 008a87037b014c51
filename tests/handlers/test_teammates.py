"""Teammates, who stay after each turn: they are named after a compaction, and none is launched twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients.claude import claude
from tests.commandline import holdfast
from tests.signals import begin

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import Fired, HoldfastProject

MATE = "aalice-578c45bc127aec93"


class Team:
    """A session with a team, in a client process.

    Attributes:
        process: the client process that sends the events.
    """

    def __init__(self, project: HoldfastProject) -> None:
        self.project, self.process, self.calls = project, "4711", 0

    def call(self, name: str = "alice", prompt: str = "Build it.") -> dict[str, Any]:
        """Return the fields of a new call that launches a teammate."""
        self.calls += 1
        asked = {"description": "mate", "prompt": prompt, "subagent_type": "general-purpose", "name": name}
        return {"tool_name": "Agent", "tool_input": asked, "tool_use_id": f"toolu_{self.calls}"}

    def about_to(self, name: str = "alice", prompt: str = "Build it.") -> Fired:
        """Send PreToolUse: the model is about to launch a teammate."""
        return self.project.fire("PreToolUse", "PreToolUse-Agent", **self.call(name, prompt))

    def spawned(self, name: str = "alice", agent: str = MATE, prompt: str = "Build it.") -> None:
        """Let the model launch a teammate, as the client's terminal does."""
        call = self.call(name, prompt)
        assert "permissionDecision" not in self.project.fire("PreToolUse", "PreToolUse-Agent", **call).specific
        response: dict[str, Any] = {
            "status": "teammate_spawned",
            "prompt": prompt,
            "agentId": agent,
            "agent_id": agent,
            "name": name,
        }
        response |= {"teammate_id": f"{name}@session-9ee7063f", "agent_type": "general-purpose"}
        response |= {"team_name": "session-9ee7063f", "is_splitpane": False, "tmux_session_name": "in-process"}
        self.project.fire("PostToolUse", "PostToolUse-Agent", **call, tool_response=response)
        self.project.fire("SubagentStart", agent_id=agent, agent_type=name)

    def idle(self, words: str, name: str = "alice", agent: str = MATE) -> None:
        """Let a teammate's turn end with a report."""
        self.project.fire("SubagentStop", agent_id=agent, agent_type=name, last_assistant_message=words)
        self.project.fire("TeammateIdle", agent_id=agent, agent_type=name, teammate_name=name, team_name="session")
        listed = [{"id": agent, "type": "teammate", "status": "running", "description": "mate", "name": name}]
        self.project.fire("Stop", background_tasks=listed)

    def compact(self) -> str:
        """Let the conversation begin anew, and return what Claude is told."""
        self.project.fire("PreCompact", "PreCompact-auto")
        return begin(self.project, "compact").context


@pytest.fixture
def team(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> Team:
    """A session in which a person has asked for a team."""
    made = Team(holdfast_project({}))
    monkeypatch.setattr(claude, "process", lambda environ: made.process)
    begin(made.project, "startup")
    made.project.fire("UserPromptSubmit", prompt="Make a team.", prompt_id="first")
    return made


def test_after_a_compaction_the_roster_names_each_teammate_and_the_last_report(team: Team) -> None:
    """By the id that SendMessage takes, one line each; what a teammate said before the last report is not told."""
    team.spawned()
    team.spawned("bob", "abob-0209e12a12b6574f", "Test it.")
    team.idle("The first half is built.")
    team.idle("All of it is built.")
    told = team.compact()
    assert told.count(f"teammate alice ({MATE}) is there; use SendMessage, don't start it again") == 1
    assert told.count("teammate bob (abob-0209e12a12b6574f) is there") == 1
    assert told.count("All of it is built.") == 1
    assert "The first half" not in told


def test_one_that_is_there_is_not_launched_again(team: Team) -> None:
    """Under whatever prompt; the client would make an alice-2. Another name is another teammate."""
    team.spawned()
    team.idle("Built.")
    team.compact()
    team.about_to(prompt="Build the next thing.").assert_denied("teammate alice is there", "SendMessage to: 'alice'")
    assert "results used again" not in holdfast("log", root=team.project.root).out
    assert "permissionDecision" not in team.about_to("carol").specific


def test_what_the_model_calls_twice_without_a_compaction_it_means(team: Team) -> None:
    """It knows of the first one; the client makes an alice-2."""
    team.spawned()
    team.idle("Built.")
    assert "permissionDecision" not in team.about_to().specific


def test_in_another_process_there_is_no_team(team: Team) -> None:
    """Teammates live in the client's process: after a kill nobody of them is there."""
    team.spawned()
    team.process = "4712"
    told = begin(team.project, "resume").context
    assert "is there" not in told
    assert "is there" not in "".join(team.about_to().stdout)


@pytest.mark.parametrize(("mode", "named", "denied"), [("off", False, False), ("tell", True, False)])
def test_the_configuration_decides(team: Team, mode: str, named: bool, denied: bool) -> None:
    """`tell` names them and lets each call pass."""
    team.project.write({".claude/holdfast.toml": f'agents = "{mode}"\n'})
    team.project.trust()
    team.spawned()
    assert ("teammate alice" in team.compact()) is named
    fired = team.about_to()
    assert ("permissionDecision" in fired.specific) is denied
    assert ("teammate alice is there" in fired.context) is named
