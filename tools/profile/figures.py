"""Statistics of measured times: percentiles, maximum, mean."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of measured times, in milliseconds.

    Attributes:
        p50: at least half of the times don't exceed this (`percentile`).
        p95: at least 95 % don't exceed this.
        p99: at least 99 % don't exceed this; of fewer than 100 times it is the longest.
        max: the longest time.
        mean: the arithmetic mean. Means of the parts add up to the mean of the whole; percentiles don't.
    """

    p50: float
    p95: float
    p99: float
    max: float
    mean: float

    @classmethod
    def of(cls, times: Iterable[float]) -> Spread:
        """Return the spread of some times; all zero if there are none."""
        known = sorted(times) or [0.0]
        p50, p95, p99 = (percentile(known, share) for share in (50, 95, 99))
        return cls(p50, p95, p99, max=known[-1], mean=sum(known) / len(known))

    def as_json(self) -> dict[str, float]:
        """Return the five figures by name, rounded to a thousandth of a millisecond."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


def percentile(times: Sequence[float], share: int) -> float:
    """Return a percentile by nearest rank: the smallest time that at least `share` % of the times don't exceed.

    So it is always a measured time, never one between two.

    Args:
        times: at least one, sorted.
        share: 1 to 100.
    """
    return times[-(-share * len(times) // 100) - 1]
