"""What many measured times amount to: percentiles, the longest, the mean."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Spread:
    """How measured times spread, all in milliseconds.

    Attributes:
        p50: half of them are not longer (`percentile`).
        p95: 95 % of them are not longer.
        p99: 99 % of them are not longer; of fewer than 100 times this is the longest.
        max: the longest.
        mean: their sum divided by how many they are; of parts of a whole these add up, percentiles do not.
    """

    p50: float
    p95: float
    p99: float
    max: float
    mean: float

    @classmethod
    def of(cls, times: Iterable[float]) -> Spread:
        """Return the spread of some times, all zero where there are none."""
        known = sorted(times) or [0.0]
        p50, p95, p99 = (percentile(known, share) for share in (50, 95, 99))
        return cls(p50, p95, p99, max=known[-1], mean=sum(known) / len(known))

    def as_json(self) -> dict[str, float]:
        """Return the five by name, to a thousandth of a millisecond."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


def percentile(times: Sequence[float], share: int) -> float:
    """Return a percentile by nearest rank: the smallest of the times that at least `share` % of them do not exceed.

    So it is always a time that was measured, never one between two.

    Args:
        times: at least one, sorted.
        share: 1 to 100.
    """
    return times[-(-share * len(times) // 100) - 1]
