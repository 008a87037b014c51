"""Many firings are summed up, and slow handlers are named."""

from __future__ import annotations

import pytest

from tools.profile import wording
from tools.profile.figures import Spread
from tools.profile.findings import Findings
from tools.profile.firing import Called, Firing
from tools.profile.selection import Chosen

FAST, SLOW = "shipped/a.py: on_stop", "user/guard.py: on_pre_tool_use"


def stop(whole: float, took: float) -> Firing:
    return Firing("Stop", whole, 2.0, (("finding", 2.0),), (Called(FAST, 1.0, took),), warm=True, traced=True)


def pre(whole: float, took: float, fault: str = "") -> Firing:
    return Firing(
        "PreToolUse", whole, 5.0, (("finding", 4.0), ("closing", 0.01)), (Called(SLOW, 2.0, took, fault),), True, True
    )


FOUND = Findings([stop(20, 3), *(pre(100, 78) for _ in range(3)), pre(300, 148, "raised E"), stop(20, 3)], cold=False)


def test_events_and_handlers_come_by_the_time_they_took() -> None:
    """The costliest first."""
    assert [(each.name, len(each.firings)) for each in FOUND.events] == [("PreToolUse", 4), ("Stop", 2)]
    assert [each.label for each in FOUND.handlers] == [SLOW, FAST]
    slowest = FOUND.slowest
    assert slowest
    assert (slowest.spent, slowest.total) == (390, 600)
    assert slowest.share == pytest.approx(0.65)
    assert slowest.whole == Spread(80, 150, 150, 150, 97.5)
    assert slowest.loading.p50 == 2


def test_the_means_of_the_parts_are_the_mean_of_the_whole() -> None:
    """Percentiles do not add up, means do."""
    for each in FOUND.events:
        parts = [each.parts[name].mean for name in ("client", "server", "handlers")]
        assert sum(parts) == pytest.approx(each.parts["whole"].mean)


def test_the_sentences_name_the_slow_handler_its_share_and_its_p95() -> None:
    """And what failed here; parts that take no time are not worth a word."""
    said = wording.verdict(FOUND)
    assert said[0] == "user/guard.py takes 65 % of the time of PreToolUse; its p95 is 150 ms."
    assert said[1] == "Slow, above 50 ms: user/guard.py on PreToolUse (p50 80.0, p95 150)."
    assert said[2] == "The last three columns of events are means; the server's is made of finding 3.3."
    assert said[3:] == [
        "user/guard.py on PreToolUse failed in 1 of 4 calls here, so its time may be another one: raised E."
    ]


def test_where_nothing_is_slow_it_says_so() -> None:
    """The costliest is named all the same."""
    said = wording.verdict(Findings([stop(20, 3)], cold=True))
    assert said[:2] == [
        "shipped/a.py takes 20 % of the time of Stop; its p95 is 4.0 ms.",
        "No handler is slow, above 50 ms.",
    ]
    assert "Holdfast's is made of" in said[2]
    assert wording.verdict(Findings([Firing("Stop", 9.0)], cold=True))[0] == "No handler was called."


def test_one_long_call_of_a_few_makes_no_handler_slow() -> None:
    """A busy machine does that; of many calls one in twenty is enough."""
    few = [stop(200, 150), *(stop(20, 3) for _ in range(18))]
    assert not Findings(few, cold=False).slow
    many = [stop(200, 150), *few, stop(20, 3)]
    assert [each.label for each in Findings(many, cold=False).slow] == [FAST]


def test_a_busy_machine_is_named() -> None:
    """The figures are not a handler's fault then."""
    rest, busy = (wording.about(Chosen(), 1, "", "", 0, load) for load in (0.1, 1000.0))
    assert [line for line in busy if line not in rest] == [each for each in busy if "busy (load 1000.0" in each]
    assert len(busy) == len(rest) + 1


def test_what_is_missing_is_said() -> None:
    """Events that the server did not answer, and those that told nothing of themselves."""
    cold = Firing("Stop", 90.0, 2.0, (("finding", 2.0),), (), warm=False, traced=True)
    found = Findings([cold, cold, Firing("Stop", 60_000.0, exit_code=None)], cold=False)
    assert (found.gone_cold, found.untraced) == (2, 1)
    assert wording.verdict(found)[-2:] == [
        "A cold start, not the server, answered 2 events.",
        "1 event did not say what took the time; only the whole is known.",
    ]
    assert Findings([cold], cold=True).gone_cold == 0


def test_json_has_all_of_it() -> None:
    """By name, in milliseconds; a share is a part of one."""
    said = FOUND.as_json()
    assert (said["unit"], said["server"], said["count"], said["slow_above"]) == ("ms", True, 6, 50)
    assert [each["event"] for each in said["events"]] == ["PreToolUse", "Stop"]
    assert said["events"][0]["whole"]["max"] == 300
    assert said["events"][0]["stages"]["finding"]["p50"] == 4
    assert said["slowest"] == said["handlers"][0] == said["slow"][0]
    assert said["slowest"] | {"whole": 0, "loading": 0} == {
        "event": "PreToolUse",
        "handler": "user/guard.py",
        "function": "on_pre_tool_use",
        "calls": 4,
        "faults": 1,
        "share": 0.65,
        "whole": 0,
        "loading": 0,
    }


def test_of_many_handlers_only_the_costliest_are_shown() -> None:
    """How many are not is said."""
    calls = tuple(Called(f"user/h{number}.py: on_stop", 0.0, float(number)) for number in range(25))
    found = Findings([Firing("Stop", 500.0, 1.0, (), calls, True, True)], cold=False)
    _, rows = wording.tables(found)["By handler"]
    assert len(rows) == 20
    assert rows[0][1] == "user/h24.py"
    assert "5 handlers with less time in all are not shown; --json has them." in wording.verdict(found)
