"""Lengths of time and moments as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast import clock
from tests.tables import each_row

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@each_row(
    "seconds, said",
    [
        (-5, "<1s"),
        (0, "<1s"),
        (0.9, "<1s"),
        (1, "1s"),
        (59.9, "59s"),
        (60, "1m 00s"),
        (150, "2m 30s"),
        (3_599, "59m 59s"),
        (3_600, "1h 00m"),
        (3_900, "1h 05m"),
        (86_399, "23h 59m"),
        (86_400, "1d 00h"),
        (1_000_000, "11d 13h"),
    ],
)
def test_lengths_of_time(seconds: float, said: str) -> None:
    """Two units at most."""
    assert clock.duration(seconds) == said


@each_row(
    "stamp, said",
    [
        ("2026-03-01T12:01:00Z", "just now (2026-03-01 12:01:00 UTC)"),
        ("2026-03-01T12:01:01Z", "2026-03-01 12:01:01 UTC"),
        ("2026-03-01T11:59:01Z", "just now (2026-03-01 11:59:01 UTC)"),
        ("2026-03-01T11:59:00Z", "1 min ago (2026-03-01 11:59:00 UTC)"),
        ("2026-03-01T10:00:01Z", "119 min ago (2026-03-01 10:00:01 UTC)"),
        ("2026-03-01T10:00:00Z", "2 h ago (2026-03-01 10:00:00 UTC)"),
        ("2026-02-27T12:00:01Z", "47 h ago (2026-02-27 12:00:01 UTC)"),
        ("2026-02-27T12:00:00Z", "2 days ago (2026-02-27 12:00:00 UTC)"),
        ("2026-02-27T14:00:00+02:00", "2 days ago (2026-02-27 12:00:00 UTC)"),
        ("yesterday", "at an unknown time"),
    ],
)
def test_moments(stamp: str, said: str) -> None:
    """As people say them, with the time itself in UTC."""
    assert clock.when(stamp, NOON) == said
