"""A replay's findings in tables and sentences for people."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools.profile import double
from tools.profile.findings import SLOW_MS, OfEvent, stages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.profile.figures import Spread
    from tools.profile.findings import Findings, OfHandler
    from tools.profile.selection import Chosen

LEAST_MS = 0.05
"""A part of the server's time below this isn't mentioned."""
NAMES = ("event", "handler")
"""The columns with names; all others have figures."""
MOST = 20
"""How many handlers are shown, those with the longest total time."""

Rows = tuple[tuple[str, ...], list[tuple[str, ...]]]

RECORDING = 'To record: on = ["record_events"] under [handlers] in your holdfast.toml, then holdfast install'


def about(chosen: Chosen, rounds: int, event: str, off: str, left_out: int, load: float) -> list[str]:
    """Return sentences on what was replayed, and on everything that affects the figures.

    Args:
        chosen: the events.
        rounds: how often each was replayed.
        event: the value of `--event`, or empty.
        off: what switches the server off, or empty.
        left_out: how many files of the project weren't copied.
        load: the system's load average.
    """
    number = len(chosen.payloads)
    times = "once" if rounds == 1 else f"{rounds} times"
    what = "sample" if chosen.samples else "recorded"
    each = "" if number == 1 else "each "
    said = [f"{_many(number, f'{what} event')}, {each}replayed {times}; all times in milliseconds."]
    if chosen.samples:
        said.append(f"No {event or 'event'} of this project is recorded, so samples stood in. {RECORDING}.")
    if chosen.older:
        which = "more sample" if chosen.samples else "older event"
        said.append(f"{_many(chosen.older, which)} stayed out. --limit takes more.")
    if chosen.unwanted:
        said.append(f"{_many(chosen.unwanted, 'recorded event')} stayed out, because no handler wants them any more.")
    if chosen.unread:
        said.append(f"{_many(chosen.unread, 'line')} of the recordings could not be read.")
    if off:
        said.append(f"The warm server is off ({off}), so each event was a cold start.")
    if left_out:
        said.append(f"{_many(left_out, 'file')} of the project stayed out: too large, too many, or unreadable.")
    processors = os.cpu_count() or 1
    if load > processors:
        said.append(
            f"The machine was busy (load {load:.1f}, {_many(processors, 'processor')}), so everything took longer."
        )
    return [*said, double.LIMITS]


def tables(found: Findings) -> dict[str, Rows]:
    """Return the tables to show: heading → names of the columns, and rows."""
    whole = [OfEvent("all", found.firings)] if len(found.events) > 1 else []
    events = [
        (each.name, str(len(each.firings)), *_three(each.parts["whole"]), _ms(each.parts["whole"].max), *_parts(each))
        for each in (*found.events, *whole)
    ]
    handlers = [
        (each.event, each.file, str(len(each.calls)), *_three(each.whole), _ms(each.loading.p50), _percent(each.share))
        for each in found.handlers[:MOST]
    ]
    own = "server" if not found.cold else "Holdfast"
    shown: dict[str, Rows] = {
        "By event": (("event", "n", "p50", "p95", "p99", "max", "client", own, "handlers"), events)
    }
    if handlers:
        shown["By handler"] = (("event", "handler", "n", "p50", "p95", "p99", "loading", "share"), handlers)
    return shown


def verdict(found: Findings) -> list[str]:
    """Return sentences that say where the time went, and which handlers are slow."""
    return [*_slow(found), *_means(found), *_failed(found), *_missing(found)]


def _slow(found: Findings) -> Iterator[str]:
    slowest = found.slowest
    if slowest is None:
        yield "No handler was called."
        return
    p95 = _ms(slowest.whole.p95)
    yield f"{slowest.file} takes {_percent(slowest.share)} of the time of {slowest.event}; its p95 is {p95} ms."
    if found.slow:
        listed = [f"{_named(each)} (p50 {_ms(each.whole.p50)}, p95 {_ms(each.whole.p95)})" for each in found.slow]
        yield f"Slow, above {SLOW_MS:g} ms: {', '.join(listed)}."
    else:
        yield f"No handler is slow, above {SLOW_MS:g} ms."


def _means(found: Findings) -> Iterator[str]:
    own = [f"{name} {_ms(spread.mean)}" for name, spread in stages(found.firings).items() if spread.mean >= LEAST_MS]
    if own:
        whose = "Holdfast's" if found.cold else "the server's"
        yield f"The last three columns of events are means; {whose} is made of {', '.join(own)}."
    if len(found.handlers) > MOST:
        yield f"{_many(len(found.handlers) - MOST, 'handler')} with less time in all are not shown; --json has them."


def _failed(found: Findings) -> Iterator[str]:
    for each in found.handlers:
        if each.faults:
            often = f"{len(each.faults)} of {_many(len(each.calls), 'call')}"
            yield f"{_named(each)} failed in {often} here, so its time may be another one: {each.faults[-1]}."


def _missing(found: Findings) -> Iterator[str]:
    if found.gone_cold:
        yield f"A cold start, not the server, answered {_many(found.gone_cold, 'event')}."
    if found.untraced:
        yield f"{_many(found.untraced, 'event')} did not say what took the time; only the whole is known."


def _named(handler: OfHandler) -> str:
    return f"{handler.file} on {handler.event}"


def _parts(event: OfEvent) -> list[str]:
    return [_ms(event.parts[name].mean) for name in ("client", "server", "handlers")]


def _three(spread: Spread) -> list[str]:
    return [_ms(each) for each in (spread.p50, spread.p95, spread.p99)]


def _ms(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
