"""Points in time and durations in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock

if TYPE_CHECKING:
    from datetime import datetime

_STEPS = (("min", 60, 7_200), ("h", 3_600, 172_800), ("days", 86_400, float("inf")))  # unit, its seconds, used below


def duration(seconds: float) -> str:
    """Return a duration in at most two units: `1h 05m`, `2m 30s`, `12s`."""
    minutes, rest = divmod(max(int(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02}h"
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s" if rest else "<1s"


def when(stamp: str, now: datetime) -> str:
    """Return how long ago a time is, and the time itself: `3 min ago (2026-03-01 10:00:00 UTC)`.

    A time in the future (another machine's clock) is returned without "ago".
    """
    moment = clock.parse(stamp)
    if moment is None:
        return "at an unknown time"
    time = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return time if (now - moment).total_seconds() < -60 else f"{ago(stamp, now)} ({time})"


def ago(stamp: str, now: datetime) -> str:
    """Return how long ago a time is: `3 min ago`. It never counts seconds, so a page doesn't change every second."""
    moment = clock.parse(stamp)
    if moment is None:
        return "at an unknown time"
    passed = (now - moment).total_seconds()
    if passed < 60:
        return "just now"
    unit, length, _ = next(step for step in _STEPS if passed < step[2])
    return f"{int(passed // length)} {unit} ago"
