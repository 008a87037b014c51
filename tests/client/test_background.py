"""Handlers in the background: Claude goes on, and hears of them in the same turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.model import bash, call, say
from tests.client.test_handlers import put

if TYPE_CHECKING:
    from tests.client.world import World

FORMAT = '''
import time
from holdfast import advise, hookimpl, tell_user

@hookimpl(match="Edit|Write", background=True, timeout=60)
def on_post_tool_use(event, context):
    """Take four seconds, and longer until Claude has gone on."""
    time.sleep(4)
    for _ in range(400):
        if (context.root / "next").exists():
            break
        time.sleep(0.1)
    went_on = (context.root / "next").exists()
    (context.root / "done").touch()
    return [advise(f"FORMATTED, Claude went on: {went_on}"), tell_user("USER-WORDS")]
'''
UNTIL_DONE = "while [ ! -e done ]; do sleep 0.2; done; sleep 2"


@pytest.mark.scenario(6)
def test_a_slow_formatter_holds_nobody_up(world: World) -> None:
    """The next call runs before it has ended; its advice and its message come in the same turn."""
    put(world, format=FORMAT)
    write = call("Write", file_path=str(world.project / "a.py"), content="x=1\n")
    world.model.turns = [write, bash("touch next"), bash(UNTIL_DONE), bash("echo last"), say("Done.")]
    session = world.client.session("--permission-mode", "bypassPermissions")
    ran = session.prompt("Begin.")
    requests = world.model.of("main")
    for number, request in enumerate(requests):
        print(number, request.last, sep="\n====\n")
    print(*ran.notices, *world.log, sep="\n")
    assert (world.project / "a.py").exists()
    assert "FORMATTED, Claude went on: True" in "".join(request.last for request in requests[3:])
    assert not any("FORMATTED" in request.last for request in requests[:3])
    assert not any("USER-WORDS" in request.text for request in requests)
    if world.version != "2.1.197":  # which shows it in the terminal only
        assert any("user/format.py: on_post_tool_use says: USER-WORDS" in notice for notice in ran.notices)
    assert not world.complaints
