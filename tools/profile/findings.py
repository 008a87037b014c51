"""The figures of a replay by event and by handler, and which handlers are slow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from tools.profile.figures import Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tools.profile.firing import Called, Firing

Each = TypeVar("Each")

SLOW_MS = 50.0
"""A handler that takes more milliseconds than this is slow."""
ENOUGH = 20
"""How many calls a meaningful p95 needs; of fewer it is the longest call, which a busy machine alone can cause."""


@dataclass(frozen=True)
class OfEvent:
    """The times of one event's firings.

    Attributes:
        name: the event's name.
        firings: its firings, including those without a trace.
    """

    name: str
    firings: Sequence[Firing]

    @cached_property
    def parts(self) -> dict[str, Spread]:
        """The spreads of the whole time and of its three parts; the parts are only of traced firings."""
        known = [each for each in self.firings if each.traced]
        return {
            "whole": Spread.of(each.whole for each in self.firings),
            "client": Spread.of(each.client for each in known),
            "server": Spread.of(each.server for each in known),
            "handlers": Spread.of(each.handlers for each in known),
        }

    def as_json(self) -> dict[str, Any]:
        """Return all figures by name."""
        spreads = {name: spread.as_json() for name, spread in self.parts.items()}
        own = {name: spread.as_json() for name, spread in stages(self.firings).items()}
        return {"event": self.name, "count": len(self.firings), **spreads, "stages": own}


@dataclass(frozen=True)
class OfHandler:
    """The times of one handler function on one event.

    Attributes:
        event: the event's name.
        label: `user/guard.py: on_pre_tool_use`.
        calls: its calls.
        total: the milliseconds of all firings of that event, including those that didn't call it.
    """

    event: str
    label: str
    calls: Sequence[Called]
    total: float

    @property
    def file(self) -> str:
        """Its place and file: `user/guard.py`."""
        return self.label.partition(":")[0]

    @property
    def spent(self) -> float:
        """The milliseconds of all its calls together."""
        return sum(call.whole for call in self.calls)

    @property
    def share(self) -> float:
        """Its share of the event's time, 0 to 1."""
        return self.spent / self.total if self.total else 0.0

    @cached_property
    def whole(self) -> Spread:
        """The spread of loading and running together."""
        return Spread.of(call.whole for call in self.calls)

    @cached_property
    def loading(self) -> Spread:
        """The spread of loading alone."""
        return Spread.of(call.loading for call in self.calls)

    @property
    def slow(self) -> bool:
        """Whether its p95 exceeds `SLOW_MS` or, with fewer than `ENOUGH` calls, its p50."""
        return (self.whole.p95 if len(self.calls) >= ENOUGH else self.whole.p50) > SLOW_MS

    @property
    def faults(self) -> list[str]:
        """The faults of its calls."""
        return [call.fault for call in self.calls if call.fault]

    def as_json(self) -> dict[str, Any]:
        """Return all figures by name."""
        named = {"event": self.event, "handler": self.file, "function": self.label.partition(": ")[2]}
        counts = {"calls": len(self.calls), "faults": len(self.faults), "share": round(self.share, 4)}
        return {**named, **counts, "whole": self.whole.as_json(), "loading": self.loading.as_json()}


@dataclass(frozen=True)
class Findings:
    """The figures of a replay.

    Attributes:
        firings: every counted firing.
        cold: whether it was replayed without a server on purpose.
    """

    firings: Sequence[Firing]
    cold: bool

    @cached_property
    def events(self) -> list[OfEvent]:
        """The figures by event, the longest total time first."""
        found = [OfEvent(name, each) for name, each in _by(self.firings, lambda firing: firing.event)]
        return sorted(found, key=lambda each: -sum(firing.whole for firing in each.firings))

    @cached_property
    def handlers(self) -> list[OfHandler]:
        """The figures by event and function, the longest total time first."""
        found = []
        for event in self.events:
            total = sum(each.whole for each in event.firings)
            calls = [call for each in event.firings for call in each.calls]
            found += [OfHandler(event.name, label, each, total) for label, each in _by(calls, lambda call: call.label)]
        return sorted(found, key=lambda each: -each.spent)

    @property
    def slowest(self) -> OfHandler | None:
        """The handler with the longest total time; None if none was called."""
        return self.handlers[0] if self.handlers else None

    @property
    def slow(self) -> list[OfHandler]:
        """The slow handlers, the highest p95 first."""
        return sorted((each for each in self.handlers if each.slow), key=lambda each: -each.whole.p95)

    @property
    def untraced(self) -> int:
        """How many firings have no trace."""
        return sum(not each.traced for each in self.firings)

    @property
    def gone_cold(self) -> int:
        """How many firings the server should have answered but didn't."""
        return 0 if self.cold else sum(each.traced and not each.warm for each in self.firings)

    def as_json(self) -> dict[str, Any]:
        """Return all figures by name, times in milliseconds."""
        return {
            "unit": "ms",
            "server": not self.cold,
            "count": len(self.firings),
            "cold_fallbacks": self.gone_cold,
            "untraced": self.untraced,
            "events": [each.as_json() for each in self.events],
            "handlers": [each.as_json() for each in self.handlers],
            "slowest": self.slowest.as_json() if self.slowest else None,
            "slow_above": SLOW_MS,
            "slow": [each.as_json() for each in self.slow],
        }


def stages(firings: Iterable[Firing]) -> dict[str, Spread]:
    """Return the spread of each part of the server's own time, in their order."""
    times: dict[str, list[float]] = {}
    for firing in firings:
        for name, spent in firing.stages:
            times.setdefault(name, []).append(spent)
    return {name: Spread.of(spent) for name, spent in times.items()}


def _by(found: Iterable[Each], name: Callable[[Each], str]) -> list[tuple[str, list[Each]]]:
    return [(key, list(each)) for key, each in groupby(sorted(found, key=name), key=name)]
