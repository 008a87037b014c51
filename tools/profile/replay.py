"""Send events through the registered command, in a double, and measure each."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import events
from holdfast.dispatch import trace
from holdfast.errors import HoldfastError
from holdfast.install import register
from holdfast.testkit.client import Client
from tools.profile import firing, warm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tools.profile.double import Double
    from tools.profile.firing import Firing

SETTLE_TIMEOUT_S = 3.0
"""How long after the command's end the process that answered may still be working."""
REST_S = 0.03
"""Time between two events, in which the server forks the next worker, as between the events of a session."""


def replay(
    double: Double,
    payloads: Sequence[Mapping[str, Any]],
    rounds: int,
    *,
    cold: bool,
    told: Callable[[], object] = lambda: None,
) -> list[Firing]:
    """Send all payloads one after another, `rounds` times, and return each firing's times.

    Each round begins with the double's original state. First, one payload of each event is sent without counting, to
    fill the disk's and Holdfast's caches.

    Args:
        double: where the events are replayed.
        payloads: the recorded payloads, in their order.
        rounds: how often all are sent.
        cold: replay without a warm server.
        told: called after each event.

    Raises:
        HoldfastError: no server starts, or the command doesn't reach Holdfast.
        OSError: the double can't be written.
    """
    taken = [double.take(payload) for payload in payloads]
    double.keep()
    found: list[Firing] = []
    with nullcontext() if cold else warm.server(double):
        given = {"HOLDFAST_SERVER": "off"} if cold else {}
        for payload in {each["hook_event_name"]: each for each in reversed(taken)}.values():
            _assure(fire(double, payload, given))
        for _ in range(rounds):
            double.reset()
            for payload in taken:
                time.sleep(REST_S)
                found.append(fire(double, payload, given))
                told()
    return found


def _assure(first: Firing) -> None:
    if not first.traced and first.exit_code is not None:
        text = f"the registered command for {first.event} does not reach Holdfast (it ended with {first.exit_code})"
        raise HoldfastError(f"{text}; holdfast doctor --fire says why")


def fire(double: Double, payload: Mapping[str, Any], given: Mapping[str, str]) -> Firing:
    """Send one payload and wait until everything it started in Holdfast is done.

    Args:
        double: where the event is replayed.
        payload: the event for the command's stdin.
        given: more variables for the environment.
    """
    event = str(payload["hook_event_name"])
    noted = double.top / "trace"
    noted.write_bytes(b"")
    client = Client(double, double.root, str(payload.get("session_id", "")))
    limit = min(events.EVENTS[event].timeout_s, double.limit_s)
    ended = client.run(register.command(event), payload, limit, **given, **{trace.VARIABLE: str(noted)})
    return firing.split(event, ended.seconds * 1000, ended.exit_code, _line(noted))


def _line(noted: Path) -> str:
    """Return the event's trace; it may be written after the client was released."""
    until = time.monotonic() + SETTLE_TIMEOUT_S
    while not (text := noted.read_text("utf-8")).endswith("\n") and time.monotonic() < until:
        time.sleep(0.002)
    return text
