"""The axis keeps the order of time, draws idle times short, and has labels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.report.axis import Tick, across

MOMENTS = st.lists(st.integers(0, 10_000_000), max_size=60)
NINE = 1_772_355_600.0  # 1 March 2026, 09:00


@given(MOMENTS)
def test_what_happened_later_lies_further_to_the_right(moments: list[int]) -> None:
    """Everything lies on the line, the first and the last at its ends; the way back gives the moment."""
    line = across(moments)
    places = [line.place(each) for each in sorted(moments)]
    assert places == sorted(places)
    assert all(0 <= each <= 1 for each in places)
    if len(set(moments)) > 1:
        assert (places[0], round(places[-1], 9)) == (0, 1)
        assert all(abs(line.moment(line.place(each)) - each) < 1 for each in moments)
        assert (line.place(min(moments) - 99), round(line.place(max(moments) + 99), 9)) == (0, 1)


def test_axis_of_one_moment_or_none_is_drawn() -> None:
    """The one moment lies in its middle, and is named."""
    assert (across([]).place(5), across([]).ticks()) == (0, [])
    assert (across([NINE]).place(5), across([NINE]).ticks()) == (0.5, [Tick(0.5, "1 Mar", "09:00:00")])
