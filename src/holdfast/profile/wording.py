"""What a replay found, in tables and sentences for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.profile import double
from holdfast.profile.findings import SLOW, stages

if TYPE_CHECKING:
    from holdfast.profile.choosing import Chosen
    from holdfast.profile.figures import Spread
    from holdfast.profile.findings import Findings, OfHandler

NAMES = ("event", "handler")
"""The columns that hold a name; all others hold figures."""

Rows = tuple[tuple[str, ...], list[tuple[str, ...]]]

RECORDING = 'handlers.on = ["record_events"] in holdfast.toml records them from the next session on (holdfast install)'


def about(chosen: Chosen, rounds: int, source: str, off: str, left_out: int) -> list[str]:
    """Return what was replayed, in a sentence, and what else one has to know of it, a sentence each.

    Args:
        chosen: the events.
        rounds: how often each.
        source: `recorded` or `samples`.
        off: what switches the server off here, or nothing.
        left_out: how many files of the project were not copied.
    """
    count = len(chosen.payloads)
    times = "once" if rounds == 1 else f"{rounds} times"
    what = "recorded" if source == "recorded" else "sample"
    said = [f"{_many(count, f'{what} event')}, each replayed {times}; all times in milliseconds."]
    if source == "samples":
        said.append(f"No events of this project are recorded, so payloads of the package stood in. {RECORDING}.")
    if chosen.older:
        said.append(f"{_many(chosen.older, 'older event')} stayed out; --limit takes more.")
    if chosen.unwanted:
        said.append(f"{_many(chosen.unwanted, 'recorded event')} no handler asks for any more stayed out.")
    if chosen.unread:
        said.append(f"{_many(chosen.unread, 'line')} of the recordings could not be read.")
    if off:
        said.append(f"The warm server is off ({off}), so all were answered without it.")
    if left_out:
        said.append(f"{_many(left_out, 'file')} of the project stayed out: too large, or too many.")
    return [*said, double.LIMITS]


def tables(found: Findings) -> dict[str, Rows]:
    """Return what is to be shown as tables by their headings: the names of the columns, and the rows."""
    events = [
        (each.name, str(len(each.firings)), *_four(each.parts["whole"]), *_parts(each.parts)) for each in found.events
    ]
    own = "server" if not found.cold else "Holdfast"
    handlers = [
        (each.event, each.label, str(len(each.calls)), *_four(each.whole), _ms(each.loading.p50))
        for each in found.handlers
    ]
    shown: dict[str, Rows] = {
        "By event": (("event", "n", "p50", "p95", "p99", "max", "client", own, "handlers"), events)
    }
    if handlers:
        shown["By handler"] = (("event", "handler", "n", "p50", "p95", "p99", "max", "loading"), handlers)
    return shown


def verdict(found: Findings) -> list[str]:
    """Return the sentences that say where the time went, and which handler is slow."""
    said = []
    own = ", ".join(f"{name} {_ms(spread.mean)}" for name, spread in stages(found.firings).items())
    if own:
        said.append(
            f"client, {'Holdfast' if found.cold else 'server'} and handlers are means; of Holdfast's own: {own}."
        )
    if slowest := found.slowest:
        p95 = _ms(slowest.whole.p95)
        said.append(f"{slowest.file} takes {slowest.share:.0%} of the time of {slowest.event}; its p95 is {p95} ms.")
        if found.slow:
            listed = ", ".join(f"{_named(each)} ({_ms(each.whole.p95)} ms)" for each in found.slow)
            said.append(f"Slow, with a p95 above {SLOW:g} ms: {listed}.")
        else:
            said.append(f"No handler has a p95 above {SLOW:g} ms.")
    else:
        said.append("No handler was called.")
    for each in found.handlers:
        if each.faults:
            often = f"{len(each.faults)} of {_many(len(each.calls), 'call')}"
            said.append(f"{_named(each)} failed in {often} here, so its time may be another one: {each.faults[-1]}.")
    if found.gone_cold:
        said.append(f"{_many(found.gone_cold, 'event')} the server did not answer; they were cold starts.")
    if found.untraced:
        said.append(f"{_many(found.untraced, 'event')} did not say what took the time; only the whole is known.")
    return said


def _named(handler: OfHandler) -> str:
    return f"{handler.label} on {handler.event}"


def _parts(parts: dict[str, Spread]) -> list[str]:
    return [_ms(parts[name].mean) for name in ("client", "server", "handlers")]


def _four(spread: Spread) -> list[str]:
    return [_ms(each) for each in (spread.p50, spread.p95, spread.p99, spread.max)]


def _ms(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
