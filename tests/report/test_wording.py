"""A report writes times in UTC, and durations in two units."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from holdfast.report import wording
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator

STAMP = "2026-03-01T23:05:09.000000Z"


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine nine hours ahead."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_every_moment_is_utc() -> None:
    """The page says so, wherever it was made."""
    assert wording.moment(STAMP) == "1 Mar 2026 23:05:09"


@each_row(
    "length, expected",
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3_600, "1 h"),
        (3_661, "1 h 1 min"),
        (86_400, "1 d"),
        (86_400 * 3 + 3_600 * 4 + 59, "3 d 4 h"),
    ],
)
def test_a_length_of_time_is_said_in_its_two_largest_units(length: float, expected: str) -> None:
    """Full hours are hours."""
    assert wording.span(length) == expected


def test_a_secret_is_masked_before_its_words_are_cut() -> None:
    """Half of it would look like none."""
    assert "ghp_" not in wording.brief(f"{'x' * 50} ghp_{'a1B2c3D4e5' * 4}", 60)
