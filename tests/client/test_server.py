"""The warm server with the real client: it answers the events, and a guard holds when it dies."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from holdfast.server import control
from tests import warmth
from tests.client.model import bash, say
from tests.client.runner import SERVER
from tests.client.test_handlers import DENY, put

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.world import World

SLOW = '''
import sys
import time
from pathlib import Path
from holdfast import deny, hookimpl

@hookimpl(match="Bash")
def on_pre_tool_use(event, context):
    """Refuse after a while."""
    if "slowly" in event.tool_input.get("command", ""):
        (context.root / "begun").write_text(" ".join(sys.argv))
        time.sleep(2)
        return deny("refused slowly")
'''


def answers(world: World) -> int:
    """Return how many events the one server of this home has answered."""
    said = control.ask(place(world))
    return int(said["answered"]) if said else 0


def place(world: World) -> Path:
    """Return where the server of this home listens."""
    folder = world.client.home / ".local" / "state" / "holdfast" / "server"
    warmth.Warm.until(lambda: any(control.holder(each.with_suffix("")) for each in folder.glob("*.lock")))
    return next(each.with_suffix("") for each in folder.glob("*.lock"))


@pytest.mark.scenario(15)
@pytest.mark.skipif(SERVER != "warm", reason="shows what a server that is left alone does")
def test_its_events_are_warm(world: World) -> None:
    """Of a session's events all but the first ones are answered by the server that the first one started."""
    put(world, no=DENY)
    world.model.turns = [say("Hello.")]
    session = world.client.session()
    session.prompt("Begin.")
    warmth.Warm.until(lambda: control.ask(place(world)) is not None)
    before = answers(world)

    world.model.turns = [*(bash(f"echo {number}") for number in range(6)), bash("touch forbidden"), say("Done.")]
    session.prompt("Go on.")

    # Seven PreToolUse, one UserPromptSubmit and one Stop; a busy machine may have one of them go cold.
    assert answers(world) - before >= 8
    assert "this is forbidden here" in world.model.of("main")[-1].last
    assert not (world.project / "forbidden").exists()
    assert not world.complaints


@pytest.mark.scenario(15)
@pytest.mark.skipif(SERVER != "warm", reason="kills the server itself")
@pytest.mark.parametrize("moment", ["between", "within"])
def test_a_guard_holds_when_the_server_is_killed(world: World, moment: str) -> None:
    """Between two events or while a handler runs: the refusal reaches the client all the same."""
    put(world, no=SLOW)
    world.model.turns = [say("Hello.")]
    session = world.client.session()
    session.prompt("Begin.")
    warmth.Warm.until(lambda: control.ask(place(world)) is not None)
    pid = control.holder(place(world))
    if moment == "between":
        os.kill(pid, signal.SIGKILL)

    world.model.turns = [bash("echo slowly"), say("Done.")]
    with warmth.once((world.project / "begun").exists, lambda: kill(pid)):
        session.prompt("Go on.")

    assert "refused slowly" in world.model.of("main")[-1].last
    if moment == "within":  # between two, another server may have started for the prompt
        assert "--serve" in (world.project / "begun").read_text().split()
    assert not world.complaints


def kill(pid: int) -> None:
    """Kill the server, if it still runs."""
    if not warmth.gone(pid):
        os.kill(pid, signal.SIGKILL)
