"""Record when an event passed which point, for `python -m tools.profile`.

Nothing is recorded unless HOLDFAST_TRACE is set.

A process answers one event, so all it records belongs to that event. All times are `time.monotonic()`, which is one
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

    from holdfast.dispatch.calls import Answer

VARIABLE = "HOLDFAST_TRACE"
"""The environment variable that names the file to append a line per event to. The file must exist already."""

POINTS = ("accepted", "begun", "read", "found", "answered", "written", "delivered", "over")
"""The points, in their order.

accepted: an idle child of the server took the connection (only if the server answers). begun: answering began. read:
the payload was read. found: the handlers were found and the event was parsed. answered: all handlers were called.
written: the reply was written. delivered: the handlers know that, and the client goes on. over: everything is done.
Handlers that aren't shipped run in other processes than the one that records this.
"""

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # never creates it, never blocks
_points: dict[str, float] = {}
_calls: list[dict[str, object]] = []


def mark(point: str, answers: Sequence[Answer] = (), at: float | None = None) -> None:
    """Record that the event has passed a point; only the first time counts. The last point writes the line.

    Args:
        point: one of `POINTS`.
        answers: the answers of the calls that were made.
        at: the time (`time.monotonic()`); now by default.
    """
    if VARIABLE not in os.environ:
        return
    _points.setdefault(point, time.monotonic() if at is None else at)
    _calls.extend({"label": each.label, "moments": list(each.moments), "fault": each.fault} for each in answers)
    if point == POINTS[-1]:
        _write()


def _write() -> None:
    """Append the record as one line to the file that `VARIABLE` names; ignore a file that can't be written."""
    line = json.dumps({"points": _points, "calls": _calls}) + "\n"
    with suppress(OSError):
        descriptor = os.open(os.environ[VARIABLE], _APPEND)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
