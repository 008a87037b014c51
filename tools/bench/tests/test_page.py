"""The page says what a run measured and what it didn't."""

from __future__ import annotations

import json

from holdfast.clients.claude.matchers import alternatives
from tests.processes import ROOT
from tools.bench import mix, page, parts
from tools.bench.client import ways
from tools.bench.firing import EVENTS, MATCHED
from tools.bench.tests.test_marks import results


def test_a_table_is_markdown() -> None:
    """A bar inside a cell does not end it."""
    assert page.table(("a|b", "ms"), [("x", "1.0")]) == "| a\\|b | ms |\n| --- | ---: |\n| x | 1.0 |\n"


def test_what_was_not_measured_is_said_with_the_reason() -> None:
    """An empty run makes a page, too."""
    text = page.text({"client": {"why": "no client is installed"}})

    assert "Not measured: no client is installed." in text
    assert text.count("Not measured: this part was not run.") == 2


def test_a_full_run_makes_a_full_page() -> None:
    """Every table has the rows that were measured, ratios included."""
    found = results()
    now = {"at": "2026-01-01 00:00 UTC", "revision": "abc", "load": "0.1"}
    figures = {"note": "", "call_ms": 20.0, "quartiles_ms": [1.0, 2.0], "request_ms": 3.0}
    found["race"] |= now | {"rounds": 5, "missing": ["cchooks (Python)"], "peers": {"by": "1.0"}}
    found["race"]["rows"].append({"kind": "peer", "name": "by hand", "ms": 25.0})
    found["client"] |= now | {"version": "2.1.329", "calls": 50}
    found["client"]["ways"] = [figures | way for way in found["client"]["ways"]]
    found["growth"] |= now
    text = page.text(found | {"machine": {"Python": "3.11"}})

    assert f"| {MATCHED} | 7.5 | 0.75 | 100.0 | 1.00 |" in text
    assert "| by 1.0 hand | 25.0 | 2.50 | 0.25 |" in text
    assert "| cchooks (Python) | not installed |" in text
    assert f"| {ways.WARM} | 20.0 | 20.0 | 1.0 … 2.0 | 3.0 |" in text
    assert "| rows | PreCompact | warm | n … n | 10.0 → 12.0 | 1.20 × |" in text
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
