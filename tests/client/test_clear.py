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
def test_what_is_at_work_goes_on(world: World, terminal: Callable[..., Terminal]) -> None:
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
    world.holdfast("install", "--scope", "user", "--allow-cli")
    world.holdfast("start", "Work", "--format", "hybrid", "--phase", "Design @general-purpose", "--phase", "Build")
    world.model.fleet = at_work
    there = terminal("--allowedTools", "Agent,Workflow,SendMessage")
    world.model.turns = [*launches()]
    there.prompt("Do it.")
    there.until(lambda: len(asked) == 4 and "REPORT-1" in str(world.rows("runs")))
    first = {row["id"] for row in world.rows("sessions")}
    there.prompt("/clear")
    there.until(lambda: {row["id"] for row in world.rows("sessions")} - first)
    world.model.turns = [*launches()]
    requests = len(world.model.of("main"))
    there.prompt("Do it.")
    there.until(lambda: len(world.model.of("main")) >= requests + 4)
    print(world.model.of("main")[-1].text[-6000:])
    print(asked)
    for _, held in answers.values():
        if held:
            held.set()
    import time

    time.sleep(8)
    print(world.state)
    print(world.recorded)
    for row in world.rows("sessions"):
        print(row)
    for t in ("launches", "runs", "agent_calls", "script_runs", "script_agents", "owners"):
        for row in world.rows(t):
            print(t, {k: str(v)[:40] for k, v in row.items()})
    print(world.complaints)
    assert False
