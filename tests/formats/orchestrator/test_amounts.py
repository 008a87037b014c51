"""Money and time are read in the document's spellings, and summed exactly."""

from __future__ import annotations

from holdfast.formats.orchestrator import amounts
from tests.tables import each_row


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
