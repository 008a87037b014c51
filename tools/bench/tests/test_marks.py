"""A run's results say whether each mark is met, missed or not measured."""

from __future__ import annotations

from typing import Any

import pytest

from tools.bench import firing, floors, marks, mix
from tools.bench.client import ways
from tools.bench.growth import paired

KINDS = (
    *("unmatched", "matched", "prompt", "agent", "status", "added", "session", "cold"),
    *("unregistered", "growth", "memory", "idle"),
)
EVENTS = {
    "unmatched": firing.UNMATCHED,
    "matched": firing.MATCHED,
    "prompt": "UserPromptSubmit",
    "agent": firing.AGENT,
    "session": "PostToolUse (Read)",
}


def results(**changes: Any) -> dict[str, Any]:
    """Return the results of a run in which every mark is just met, with some values changed."""
    values = {
        "unmatched": 4.5,
        "matched": 7.5,
        "prompt": 12.0,
        "agent": 20.0,
        "session": 20.0,
        "added": 20.0,
        "status": 5.0,
    }
    values |= {"cold": 115.0, "unregistered": 0, "growth": 12.0, "memory": 55.0, "idle": 0} | changes
    warm = dict.fromkeys(mix.MIX, 1.0) | {name: values[kind] for kind, name in EVENTS.items()}
    rows = [("floor", floors.BARE, 10.0), ("floor", floors.COLD, 100.0)]
    rows += [("warm", name, ms) for name, ms in warm.items()]
    rows += [("cold", name, 100.0) for name in firing.NAMED[:-1]]
    rows.append(("cold", firing.NAMED[-1], values["cold"]))
    rows.append(("status", firing.STATUS_LINE, values["status"]))
    curve = {"range": "rows", "event": "PreCompact", "mode": "warm", "label": "n"}
    return {
        "race": {"rows": [{"kind": kind, "name": name, "ms": ms} for kind, name, ms in rows]},
        "client": {
            "ways": [{"name": ways.TRUE, "added_ms": 10.0}, {"name": ways.WARM, "added_ms": values["added"]}],
            "hooks_run": {"unregistered": values["unregistered"], "registered": 1},
        },
        "server": {
            "processes": 2,
            "pss_mb": values["memory"],
            "idle_ticks": values["idle"],
            "idle_ms": 0.1,
            "seconds": 10.0,
        },
        "growth": {
            "points": [
                curve | {"size": size, "ms": ms, "ratio": ms / 10.0}
                for size, ms in ((1, 10.0), (100, values["growth"]))
            ]
        },
    }


def met(found: dict[str, Any]) -> dict[str, bool | None]:
    """Return the verdicts by kind."""
    return dict(zip(KINDS, (mark.met for mark in marks.marks(found)), strict=True))


def test_all_are_met_at_the_mark_itself() -> None:
    """Goals are reached, not exceeded."""
    assert met(results()) == dict.fromkeys(KINDS, True)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("unmatched", 4.6),
        ("matched", 7.6),
        ("prompt", 12.1),
        ("agent", 20.1),
        ("status", 5.1),
        ("added", 20.1),
        ("session", 40.0),
        ("cold", 115.1),
        ("unregistered", 1),
        ("growth", 12.1),
        ("memory", 55.1),
        ("idle", 1),
    ],
)
def test_one_is_missed_beyond_it(kind: str, value: float) -> None:
    """Only the one is."""
    assert met(results(**{kind: value})) == {**dict.fromkeys(KINDS, True), kind: False}


def test_what_was_not_measured_is_neither() -> None:
    """A run without a server, a client and growth curves."""
    assert met({"race": {"rows": []}, "client": {"why": "none"}, "server": {"why": "none"}}) == dict.fromkeys(KINDS)


def test_no_process_is_only_believed_where_another_event_starts_one() -> None:
    """Else a client that runs no hooks at all would meet the mark."""
    found = results()
    found["client"]["hooks_run"]["registered"] = 0

    assert met(found)["unregistered"] is None


def test_growth_is_over_the_smallest_size_and_at_its_worst() -> None:
    """The order of the points does not matter, and neither does a size that is faster."""
    curve = {"range": "rows", "event": "Stop", "mode": "cold"}
    points = [curve | {"size": size, "ratio": ratio} for size, ratio in ((100, 1.5), (1, 1.0), (10, 0.25))]

    assert marks.growth(points) == {("rows", "Stop", "cold"): 1.5}


def test_sizes_are_compared_within_each_round() -> None:
    """A slow second of the machine meets all sizes alike, and a round that was cut short counts for those that ran."""
    times = {1: {2: 10.0, 3: 80.0, 4: 20.0}, 100: {2: 12.0, 3: 96.0, 4: 24.0}, 1_000: {3: 120.0}, 10_000: {}}

    assert paired(times) == {1: 1.0, 100: 1.2, 1_000: 1.5}
