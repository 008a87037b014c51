"""One event's time is divided into parts whose sum is the whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools.profile.firing import split

WARM = {
    "accepted": 5.010,
    "begun": 5.012,
    "read": 5.013,
    "found": 5.020,
    "answered": 5.060,
    "written": 5.061,
    "delivered": 5.062,
    "over": 5.5,
}
CALL: dict[str, Any] = {"label": "user/a.py: on_stop", "moments": [5.025, 5.030, 5.032, 5.052], "fault": ""}


def line(points: dict[str, float], *calls: dict[str, Any]) -> str:
    return json.dumps({"points": points, "calls": calls}) + "\n"


def test_a_warm_event_is_split_where_the_server_takes_and_lets_go() -> None:
    """What comes after the client was let go counts for nobody; a handler's time is not the server's."""
    fired = split("Stop", 80.0, 0, line(WARM, CALL))

    assert fired.warm
    assert (fired.server, fired.handlers, fired.client) == pytest.approx((27.0, 25.0, 28.0))
    assert dict(fired.stages) == pytest.approx(
        {"hand-over": 2, "reading": 1, "finding": 7, "calling": 15, "replying": 1, "delivering": 1}
    )
    (called,) = fired.calls
    assert (called.loading, called.running, called.whole) == pytest.approx((5, 20, 25))


def test_a_cold_event_begins_when_holdfast_is_loaded_and_ends_when_all_is_done() -> None:
    """Loading Holdfast is the client's process."""
    points = {name: moment for name, moment in WARM.items() if name != "accepted"} | {"over": 5.07}
    fired = split("Stop", 100.0, 0, line(points, CALL))

    assert not fired.warm
    assert (fired.server, fired.handlers, fired.client) == pytest.approx((33.0, 25.0, 42.0))
    assert dict(fired.stages)["closing"] == pytest.approx(8)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", line({"read": 1.0})])
def test_of_one_without_a_trace_only_the_whole_is_known(text: str) -> None:
    """Nothing is made up."""
    fired = split("Stop", 80.0, None, text)
    assert (fired.traced, fired.whole, fired.client, fired.server, fired.handlers) == (False, 80.0, 0, 0, 0)


@pytest.mark.parametrize(("moments", "loading", "running"), [([], 0, 0), ([1.0, 1.5], 0, 500)])
def test_a_call_that_did_not_come_so_far(moments: list[float], loading: float, running: float) -> None:
    """One whose turn never came took nothing; of one that died all is known as one."""
    fired = split("Stop", 80.0, 0, line(WARM, CALL | {"moments": moments, "fault": "died"}))
    assert [(each.loading, each.running, each.fault) for each in fired.calls] == [(loading, running, "died")]


def test_an_event_nobody_wanted() -> None:
    """It has no calls and fewer points."""
    points = {name: WARM[name] for name in ("accepted", "begun", "read", "found", "over")}
    fired = split("Stop", 80.0, 0, line(points))
    assert (fired.handlers, fired.server, fired.client) == pytest.approx((0, 10, 70))
