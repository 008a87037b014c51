"""The client's terminal shows the workflow in its status line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.model import bash, say
from tests.client.terminal import TMUX, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client.world import World


@pytest.fixture
def terminal(bare: World) -> Iterator[Terminal]:
    """The terminal of a client whose status line was installed."""
    if TMUX is None:
        pytest.skip("needs tmux, for the client's terminal")
    bare.holdfast("install", "--yes", "--statusline")
    made = Terminal(bare.client)
    yield made
    made.close()


@pytest.mark.scenario(17)
def test_the_status_line_follows_the_workflow(bare: World, terminal: Terminal) -> None:
    """From the session that starts one, through a command in another terminal, to its end."""
    terminal.until(lambda: "❯" in terminal.screen or ">" in terminal.screen)
    bare.model.turns = [bash("holdfast start 'User auth' --phase Design --phase Build"), say("Started.")]
    terminal.prompt("Start.")
    terminal.until(lambda: "User auth · phase 1/2 Design · saved" in terminal.screen)

    bare.model.turns = [say("Ok.")]
    bare.holdfast("done")
    terminal.prompt("Go on.")
    terminal.until(lambda: "User auth · phase 2/2 Build · saved" in terminal.screen)

    bare.model.turns = [bash("holdfast done"), say("Done.")]
    terminal.prompt("Finish.")
    terminal.until(lambda: "User auth · phase" not in terminal.screen)
    assert not bare.complaints
