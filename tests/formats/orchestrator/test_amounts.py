"""Money and time are read in the document's spellings, and summed exactly."""

from __future__ import annotations

import pytest

from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import amounts
from tests.tables import each_row


def test_sums_are_exact() -> None:
    """As floating-point numbers, ten times $0.10 would not be $1.00."""
    assert amounts.as_money(amounts.sum_money(["$0.20", "$0.55"])) == "$0.75"
    assert amounts.as_money(amounts.sum_money(["$0.10"] * 10)) == "$1.00"
    assert amounts.as_money(amounts.sum_money(["$0.0042", "$1", amounts.UNKNOWN])) == "$1.0042"
    assert amounts.as_time(amounts.sum_seconds(["15m 23s", "18m 45s"])) == "34m 8s"
    assert amounts.as_time(amounts.sum_seconds(["15m 23s", "18m 45s"]), hours=True) == "0h 34m 8s"


@each_row(
    "text, seconds",
    [
        ("2h", 7200),
        ("90m", 5400),
        ("0h 34m 8s", 2048),
        ("15m 23s", 923),
        ("8s", 8),
        ("1h30m", 5400),
        ("1d", 86_400),
        ("1d 2h", 93_600),
    ],
)
def test_times_are_read(text: str, seconds: int) -> None:
    """In each form that the document has."""
    assert amounts.seconds(text) == seconds


@each_row("unit", ["d", "h", "m", "s"])
def test_a_long_text_that_is_no_time_takes_no_time(unit: str) -> None:
    """It comes from a file that anybody may have written, and an event reads it."""
    assert amounts.seconds(f"1{unit}{' ' * 100_000}x") is None


@each_row("value", ["", "h", "soon", "1.5h", "-2h", 2, None, ["2h"], "2h\0", "9" * 40 + "h"])
def test_what_is_no_time_is_none(value: object) -> None:
    """Whatever the type."""
    assert amounts.seconds(value) is None


@each_row("value", ["", "$", "free", "$-1", "$1e3", "€5", 10, None, "$1.2.3", "9" * 40])
def test_what_is_no_money_is_none(value: object) -> None:
    """Whatever the type; a number is no text of the schema's."""
    assert amounts.money(value) is None


def test_what_a_person_gives_keeps_their_digits() -> None:
    """And anything else is refused with an example."""
    assert amounts.asked_money("10") == amounts.asked_money("$10") == "$10"
    with pytest.raises(HoldfastError, match="such as"):
        amounts.asked_money("ten")
    with pytest.raises(HoldfastError, match="such as"):
        amounts.asked_time("tomorrow")
