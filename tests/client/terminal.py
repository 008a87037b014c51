"""The client's terminal interface, in a tmux of its own: teams exist only there."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.runner import Client

TMUX = shutil.which("tmux")


class Terminal:
    """A running client that a person types to."""

    def __init__(self, client: Client, *arguments: str) -> None:
        assert TMUX
        self._socket = client.home / "tmux"
        environ = client.environ | {"TERM": "xterm-256color"}
        given = [f"{name}={value}" for name, value in environ.items()]
        words = ["env", "-i", *given, str(client.binary), "--model", client.model, *arguments]
        self._tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "160",
            "-y",
            "50",
            "-c",
            str(client.project),
            shlex.join(words),
        )

    def _tmux(self, *arguments: str) -> str:
        assert TMUX
        ran = subprocess.run([TMUX, "-S", str(self._socket), *arguments], capture_output=True, text=True, check=False)
        return ran.stdout

    @property
    def screen(self) -> str:
        """What it shows."""
        return self._tmux("capture-pane", "-p") or "it has ended"

    def prompt(self, text: str) -> None:
        """Type a prompt."""
        self._tmux("send-keys", "-l", text)
        time.sleep(0.5)  # else the client takes both for a paste
        self._tmux("send-keys", "Enter")

    def until(self, met: Callable[[], object], timeout_s: float = 90) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + timeout_s
        while not met():
            assert time.monotonic() < end, f"it never came; the screen:\n{self.screen}"
            time.sleep(0.2)

    def close(self) -> None:
        """End it, and all that it started."""
        self._tmux("kill-server")
