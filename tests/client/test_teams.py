"""Teams in the client's terminal: after a compaction the model knows them, and launches none twice."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.client.model import Reply, say
from tests.client.terminal import TMUX, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client.model import Request
    from tests.client.world import World

PROMPT = "TEAMTASK do the first half"
_calls = itertools.count(800_000)


@pytest.fixture
def terminal(world: World) -> Iterator[Terminal]:
    """The terminal of a client that has teams."""
    if world.version == "2.1.197":
        pytest.skip("this client has no teams")
    if TMUX is None:
        pytest.skip("needs tmux, for the client's terminal")
    world.client.extra["CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"] = "1"
    made = Terminal(world.client)
    yield made
    made.close()


def mate(name: str) -> Reply:
    """Return a reply that launches a teammate."""
    asked = {"description": "mate", "prompt": PROMPT, "subagent_type": "general-purpose", "name": name}
    return Reply(({"type": "tool_use", "id": f"toolu_{next(_calls):06d}", "name": "Agent", "input": asked},))


@pytest.mark.scenario(16)
def test_a_teammate_is_known_after_a_compaction(world: World, terminal: Terminal) -> None:
    """The next request names alice with her report; launching another alice is refused, and she stays the only one."""
    started = []

    def of_the_team(request: Request) -> Reply | None:
        if PROMPT not in request.text:
            return None
        started.append(request)
        return say("REPORT-1: the first half is done.")

    world.model.fleet = of_the_team
    terminal.until(lambda: "❯" in terminal.screen or ">" in terminal.screen)
    world.model.turns = [mate("alice"), say("Launched.")]
    terminal.prompt("Make a team.")
    terminal.until(lambda: world.rows("runs") and "REPORT-1" in str(world.rows("runs")))
    requests = len(world.model.of("main"))
    terminal.prompt("/compact")
    terminal.until(lambda: world.model.of("summary"))
    world.model.turns = [mate("alice"), say("Ok.")]
    terminal.prompt("Go on.")
    terminal.until(lambda: "is there already" in world.model.of("main")[-1].text)
    told = world.model.of("main")[-1].text
    assert "teammate alice (" in told and "is there; use SendMessage" in told
    assert "REPORT-1" in told
    assert len({row["agent_id"] for row in world.rows("runs")}) == 1
    assert requests < len(world.model.of("main"))
    assert not world.complaints
