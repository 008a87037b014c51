"""Times are UTC and can be set from outside, and are printed as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from holdfast import clock
from tests.tables import each_row

if TYPE_CHECKING:
    import pytest

MOMENT = datetime(2025, 12, 9, 14, 30, 52, 123456, tzinfo=UTC)


def test_now_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """HOLDFAST_NOW fixes the time, in any zone."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T15:30:52.123456+01:00")

    assert clock.now() == MOMENT
    assert clock.stamp() == "2025-12-09T14:30:52.123456Z"
    assert clock.file_stamp() == "20251209_143052"


def test_stamps_are_utc_whatever_the_zone() -> None:
    """A moment of another zone is written in UTC, a moment without zone is taken as UTC."""
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=-8)))

    assert clock.stamp(elsewhere) == "2025-12-09T14:30:52.123456Z"
    assert clock.stamp(MOMENT.replace(tzinfo=None)) == "2025-12-09T14:30:52.123456Z"
    assert clock.file_stamp(elsewhere) == "20251209_143052"


def test_stamps_sort_in_time_order() -> None:
    """A whole second still carries its fraction, so stamps compare as text."""
    assert clock.stamp(MOMENT.replace(microsecond=0)) == "2025-12-09T14:30:52.000000Z"
    assert clock.stamp(MOMENT.replace(microsecond=0)) < clock.stamp(MOMENT)


@each_row(
    "text",
    [
        "2025-12-09T14:30:52.123456Z",
        "2025-12-09T14:30:52.123456",
        "2025-12-09 14:30:52.123456+00:00",
        " 2025-12-09T06:30:52.123456-08:00\n",
        "2025-12-09T14:30:52.123456789Z",
    ],
)
def test_parse_reads_the_forms_people_write(text: str) -> None:
    """Zulu, offsets, no zone and nanoseconds all name the same moment."""
    assert clock.parse(text) == MOMENT


@each_row("text", ["", "soon", "2025-13-01", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_parse_says_none_for_what_is_no_time(text: str) -> None:
    """What names no moment that UTC can hold is None, never an exception."""
    assert clock.parse(text) is None


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
