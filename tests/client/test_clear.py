"""`/clear` in the client's terminal, with an agent, a script, a phase and a team at work."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.client.model import Reply, agent, call, say
from tests.client.test_events import RECORD
from tests.client.test_teams import PROMPT, mate, terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.model import Request
    from tests.client.terminal import Terminal
    from tests.client.world import World

__all__ = ["terminal"]

SCRIPT = """export const meta = {name: 'pair', description: 'two agents', phases: [{title: 'Work'}]}
return await parallel([1, 2].map(i => () => agent('SCRIPTED-' + i + ' do item', {label: 'a' + i, phase: 'Work'})))
"""
REPORT = "DELIVERABLES:\n- src/design.md\nCONTEXT_FOR_NEXT: build on it"


@pytest.mark.scenario(16)
def test_running_agents_survive_clear_and_start_only_once(world: World, terminal: Callable[..., Terminal]) -> None:
    """Nothing that runs starts twice, and what it brings later counts: for the phase, and for the script."""
    asked: list[str] = []
    answers = {
        "DESIGNER do": (REPORT, threading.Event()),
        "SCRIPTED-1 do": ("ONE", None),
        "SCRIPTED-2 do": ("TWO", threading.Event()),
        PROMPT: ("REPORT-1: the first half is done.", None),
    }

    def at_work(request: Request) -> Reply | None:
        for needle, (said, held) in answers.items():
            if needle in request.text:
                asked.append(needle)
                return say(said, held=held)
        return None

    def launches() -> list[Reply]:
        return [
            agent("Design", "DESIGNER do the design", background=True),
            call("Workflow", script=SCRIPT),
            mate("alice"),
            say("Launched."),
        ]

    world.configure(RECORD)
    world.holdfast("install", "--scope", "user", "--yes")
    world.holdfast("start", "Work", "--format", "hybrid", "--phase", "Design @general-purpose", "--phase", "Build")
    world.model.fleet = at_work
    there = terminal("--allowedTools", "Agent,Workflow,SendMessage")
    world.model.turns = [*launches()]
    there.prompt("Do it.")
    there.until(lambda: not world.model.turns and len(asked) == 4)
    there.until(lambda: all(each in str(world.agents) for each in ("REPORT-1", "ONE")))
    there.prompt("/clear")
    there.until(lambda: len(world.session_ids) == 2)
    world.model.turns = [*launches()]  # only now: a late request of the first conversation must not take one
    requests = len(world.model.of("main"))
    there.prompt("Do it.")
    there.until(lambda: not world.model.turns and len(world.model.of("main")) >= requests + 4)
    told = "\n".join(each.text for each in world.model.of("main")[requests:])
    assert ") is running" in told, "the start names what runs"
    assert "This agent is running already: general-purpose" in told
    assert "This script is running already: run wf_" in told
    assert "The teammate alice is there already" in told
    assert len(asked) == 4, "nothing started twice"

    for _, held in answers.values():
        if held:
            held.set()
    there.until(lambda: world.state["phases"][0]["status"] == "completed")
    assert world.state["phases"][0]["deliverables"] == ["src/design.md"]
    there.until(lambda: world.scripts[0]["state"] == "completed")
    assert sorted(each["result"] for each in world.agents if each["parent"]) == ["ONE", "TWO"]
    assert len({each["conversation"] for each in world.rows("agents")}) == 1
    assert len(world.owners) == 1
    assert world.recorded.index("SessionEnd") < world.recorded.index("SessionStart", 1)

    # Asked for anew in a conversation that was cleared, what has ended runs again.
    world.model.turns = []
    requests = len(world.model.of("main"))
    there.prompt("/clear")
    there.until(lambda: len(world.session_ids) == 3)
    world.model.turns = [*launches()[:2]]
    there.prompt("Do it.")
    there.until(lambda: sorted(asked[4:]) == ["DESIGNER do", "SCRIPTED-1 do", "SCRIPTED-2 do"])
    assert not world.complaints
