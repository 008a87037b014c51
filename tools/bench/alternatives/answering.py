"""How a long-lived process answers an event: it does the trivial job itself, or asks the warm server."""

from __future__ import annotations

import json
from pathlib import Path

from tools.bench.alternatives.relay import Relay
from tools.bench.jobs.plain import verdict


class Answering:
    """The trivial job, done in this process or, given a launcher, by that launcher's server."""

    def __init__(self, launcher: str | None) -> None:
        self._relay = Relay(Path(launcher)) if launcher else None

    def answer(self, payload: bytes) -> bytes:
        """Return the hook's answer to an event."""
        if self._relay:
            return self._relay.ask("PreToolUse", payload)
        return verdict(json.loads(payload)).encode()
