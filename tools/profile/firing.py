"""One replayed event, and how its time divides into the client's process, the server and each handler."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from holdfast.dispatch import trace

if TYPE_CHECKING:
    from collections.abc import Sequence

STAGES = {
    "begun": "hand-over",
    "read": "reading",
    "found": "finding",
    "answered": "calling",
    "written": "replying",
    "delivered": "delivering",
    "over": "closing",
}
"""The part of the server's own time that ends at each point of `trace.POINTS`."""


@dataclass(frozen=True, slots=True)
class Called:
    """The times of one call of a handler, in milliseconds.

    Attributes:
        label: `user/guard.py: on_pre_tool_use`.
        loading: running its file with its imports, which each event does in a new process.
        running: the function itself. If the file didn't load, or the handler's process ended or was killed, all of it.
        fault: what went wrong, or empty.
    """

    label: str
    loading: float
    running: float
    fault: str = ""

    @property
    def whole(self) -> float:
        """Loading and running together."""
        return self.loading + self.running


@dataclass(frozen=True, slots=True)
class Firing:
    """One replayed event, all times in milliseconds.

    Attributes:
        event: its name.
        whole: the client's wait, from starting the registered command to its end.
        server: Holdfast's own part without the handlers: with a server, from accepting the connection to releasing the
            client; without one, from when Holdfast is loaded until everything is done.
        stages: the parts of `server` by name (`STAGES`); work parallel to a handler counts as the handler's time.
        calls: the handlers' times, in their order.
        warm: whether the server answered it.
        traced: whether there is a trace; without one only `whole` is known.
        exit_code: the command's exit code; None if it had to be killed.
    """

    event: str
    whole: float
    server: float = 0.0
    stages: tuple[tuple[str, float], ...] = ()
    calls: tuple[Called, ...] = ()
    warm: bool = False
    traced: bool = False
    exit_code: int | None = 0

    @property
    def handlers(self) -> float:
        """The time of all handlers."""
        return sum(call.whole for call in self.calls)

    @property
    def client(self) -> float:
        """The time of the command's own process: shell, interpreter, asking the server or loading Holdfast, exit."""
        return self.whole - self.server - self.handlers if self.traced else 0.0


def split(event: str, whole: float, exit_code: int | None, line: str) -> Firing:
    """Return an event's time divided into its parts.

    Args:
        event: its name.
        whole: the milliseconds that the registered command took.
        exit_code: the command's exit code.
        line: the event's trace (`dispatch.trace`), or empty.
    """
    noted = _read(line)
    points: dict[str, float] = noted.get("points", {})
    if "begun" not in points or "over" not in points:
        return Firing(event, whole, exit_code=exit_code)
    warm = "accepted" in points
    unseen = {"over"} if warm else set()  # the client doesn't wait for it
    ways = [(points[name], name) for name in trace.POINTS if name in points and name not in unseen]
    noted_calls = noted.get("calls", ())
    spans = [span for each in noted_calls for span in _spans(each["moments"])]
    stages: dict[str, float] = {}
    for (before, _), (moment, name) in pairwise(ways):
        beside = sum(max(min(moment, end) - max(before, begin), 0.0) for begin, end in spans)
        stage = STAGES[name]
        stages[stage] = stages.get(stage, 0.0) + (moment - before - beside) * 1000
    calls = tuple(_called(each) for each in noted_calls)
    return Firing(event, whole, sum(stages.values()), tuple(stages.items()), calls, warm, True, exit_code)


def _called(noted: dict[str, Any]) -> Called:
    spans = [(end - begin) * 1000 for begin, end in _spans(noted["moments"])]
    loading = spans.pop(0) if len(spans) > 1 else 0.0
    return Called(noted["label"], loading, sum(spans), noted["fault"])


def _spans(moments: Sequence[float]) -> list[tuple[float, float]]:
    """Return begin and end of loading a handler and of running it, as far as it came."""
    return list(zip(moments[::2], moments[1::2], strict=True))


def _read(line: str) -> dict[str, Any]:
    try:
        noted = json.loads(line)
    except ValueError:
        return {}
    return noted if isinstance(noted, dict) else {}
