"""Noting when an event came to which point of its way, for `holdfast profile`; loaded only where that is asked for.

A process answers one event, so what it notes is that event's. All moments are those of `time.monotonic()`, which is one
clock for all processes of a machine (CLOCK_MONOTONIC).
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE = "HOLDFAST_TRACE"
"""Names the file that a line is appended to for each event. It must be there: nobody's variable makes files."""

POINTS = ("accepted", "ready", "begun", "read", "found", "answered", "written", "delivered", "let_go", "over")
"""The points, in their order.

accepted: the server took the connection; its turn may come later. ready: its child was, and said so (these two only
where the server answers). begun: whoever answers was told to. read: the payload was. found: the handlers were, and the
event was typed. answered: all handlers were called. written: the reply was. delivered: the handlers know that it was.
let_go: the client was told to go on (only by the server). over: all is done. Handlers may be called as soon as the
payload was read, by a process beside the one that notes this.
"""

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # nothing is made, nobody waited for
_points: dict[str, float] = {}
_calls: list[dict[str, object]] = []


def note(point: str, calls: Sequence[tuple[str, Sequence[float], str]] = (), at: float | None = None) -> None:
    """Note that the event came to a point; only the first time counts. The last point has all of it written.

    Args:
        point: one of `POINTS`.
        calls: the label of each call that was made, its moments (`calls.Answer.moments`) and its fault.
        at: the moment; now by default.
    """
    _points.setdefault(point, time.monotonic() if at is None else at)
    _calls.extend({"label": label, "moments": list(moments), "fault": fault} for label, moments, fault in calls)
    if point == POINTS[-1]:
        _write()


def _write() -> None:
    """Append what was noted as one line to the file that `VARIABLE` names; one that cannot be written is nobody's."""
    line = json.dumps({"points": _points, "calls": _calls}) + "\n"
    with suppress(OSError):
        descriptor = os.open(os.environ[VARIABLE], _APPEND)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
