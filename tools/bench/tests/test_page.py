"""The page says what a run measured and what it didn't."""

from __future__ import annotations

import json
from typing import Any

from holdfast.clients.claude.matchers import alternatives
from tests.processes import ROOT
from tools.bench import figures, firing, floors, mix, page, parts
from tools.bench.client import ways
from tools.bench.firing import EVENTS, MATCHED
from tools.bench.growth import paired


def results() -> dict[str, Any]:
    """Return the results of a run."""
    warm = dict.fromkeys(mix.MIX, 1.0) | {MATCHED: 7.5}
    rows = [("floor", floors.BARE, 10.0), ("floor", floors.COLD, 100.0)]
    rows += [("warm", name, ms) for name, ms in warm.items()]
    rows += [("cold", name, 100.0) for name in firing.NAMED]
    curve = {"range": "rows", "event": "PreCompact", "mode": "warm", "label": "n"}
    sizes = ((1, 10.0), (100, 12.0))
    return {
        "race": {"rows": [{"kind": kind, "name": name, "ms": ms} for kind, name, ms in rows]},
        "client": {"ways": [{"name": ways.TRUE, "added_ms": 10.0}, {"name": ways.WARM, "added_ms": 20.0}]},
        "server": {"processes": 2, "pss_mb": 55.0, "idle_ticks": 0, "seconds": 10.0},
        "growth": {"points": [curve | {"size": size, "ms": ms, "ratio": ms / 10.0} for size, ms in sizes]},
    }


def test_a_table_is_markdown() -> None:
    """A bar inside a cell does not end it."""
    assert page.table(("a|b", "ms"), [("x", "1.0")]) == "| a\\|b | ms |\n| --- | ---: |\n| x | 1.0 |\n"


def test_what_was_not_measured_is_said_with_the_reason() -> None:
    """An empty run makes a page, too."""
    text = page.text({"client": {"why": "no client is installed"}})

    assert "Not measured: no client is installed." in text
    assert text.count("Not measured: this part was not run.") == 3


def test_a_full_run_makes_a_full_page() -> None:
    """Every table has the rows that were measured, ratios included."""
    found = results()
    now = {"at": "2026-01-01 00:00 UTC", "revision": "abc", "load": "0.1"}
    shown = {"note": "", "call_ms": 20.0, "quartiles_ms": [1.0, 2.0], "request_ms": 3.0}
    found["race"] |= now | {"rounds": 5, "missing": ["cchooks (Python)"], "peers": {"by": "1.0"}}
    found["race"]["rows"].append({"kind": "peer", "name": "by hand", "ms": 25.0})
    found["client"] |= now | {"version": "2.1.329", "calls": 50}
    found["client"]["ways"] = [shown | way for way in found["client"]["ways"]]
    found["growth"] |= now
    text = page.text(found | {"machine": {"Python": "3.11"}})

    assert f"| {MATCHED} | 7.5 | 0.75 | 100.0 | 1.00 |" in text
    assert "| by 1.0 hand | 25.0 | 2.50 | 0.25 |" in text
    assert "| cchooks (Python) | not installed |" in text
    assert f"| {ways.WARM} | 20.0 | 20.0 | 1.0 … 2.0 | 3.0 |" in text
    assert "| rows | PreCompact | warm | n … n | 10.0 → 12.0 | 1.20 × |" in text
    assert "takes 55.0 MB of memory (PSS of 2 processes). Idle for 10 s, it took 0 clock ticks." in text
    assert "- Python: 3.11" in text
    assert "Not measured" not in text


def test_growth_points_are_taken_over() -> None:
    """With what the page and the picture need of them."""
    point = {"range": "rows", "size": 1, "event": "Stop", "ms": 3.0, "ratio": 1.0}

    assert parts.points({"points": [point | {"way": "warm", "least_ms": 2.0}]}) == [
        point | {"mode": "warm", "label": "1"}
    ]
    assert [parts.label(size) for size in (10, 1_000_000, 1 << 10, 200 << 10, 1 << 24, 1 << 30)] == [
        *("10", "1,000,000", "1 KB", "200 KB", "16 MB", "1 GB")
    ]


def test_a_range_is_measured_anew_beside_the_others() -> None:
    """The others stay, and the page says when each was."""
    curve = {"event": "Stop", "mode": "cold", "label": "n", "size": 1, "ms": 1.0, "ratio": 1.0}
    before = {"growth": {"points": [curve | {"range": name} for name in ("one", "two")], "at": "then"}}
    found = {"growth": {"points": [curve | {"range": "two", "ms": 9.0}], "at": "now", "revision": "abc"}}
    part = parts.merged(before, found, ["two"])
    assert [(each["range"], each["ms"]) for each in part["growth"]["points"]] == [("one", 1.0), ("two", 9.0)]
    assert "Measured then" in page.text(part) and "The range two: now, commit abc" in page.text(part)
    assert parts.merged({}, found, ["two"]) == found


def test_a_session_costs_its_events_times_their_medians() -> None:
    """One that was not measured leaves no sum."""
    medians = dict.fromkeys(mix.MIX, 10.0)

    assert mix.seconds(medians) == sum(mix.MIX.values()) / 100
    assert mix.seconds(medians | {"Stop": 510.0}) == sum(mix.MIX.values()) / 100 + 1.5
    assert mix.seconds({"Stop": 1.0}) is None


def test_the_mix_holds_what_the_shipped_registration_starts_a_process_for() -> None:
    """No more, so that no time is counted that nobody spends."""
    hooks = json.loads((ROOT / "settings.example.json").read_text())["hooks"]
    by_name = {event.name: event for event in EVENTS}
    for name in mix.MIX:
        matcher = hooks[by_name[name].event][0].get("matcher")
        tool = name.partition("(")[2].rstrip(")")
        assert matcher is None or tool in (alternatives(matcher, by_name[name].event) or ()), name
    assert "Bash" not in (alternatives(hooks["PreToolUse"][0]["matcher"], "PreToolUse") or ())
    assert mix.MIX["PostToolUse (Read)"] + mix.MIX["PostToolUse (Edit)"] + mix.MIX["PreToolUse (TodoWrite)"] == 56


def test_growth_is_over_the_smallest_size_and_at_its_worst() -> None:
    """The order of the points does not matter, and neither does a size that is faster."""
    curve = {"range": "rows", "event": "Stop", "mode": "cold"}
    points = [curve | {"size": size, "ratio": ratio} for size, ratio in ((100, 1.5), (1, 1.0), (10, 0.25))]

    assert figures.growth(points) == {("rows", "Stop", "cold"): 1.5}


def test_sizes_are_compared_within_each_round() -> None:
    """A slow second of the machine meets all sizes alike, and a round that was cut short counts for those that ran."""
    times = {1: {2: 10.0, 3: 80.0, 4: 20.0}, 100: {2: 12.0, 3: 96.0, 4: 24.0}, 1_000: {3: 120.0}, 10_000: {}}

    assert paired(times) == {1: 1.0, 100: 1.2, 1_000: 1.5}
