"""Hand an event from another transport to the warm server, as the installed entrypoint does."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from holdfast import relay

if TYPE_CHECKING:
    from pathlib import Path


class Relay:
    """A client of the warm server in a long-lived process; it answers one event at a time."""

    def __init__(self, launcher: Path) -> None:
        self._launcher = launcher

    def ask(self, event: str, payload: bytes) -> bytes:
        """Return what the server's child prints for an event; if the server doesn't answer, run the launcher cold."""
        data, said = os.memfd_create("payload"), os.memfd_create("answer")
        os.write(data, payload)
        os.lseek(data, 0, os.SEEK_SET)
        kept = [os.dup(number) for number in (0, 1)]
        try:
            for number, descriptor in enumerate((data, said)):
                os.dup2(descriptor, number)
            code = relay.ask(str(self._launcher), event)
        finally:
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
                os.close(descriptor)
        try:
            if code is None:
                return self._cold(event, payload)
            return os.pread(said, 1 << 20, 0)
        finally:
            os.close(data)
            os.close(said)

    def _cold(self, event: str, payload: bytes) -> bytes:
        environ = {**os.environ, "HOLDFAST_SERVER": "off"}
        done = subprocess.run([self._launcher, event], input=payload, env=environ, capture_output=True, check=False)
        return done.stdout
