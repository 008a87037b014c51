"""Agents on the real client that are launched again: after a compaction, a kill, and in a new session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.client.model import agent, bash, call, say
from tests.client.test_compaction import AUTO, FULL
from tests.client.test_script_runs import Fleet, fleet
from tests.waiting import until

if TYPE_CHECKING:
    from tests.client.runner import Session

__all__ = ["fleet"]

SKIP = "--dangerously-skip-permissions"


def both(session: Session, fleet: Fleet, prompt: str) -> None:
    """Have the model launch two agents in the background."""
    fleet.world.model.turns = [
        agent("First", "AGENT-1 do item", background=True),
        agent("Second", "AGENT-2 do item", background=True),
        say("Launched."),
    ]
    session.prompt(prompt)


def notices(fleet: Fleet) -> str:
    """Return what the main conversation was told so far."""
    return "".join(each.text for each in fleet.world.model.of("main"))


def conversation(fleet: Fleet) -> str:
    """Return the main conversation's last request as text."""
    return fleet.world.model.of("main")[-1].text


def hear(session: Session, fleet: Fleet, result: str) -> None:
    """Wait for the turn that a result's notification makes; a quick one comes within the turn that launched both."""
    if result not in fleet.world.model.of("main")[2].text:  # the request after two launches
        session.wait()
    assert result in notices(fleet)


def cut_off(fleet: Fleet, written: str = "") -> str:
    """Kill a session whose first agent has finished and whose second one is at work; return the session's id.

    Args:
        fleet: the agents.
        written: a text that an agent's transcript must hold before: the client writes it late.
    """
    fleet.stuck = {"2"}
    session = fleet.world.client.session(SKIP)
    both(session, fleet, "Do both.")
    until(lambda: "RESULT-1-1" in notices(fleet) and fleet.asked["2"])
    config = fleet.world.client.config
    until(lambda: any(written in each.read_text() for each in config.glob("projects/*/*/subagents/agent-*.jsonl")))
    session.kill()
    fleet.stuck = set()
    fleet.again()
    return session.id


@pytest.mark.scenario(16)
def test_after_a_compaction_a_running_agent_is_not_started_twice(fleet: Fleet) -> None:
    """The one that runs is refused. The other one's result was used, so asked for by another prompt it runs again."""
    fleet.stuck = {"2"}
    session = fleet.world.client.session(SKIP)
    both(session, fleet, "Do both.")
    hear(session, fleet, "RESULT-1-1")
    fleet.world.model.turns = []
    session.prompt("/compact")
    both(session, fleet, "Go on.")
    assert fleet.again() == {"1": 2, "2": 1}
    assert "This agent is running already: general-purpose" in conversation(fleet)


@pytest.mark.scenario(16)
def test_agents_asked_for_again_start_again(fleet: Fleet) -> None:
    """Another prompt of a person, and identical agents in one turn, start agents as ever."""
    session = fleet.world.client.session(SKIP)
    for _ in range(2):
        fleet.world.model.turns = [agent("First", "AGENT-1 do item"), agent("Again", "AGENT-1 do item"), say("Done.")]
        session.prompt("Do it.")
    assert fleet.again() == {"1": 4}


@pytest.mark.scenario(16)
@pytest.mark.parametrize("resumed", [True, False])
def test_an_interrupted_agent_goes_on_with_what_it_had_done(fleet: Fleet, resumed: bool) -> None:
    """Its tool's result is in the request that SendMessage makes, in the resumed session and in a new one.

    The agent that has finished answers with its result.
    """
    fleet.world.model.agents["AGENT-2 do"] = [bash("echo the-work-of-$((40 + 2))")]
    first = cut_off(fleet, "the-work-of-42")
    second = fleet.world.client.session(SKIP, *(("--resume", first) if resumed else ()))
    both(second, fleet, "Do both.")
    refused = re.compile(r"can go on where it was: use SendMessage with to: '(\w+)'")
    until(lambda: refused.search(conversation(fleet)))  # a resumed client begins with a turn of its own
    text = conversation(fleet)
    found = refused.search(text)
    assert found
    assert "This agent has finished already" in text and "RESULT-1-1" in text
    assert not fleet.again()
    fleet.world.model.turns = [
        call("SendMessage", to=found[1], message="Continue your task.", summary="Continue"),
        say("Ok."),
    ]
    second.prompt("Continue it.")
    until(lambda: fleet.said.get("2"))
    assert "the-work-of-42" in fleet.world.model.of("agent")[-1].text
    assert fleet.again() == {"2": 1}
    assert not fleet.world.complaints_after_a_kill


@pytest.mark.scenario(16)
@pytest.mark.parametrize("choice", ["off", pytest.param("tell", marks=pytest.mark.nightly)])
def test_the_configuration_decides(fleet: Fleet, choice: str) -> None:
    """Both agents run again in a new session; with `tell` the model learns of the finished one's result."""
    cut_off(fleet)
    fleet.world.configure(f'agents = "{choice}"\n')
    second = fleet.world.client.session(SKIP)
    both(second, fleet, "Do both.")
    until(lambda: fleet.asked["1"] and fleet.asked["2"])
    assert ("This agent has finished already" in conversation(fleet)) is (choice == "tell")


@pytest.mark.scenario(16)
def test_after_an_automatic_compaction_a_running_agent_is_not_started_twice(fleet: Fleet) -> None:
    """The context is full while it runs; launched again in the same turn, under the same prompt, both are refused."""
    fleet.world.client.extra = AUTO
    fleet.stuck = {"2"}
    session = fleet.world.client.session(SKIP)
    session.prompt("Begin.")
    fleet.world.model.turns = [
        agent("First", "AGENT-1 do item"),
        agent("Second", "AGENT-2 do item", background=True),
        bash("echo one", tokens=FULL),
        agent("First", "AGENT-1 do item"),
        agent("Second", "AGENT-2 do item", background=True),
        say("Launched."),
    ]
    session.prompt("Do both.")
    assert fleet.world.model.of("summary")
    assert fleet.again() == {"1": 1, "2": 1}
    assert "This agent is running already: general-purpose" in conversation(fleet)
    assert "This agent has finished already" in conversation(fleet)
