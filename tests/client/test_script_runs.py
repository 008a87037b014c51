"""Scripts of agents on the real client: which agents ask the model when a script is launched again."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.client.model import Reply, Request, call, fail, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.runner import Session
    from tests.client.world import World

SIX = """export const meta = {name: 'six', description: 'six agents', phases: [{title: 'Work'}]}
const items = [1, 2, 3, 4, 5, 6]
const r = await parallel(items.map(i => () => agent('AGENT-' + i + ' do item', {label: 'a' + i, phase: 'Work'})))
return r
"""
ALL = ["1", "2", "3", "4", "5", "6"]
_AGENT = re.compile(r"AGENT-(\w+) do")


class Fleet:
    """Answers for the agents of scripts.

    Attributes:
        asked: how often each agent asked the model.
        stuck: agents that get no answer.
        failing: agents whose requests fail.
        said: what each agent answered last.
    """

    def __init__(self, world: World) -> None:
        self.world, self.asked, self.said = world, Counter[str](), dict[str, str]()
        self.stuck, self.failing = set[str](), set[str]()
        world.model.fleet = self.answer

    def answer(self, request: Request) -> Reply | None:
        """Answer an agent of a script; None for any other."""
        found = _AGENT.search(request.text)
        if not found:
            return None
        name = found[1]
        self.asked[name] += 1
        if name in self.failing:
            return fail(400, "invalid_request_error", "scripted failure")
        said = f"RESULT-{name}-{self.asked[name]}"
        reply = say(said)
        if name in self.stuck:
            return Reply(reply.content, held=threading.Event())
        self.said[name] = said
        return reply

    def again(self) -> Counter[str]:
        """Return how often agents have asked since this was called last."""
        asked, self.asked = self.asked, Counter()
        return asked


def until(met: Callable[[], object], timeout_s: float = 90) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + timeout_s
    while not met():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)


def results(world: World) -> int:
    """Return how many results the client has written into the journals of its sessions."""
    journals = world.client.config.glob("projects/*/*/subagents/workflows/*/journal.jsonl")
    return sum(each.read_text().count('"type":"result"') for each in journals)


def ended(world: World) -> str:
    """Return the last request of the main conversation with a notification of a run's end."""
    found = [each.text for each in world.model.of("main") if "<task-notification>" in each.last]
    return found[-1] if found else ""


def launch(world: World, session: Session, prompt: str, **given: Any) -> None:
    """Have the model launch a script."""
    world.model.turns = [call("Workflow", **given), say("Launched.")]
    session.prompt(prompt)


def finish(session: Session) -> None:
    """Wait for the turn that a run's end makes."""
    session.wait(timeout=120)


@pytest.fixture
def fleet(world: World) -> Fleet:
    """The agents of a world whose client has the Workflow tool."""
    if world.version == "2.1.197":
        pytest.skip("this client has no Workflow tool")
    return Fleet(world)


@pytest.mark.scenario(16)
def test_a_new_session_runs_only_what_was_interrupted(fleet: Fleet, world: World) -> None:
    """After kill -9, the same script in a new session starts only the agent that had not finished."""
    fleet.stuck = {"3"}
    first = world.client.session("--dangerously-skip-permissions")
    launch(world, first, "Do the six.", script=SIX)
    until(lambda: results(world) == 5)
    first.kill()
    fleet.stuck.clear()
    assert sorted(fleet.again()) == ALL
    second = world.client.session("--dangerously-skip-permissions")
    launch(world, second, "Do the six.", script=SIX)
    finish(second)
    assert fleet.again() == {"3": 1}
    assert [f"RESULT-{each}-" in ended(world) for each in ALL] == [True] * 6
