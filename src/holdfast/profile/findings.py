"""What the replayed events say: by event, by handler, and which handler is the slow one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.profile.figures import Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from holdfast.profile.firing import Called, Firing

Each = TypeVar("Each")

SLOW_MS = 50.0
"""Milliseconds above which a handler is named as slow."""
ENOUGH = 20
"""Calls from which on a p95 is more than the longest of them, which a busy machine alone can make long."""


@dataclass(frozen=True)
class OfEvent:
    """What the firings of one event took, those whose split is known and the others.

    Attributes:
        name: the event's.
        firings: each of them.
    """

    name: str
    firings: Sequence[Firing]

    @cached_property
    def parts(self) -> dict[str, Spread]:
        """The spreads of the whole and of its three parts; of the parts where they are known."""
        known = [each for each in self.firings if each.traced]
        return {
            "whole": Spread.of(each.whole for each in self.firings),
            "client": Spread.of(each.client for each in known),
            "server": Spread.of(each.server for each in known),
            "handlers": Spread.of(each.handlers for each in known),
        }

    def as_json(self) -> dict[str, Any]:
        """Return all of it by name."""
        spreads = {name: spread.as_json() for name, spread in self.parts.items()}
        own = {name: spread.as_json() for name, spread in stages(self.firings).items()}
        return {"event": self.name, "count": len(self.firings), **spreads, "stages": own}


@dataclass(frozen=True)
class OfHandler:
    """What one handler's function took on one event.

    Attributes:
        event: the event's name.
        label: `user/guard.py: on_pre_tool_use`.
        calls: each of its calls.
        total: the milliseconds that all firings of that event took, those that did not call it too.
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
        """What part of its event's time it takes, 0 to 1."""
        return self.spent / self.total if self.total else 0.0

    @cached_property
    def whole(self) -> Spread:
        """Loading and running together."""
        return Spread.of(call.whole for call in self.calls)

    @cached_property
    def loading(self) -> Spread:
        """Loading alone."""
        return Spread.of(call.loading for call in self.calls)

    @property
    def slow(self) -> bool:
        """Whether it takes more than `SLOW_MS` half of the time, or one time in twenty where it was called often."""
        return (self.whole.p95 if len(self.calls) >= ENOUGH else self.whole.p50) > SLOW_MS

    @property
    def faults(self) -> list[str]:
        """What went wrong in its calls."""
        return [call.fault for call in self.calls if call.fault]

    def as_json(self) -> dict[str, Any]:
        """Return all of it by name."""
        named = {"event": self.event, "handler": self.file, "function": self.label.partition(": ")[2]}
        counts = {"calls": len(self.calls), "faults": len(self.faults), "share": round(self.share, 4)}
        return {**named, **counts, "whole": self.whole.as_json(), "loading": self.loading.as_json()}


@dataclass(frozen=True)
class Findings:
    """What came of a replay.

    Attributes:
        firings: every event that was replayed and counted.
        cold: whether it was meant to be without a server.
    """

    firings: Sequence[Firing]
    cold: bool

    @cached_property
    def events(self) -> list[OfEvent]:
        """By event, the one that took the most time in all first."""
        found = [OfEvent(name, each) for name, each in _by(self.firings, lambda firing: firing.event)]
        return sorted(found, key=lambda each: -sum(firing.whole for firing in each.firings))

    @cached_property
    def handlers(self) -> list[OfHandler]:
        """By event and function, the one that took the most time in all first."""
        found = []
        for event in self.events:
            total = sum(each.whole for each in event.firings)
            calls = [call for each in event.firings for call in each.calls]
            found += [OfHandler(event.name, label, each, total) for label, each in _by(calls, lambda call: call.label)]
        return sorted(found, key=lambda each: -each.spent)

    @property
    def slowest(self) -> OfHandler | None:
        """The handler that took the most time in all; None where none was called."""
        return self.handlers[0] if self.handlers else None

    @property
    def slow(self) -> list[OfHandler]:
        """The slow handlers, the slowest first."""
        return sorted((each for each in self.handlers if each.slow), key=lambda each: -each.whole.p95)

    @property
    def untraced(self) -> int:
        """How many events told nothing of themselves."""
        return sum(not each.traced for each in self.firings)

    @property
    def gone_cold(self) -> int:
        """How many events the server was to answer, and did not."""
        return 0 if self.cold else sum(each.traced and not each.warm for each in self.firings)

    def as_json(self) -> dict[str, Any]:
        """Return all figures by name, times in milliseconds."""
        return {
            "unit": "ms",
            "server": not self.cold,
            "count": len(self.firings),
            "gone_cold": self.gone_cold,
            "untraced": self.untraced,
            "events": [each.as_json() for each in self.events],
            "handlers": [each.as_json() for each in self.handlers],
            "slowest": self.slowest.as_json() if self.slowest else None,
            "slow_above": SLOW_MS,
            "slow": [each.as_json() for each in self.slow],
        }


def stages(firings: Iterable[Firing]) -> dict[str, Spread]:
    """Return the spreads of the parts of the server's own time, in their order."""
    times: dict[str, list[float]] = {}
    for firing in firings:
        for name, spent in firing.stages:
            times.setdefault(name, []).append(spent)
    return {name: Spread.of(spent) for name, spent in times.items()}


def _by(found: Iterable[Each], name: Callable[[Each], str]) -> list[tuple[str, list[Each]]]:
    return [(key, list(each)) for key, each in groupby(sorted(found, key=name), key=name)]
