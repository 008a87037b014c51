"""Percentiles by nearest rank: always a measured time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tools.profile.figures import Spread, percentile

times = st.lists(st.floats(0, 1e6), min_size=1)


def test_known_figures() -> None:
    """Of 1 … 100 the 50th, 95th and 99th; of ten the fifth and twice the last."""
    hundred = [float(number) for number in range(1, 101)]
    assert Spread.of(reversed(hundred)) == Spread(50, 95, 99, 100, 50.5)
    assert Spread.of(hundred[:10]) == Spread(5, 10, 10, 10, 5.5)
    assert Spread.of([3.0]) == Spread(3, 3, 3, 3, 3)
    assert Spread.of([1.0, 2.0]).p50 == 1
    assert Spread.of([]) == Spread(0, 0, 0, 0, 0)


@given(times, st.integers(1, 100))
def test_it_is_the_smallest_that_so_many_do_not_exceed(found: list[float], share: int) -> None:
    """By its definition, counted out."""
    found.sort()
    value = percentile(found, share)
    enough = [each for each in found if 100 * sum(other <= each for other in found) >= share * len(found)]
    assert value == min(enough)


def test_json_has_the_five_by_name() -> None:
    """To a thousandth of a millisecond."""
    said = Spread.of([1.23456, 2.0]).as_json()
    assert said == {"p50": 1.235, "p95": 2.0, "p99": 2.0, "max": 2.0, "mean": 1.617}
