"""A report's time axis, on which long idle times are drawn short."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING

from holdfast.report import wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

IDLE_S = 30 * 60.0  # longer idle times become a break
_BREAK = 0.04  # the largest part of the axis for one break
_BREAKS = 0.25  # the largest part of the axis for all breaks
_APART = 0.11  # the smallest part of the axis between two labels
_LAST = 1 - 0.07  # where the last label may begin: it takes room to the right of its place
_MINUTE_S, _DAY_S = 60, 86_400
_STEPS_S = (1, 2, 5, 10, 15, 30, *(_MINUTE_S * each for each in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)))


@dataclass(frozen=True, slots=True)
class Break:
    """An idle time: its place on the axis (0 to 1), its drawn width (0 to 1), and its length in seconds."""

    left: float
    width: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of the axis: its place (0 to 1), the day if it differs from the label before, and the time of day.

    The time has seconds if the labels are less than a minute apart.
    """

    left: float
    day: str
    time: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Times on a line of length 1.

    Attributes:
        moments: the known times in seconds since 1970, ascending.
        places: the place of each, 0 to 1, ascending.
        breaks: the idle times that are drawn short.
    """

    moments: tuple[float, ...]
    places: tuple[float, ...]
    breaks: tuple[Break, ...]

    def place(self, moment: float) -> float:
        """Return the place of a time (seconds since 1970); a time outside the axis is at the nearer end."""
        if len(self.moments) < 2 or moment <= self.moments[0]:
            return self.places[0] if self.places else 0.0
        if moment >= self.moments[-1]:
            return self.places[-1]
        after = bisect_right(self.moments, moment)
        return _between(moment, self.moments[after - 1 : after + 1], self.places[after - 1 : after + 1])

    def moment(self, place: float) -> float:
        """Return the time (seconds since 1970) at a place; the axis must have a time."""
        if len(self.moments) < 2:
            return self.moments[0]
        after = min(max(bisect_right(self.places, place), 1), len(self.places) - 1)
        return _between(place, self.places[after - 1 : after + 1], self.moments[after - 1 : after + 1])

    def ticks(self) -> list[Tick]:
        """Return the labels: one at the beginning and after each break and, as far as there is room, at round times."""
        step = self._step()
        begins = [self.places[0] if self.places else 0.0, *(each.left + each.width for each in self.breaks)]
        chosen: list[float] = []
        for place in [*begins, *self._round(step)]:
            if place <= _LAST and all(abs(place - each) >= _APART for each in chosen):
                chosen.append(place)
        found: list[Tick] = []
        day = ""
        for place in sorted(chosen) if self.moments else ():
            at = self.moment(place)
            time = wording.time(at, seconds=step < _MINUTE_S)
            found.append(Tick(place, wording.day(at) if wording.day(at) != day else "", time))
            day = wording.day(at)
        return found

    def _step(self) -> int:
        """Return the smallest round number of seconds for which two labels stand apart."""
        active = self.moments[-1] - self.moments[0] - sum(each.seconds for each in self.breaks) if self.moments else 0.0
        smallest = active / (1 - sum(each.width for each in self.breaks)) * _APART
        found = next((each for each in _STEPS_S if each >= smallest), 0)
        return found or ceil(smallest / _DAY_S) * _DAY_S

    def _round(self, step: int) -> Iterator[float]:
        """Yield the places of the multiples of `step` seconds that aren't in a break."""
        breaks = {each.left for each in self.breaks}
        for (left, _), (begin, end) in zip(pairwise(self.places), pairwise(self.moments), strict=True):
            if left not in breaks:
                yield from (self.place(at) for at in range(ceil(begin / step) * step, floor(end) + 1, step))


def across(moments: Iterable[float]) -> Axis:
    """Return the axis for all these times (seconds since 1970)."""
    known = sorted(set(moments))
    if len(known) < 2:
        return Axis(tuple(known), (0.5,) * len(known), ())
    stretches = list(pairwise(known))
    breaks = [later - earlier for earlier, later in stretches if later - earlier > IDLE_S]
    active = sum(later - earlier for earlier, later in stretches) - sum(breaks)
    if not active:  # all times are far apart: draw an even line
        breaks = []
    share = min(_BREAK, _BREAKS / len(breaks)) if breaks else 0.0
    scale = (1 - share * len(breaks)) / (active or known[-1] - known[0])
    places, drawn = [0.0], list[Break]()
    for earlier, later in stretches:
        if breaks and later - earlier > IDLE_S:
            drawn.append(Break(places[-1], share, later - earlier))
            places.append(places[-1] + share)
        else:
            places.append(places[-1] + (later - earlier) * scale)
    return Axis(tuple(known), tuple(min(each, 1.0) for each in places), tuple(drawn))


def _between(value: float, known: Sequence[float], wanted: Sequence[float]) -> float:
    """Interpolate: map `value` from between the two `known` values to between the two `wanted` ones."""
    width = known[1] - known[0]
    return wanted[0] + (value - known[0]) / width * (wanted[1] - wanted[0]) if width else wanted[0]
