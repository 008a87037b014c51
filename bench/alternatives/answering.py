"""How a long-lived process answers an event: with the trivial job in itself, or through the warm server."""

from __future__ import annotations

import json
from pathlib import Path

from bench.alternatives.relay import Relay
from bench.jobs.plain import verdict


class Answering:
    """The trivial job, done here, or by the server of the launcher that is given."""

    def __init__(self, launcher: str | None) -> None:
        self._relay = Relay(Path(launcher)) if launcher else None

    def answer(self, payload: bytes) -> bytes:
        """Return what the hook is to say."""
        if self._relay:
            return self._relay.ask("PreToolUse", payload)
        return verdict(json.loads(payload)).encode()
