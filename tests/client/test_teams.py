"""Teams in the client's terminal: after a compaction the model knows them, and launches none twice."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.client.model import Reply, say
from tests.client.terminal import TMUX, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.client.model import Request
    from tests.client.world import World

PROMPT = "TEAMTASK do the first half"
_calls = itertools.count(800_000)


@pytest.fixture
def terminal(world: World) -> Iterator[Callable[..., Terminal]]:
    """A function that starts the terminal of a client that has teams."""
    if world.version == "2.1.197":
        pytest.skip("this client has no teams")
    if TMUX is None:
        pytest.skip("needs tmux, for the client's terminal")
    world.client.extra["CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"] = "1"
    made: list[Terminal] = []

    def start(*arguments: str, panes: bool = False) -> Terminal:
        made.append(Terminal(world.client, *arguments, panes=panes))
        made[0].until(lambda: "❯" in made[0].screen or ">" in made[0].screen)
        return made[0]

    yield start
    for each in made:
        each.close()


def mate(name: str) -> Reply:
    """Return a reply that launches a teammate."""
    asked = {"description": "mate", "prompt": PROMPT, "subagent_type": "general-purpose", "name": name}
    return Reply(({"type": "tool_use", "id": f"toolu_{next(_calls):06d}", "name": "Agent", "input": asked},))


def after_compaction(world: World, there: Terminal) -> str:
    """Let the model launch alice once more after a compaction; return what it has been told by then."""
    there.prompt("/compact")
    there.until(lambda: world.model.of("summary"))
    world.model.turns = [mate("alice"), say("Ok.")]
    there.prompt("Go on.")
    there.until(lambda: "is there already" in world.model.of("main")[-1].text)
    return world.model.of("main")[-1].text


@pytest.mark.scenario(16)
def test_a_teammate_is_known_after_a_compaction(world: World, terminal: Callable[..., Terminal]) -> None:
    """The next request names alice with her report; launching another alice is refused, and she stays the only one."""
    started = []

    def of_the_team(request: Request) -> Reply | None:
        if PROMPT not in request.text:
            return None
        started.append(request)
        return say("REPORT-1: the first half is done.")

    world.model.fleet = of_the_team
    there = terminal()
    world.model.turns = [mate("alice"), say("Launched.")]
    there.prompt("Make a team.")
    there.until(lambda: "REPORT-1" in str(world.agents))
    requests = len(world.model.of("main"))
    told = after_compaction(world, there)
    assert "teammate alice (" in told and "is there; use SendMessage" in told
    assert "REPORT-1" in told
    assert len({row["run"] for row in world.agents}) == 1
    assert requests < len(world.model.of("main"))
    assert not world.complaints


@pytest.mark.scenario(16)
def test_a_teammate_in_a_pane_of_its_own(world: World, terminal: Callable[..., Terminal]) -> None:
    """It is a client and a session of its own, so its reports are there. It is named, and launched only once."""
    there = terminal("--teammate-mode", "tmux", panes=True)
    world.model.turns = [mate("alice"), say("Launched.")]
    there.prompt("Make a team.")
    there.until(lambda: [each for each in world.model.of("main") if "idle_notification" in each.last])
    assert len(there.panes) == 2
    told = after_compaction(world, there)
    assert "teammate alice (alice@" in told and "is there; use SendMessage" in told
    assert len(there.panes) == 2
    assert [row["name"] for row in world.agents if row["kind"] == "teammate"] == ["alice"]
    assert not world.complaints
