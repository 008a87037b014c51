"""One replayed event, and how its time splits into the client's process, the server and each handler."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from holdfast.dispatch import trace

if TYPE_CHECKING:
    from collections.abc import Sequence

STAGES = {
    "ready": "hand-over",
    "begun": "hand-over",
    "read": "reading",
    "found": "finding",
    "answered": "calling",
    "written": "replying",
    "delivered": "delivering",
    "let_go": "closing",
    "over": "closing",
}
"""What ends at which point of `trace.POINTS`: the parts of the server's own time."""


@dataclass(frozen=True, slots=True)
class Called:
    """What one call of a handler took, in milliseconds.

    Attributes:
        label: `user/guard.py: on_pre_tool_use`.
        loading: running its file, its imports among it: each event has a new process.
        running: the function itself; all of it where it was not loaded, or ended or outlasted its process.
        fault: what was wrong, or nothing.
    """

    label: str
    loading: float
    running: float
    fault: str = ""

    @property
    def whole(self) -> float:
        """Both together."""
        return self.loading + self.running


@dataclass(frozen=True, slots=True)
class Firing:
    """One event that was replayed, all times in milliseconds.

    Attributes:
        event: its name.
        whole: what the client waits for, from starting the registered command to its end.
        server: Holdfast's own part: from when the server takes the connection until it lets the client go, without the
            handlers; without a server from when Holdfast is loaded until all is done.
        stages: the parts of that by name (`STAGES`); what is done beside a handler counts as the handler's time.
        calls: what handlers took, in their order.
        warm: whether the server answered it.
        traced: whether it is known how it splits; else nothing but `whole` is.
        exit_code: how the command ended; None where it had to be ended.
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
        """What all handlers took."""
        return sum(call.whole for call in self.calls)

    @property
    def client(self) -> float:
        """The client's process: shell, interpreter, asking the server, or loading Holdfast; and its end."""
        return self.whole - self.server - self.handlers if self.traced else 0.0


def split(event: str, whole: float, exit_code: int | None, line: str) -> Firing:
    """Return what came of an event.

    Args:
        event: its name.
        whole: the milliseconds that the registered command took.
        exit_code: how it ended.
        line: what was noted of it (`trace.write`), or nothing.
    """
    noted = _read(line)
    points: dict[str, float] = noted.get("points", {})
    if "begun" not in points or "over" not in points:
        return Firing(event, whole, exit_code=exit_code)
    warm = "accepted" in points and "let_go" in points
    unseen = {"over"} if warm else {"accepted", "let_go"}  # what the client does not wait for
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
    """Return the begin and the end of each of the two things that are done with a handler, as far as they were."""
    return list(zip(moments[::2], moments[1::2], strict=True))


def _read(line: str) -> dict[str, Any]:
    try:
        noted = json.loads(line)
    except ValueError:
        return {}
    return noted if isinstance(noted, dict) else {}
