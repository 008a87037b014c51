"""Times are UTC and can be set from outside."""

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
