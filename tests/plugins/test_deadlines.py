"""A handler's own timeout extends its event's time, and a longer timeout is registered if the client needs one."""

from __future__ import annotations

import pytest

from holdfast.events import EVENTS
from holdfast.plugins import deadlines
from tests.tables import each_row


@each_row(
    "event, timeouts, seconds",
    [
        ("Stop", [], 20),  # what the configuration says
        ("Stop", [5, 18], 20),  # which gives each of them as much
        ("Stop", [19.5], 39.5),  # which is less than that: an interrupt needs its time, too
        ("Stop", [120], 140),
        ("Stop", [120, 10, 60], 200),
        ("UserPromptSubmit", [], 20),
        ("UserPromptSubmit", [25], 45),  # beyond the client's 30 s
        ("MessageDisplay", [], 8),
        ("SessionEnd", [], 1.2),
        ("SessionEnd", [10], 11.2),
        ("SessionEnd", [45, 45], 48),  # the client's own end is never reached
    ],
)
def test_a_longer_timeout_comes_on_top(event: str, timeouts: list[float], seconds: float) -> None:
    """Handlers that ask for more than all have in common get their own time beside it."""
    assert deadlines.of_event(EVENTS[event], 20.0, timeouts) == pytest.approx(seconds)


@each_row("event", EVENTS)
def test_the_longest_timeout_is_never_cut(event: str) -> None:
    """What `handlers check` lets through is given, within what the client is asked to wait."""
    longest = deadlines.longest_timeout(EVENTS[event])
    seconds = deadlines.of_event(EVENTS[event], 20.0, [longest])
    limit = deadlines.needed_client_limit(EVENTS[event], [longest])

    assert deadlines.one_handler(seconds) >= longest
    assert limit is not None
    assert seconds < limit
    assert event != "SessionEnd" or limit <= 60  # client fact §4.4


@each_row(
    "event, timeouts, limit",
    [
        ("Stop", [120], None),  # the client waits 600 s
        ("Stop", [500], 3_600),
        ("UserPromptSubmit", [10], None),
        ("UserPromptSubmit", [25], 3_600),
        ("SessionEnd", [1], None),
        ("SessionEnd", [10], 60),
    ],
)
def test_only_what_the_clients_default_cuts_off_gets_a_limit(
    event: str, timeouts: list[float], limit: int | None
) -> None:
    """So that settings stay the same on every machine as far as it goes."""
    assert deadlines.needed_client_limit(EVENTS[event], timeouts) == limit
