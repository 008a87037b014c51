"""The client's terminal interface, in a tmux of its own: teams exist only there."""

from __future__ import annotations

import itertools
import shlex
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from tests import waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.runner import Client

TMUX = shutil.which("tmux")
_NUMBERS = itertools.count(1)  # each terminal has a tmux of its own


class Terminal:
    """A running client that a person types to."""

    def __init__(self, client: Client, *arguments: str, panes: bool = False) -> None:
        """Start it.

        Args:
            client: the client.
            arguments: its command line.
            panes: whether it knows that it is in tmux, so that it can give each teammate a process in a pane.
        """
        assert TMUX
        self._socket = client.home / f"tmux-{next(_NUMBERS)}"
        self._environ = client.environ | {"TERM": "xterm-256color"}
        alone = [] if panes else ["env", "-u", "TMUX", "-u", "TMUX_PANE"]
        command = shlex.join([*alone, str(client.binary), "--model", client.model, *arguments])
        place = ("-x", "160", "-y", "50", "-c", str(client.project))
        stays = ("set-option", "-s", "exit-empty", "off")  # so that it reaps a client that was killed
        self._tmux("-f", "/dev/null", "new-session", "-d", *place, command, ";", *stays)

    def _tmux(self, *arguments: str) -> str:
        assert TMUX
        command = [TMUX, "-S", str(self._socket), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=self._environ)
        return ran.stdout

    @property
    def panes(self) -> list[str]:
        """What each pane shows; the first is the one that was started."""
        found = self._tmux("list-panes", "-a", "-F", "#{pane_id}").split()
        return [self._tmux("capture-pane", "-p", "-t", each) for each in found]

    @property
    def screen(self) -> str:
        """What it shows."""
        return self._tmux("capture-pane", "-p", "-t", "%0") or "it has ended"

    def prompt(self, text: str) -> None:
        """Type a prompt."""
        self._tmux("send-keys", "-t", "%0", "-l", text)
        time.sleep(0.5)  # else the client takes both for a paste
        self._tmux("send-keys", "-t", "%0", "Enter")

    def until(self, met: Callable[[], object], timeout_s: float = 90) -> None:
        """Wait until a condition holds."""
        waiting.until(met, lambda: f"it never came; the screen:\n{self.screen}", patience_s=timeout_s)

    def close(self) -> None:
        """End it, and all that it started."""
        self._tmux("kill-server")
