"""The axis keeps the order of time, draws idle times short, and has labels."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from holdfast.report.axis import IDLE_S, Tick, across
from tests.tables import each_row

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


@given(MOMENTS)
def test_idle_stretches_take_a_quarter_at_most_and_are_all_drawn(moments: list[int]) -> None:
    """Unless there is nothing else, in which case the line is even."""
    line = across(moments)
    known = sorted(set(moments))
    gaps = [later - earlier for earlier, later in pairwise(known)]
    idle = [gap for gap in gaps if gap > IDLE_S]
    if len(idle) == len(gaps):
        assert line.breaks == ()
    else:
        assert [round(each.seconds) for each in line.breaks] == idle
        assert sum(each.width for each in line.breaks) <= 0.25 + 1e-9


@given(MOMENTS)
def test_labels_stand_apart_and_outside_of_idle_stretches(moments: list[int]) -> None:
    """None covers another, and none names a moment in which nothing happened."""
    line = across(moments)
    ticks = [each.left for each in line.ticks()]
    assert ticks == sorted(ticks)
    assert all(later - earlier > 0.1 for earlier, later in pairwise(ticks))
    assert not any(gap.left < each < gap.left + gap.width - 1e-9 for gap in line.breaks for each in ticks)


def test_a_night_is_a_break_and_the_next_day_is_named() -> None:
    """An hour, a night, an hour: two even halves beside a narrow break."""
    hours = [NINE + 60 * minute for minute in range(61)]
    line = across([*hours, *(each + 86_400 for each in hours)])

    assert [(round(each.left, 2), round(each.width, 2), each.seconds) for each in line.breaks] == [
        (0.48, 0.04, 23 * 3_600.0)
    ]
    assert [(each.day, each.time) for each in line.ticks()][:2] == [("1 Mar", "09:00"), ("", "09:15")]
    assert [(round(each.left, 2), each.time) for each in line.ticks() if each.day == "2 Mar"] == [(0.52, "09:00")]


def test_no_label_leaves_the_line_on_the_right() -> None:
    """A day, a night, and the first minute of the next day: there is no room for what that one is called."""
    line = across([*(NINE + 60 * minute for minute in range(600)), NINE + 86_400, NINE + 86_460])
    assert line.breaks[0].left + line.breaks[0].width > 0.99
    assert [(each.left, each.time) for each in line.ticks() if each.left > 0.9] == []


@each_row(
    "seconds, expected",
    [
        (41, [f"09:00:{each:02}" for each in (3, 10, 15, 20, 25, 30, 35, 40)]),
        (3, ["09:00:03", "09:00:04", "09:00:05"]),
        (0.2, ["09:00:03"]),
        (300, ["09:00", "09:01", "09:02", "09:03", "09:04"]),
        (600, ["09:00", "09:02", "09:04", "09:06", "09:08"]),
        (86_400 * 90, ["09:00", *["00:00"] * 7]),
    ],
)
def test_labels_are_round_and_no_two_are_the_same(seconds: float, expected: list[str]) -> None:
    """In a short session they have seconds; in a long one the days differ."""
    begin = NINE + 3
    ticks = across([begin, *(begin + seconds * part / 99 for part in range(1, 100))]).ticks()
    assert len({(each.day, each.time) for each in ticks}) == len(ticks)
    assert [each.time for each in ticks] == expected


def test_of_one_moment_or_none_there_is_a_line_still() -> None:
    """The one moment lies in its middle, and is named."""
    assert (across([]).place(5), across([]).ticks()) == (0, [])
    assert (across([NINE]).place(5), across([NINE]).ticks()) == (0.5, [Tick(0.5, "1 Mar", "09:00:00")])
