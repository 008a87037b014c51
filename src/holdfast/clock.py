"""The one source of time: every time Holdfast reads or writes is UTC."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

_STEPS = (("min", 60, 7_200), ("h", 3_600, 172_800), ("days", 86_400, float("inf")))  # unit, its seconds, used below


def now() -> datetime:
    """Return the present time, aware and in UTC.

    The environment variable HOLDFAST_NOW (ISO 8601) overrides it, so that demos and tests are reproducible. A value
    that isn't a time is ignored.
    """
    fixed = os.environ.get("HOLDFAST_NOW")
    return (parse(fixed) if fixed else None) or datetime.now(UTC)


def second_after(earlier: str) -> datetime:
    """Return the present in whole seconds, and later than a stamp: what begins again gets another time of its own."""
    moment, before = now().replace(microsecond=0), parse(earlier)
    return before.replace(microsecond=0) + timedelta(seconds=1) if before and before >= moment else moment


def stamp(moment: datetime | None = None) -> str:
    """Return a time (default: now) as `2025-12-09T14:30:52.123456Z` (R001-09); such texts sort by time."""
    return _utc(moment or now()).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def minute(stamp: str) -> str:
    """Return a stamp for people, to the minute: `2025-12-09 14:30 UTC`."""
    return f"{stamp[:10]} {stamp[11:16]} UTC"


def second(stamp: str) -> str:
    """Return a stamp for people, to the second and without its zone: `2025-12-09 14:30:52`."""
    return f"{stamp[:10]} {stamp[11:19]}"


def file_stamp(moment: datetime | None = None) -> str:
    """Return a time (default: now) as `20251209_143052`, in UTC, for file names (R001-02)."""
    return _utc(moment or now()).strftime("%Y%m%d_%H%M%S")


def parse(text: str) -> datetime | None:
    """Return an ISO 8601 text as a time in UTC, or None if it is none.

    `Z` and an offset are accepted; a time without a zone is taken as UTC, and a date alone as its midnight.
    """
    try:
        return _utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None


def from_mtime(seconds: float) -> datetime:
    """Return a file's `st_mtime` (seconds since 1970) as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


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
    moment = parse(stamp)
    if moment is None:
        return "at an unknown time"
    time = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return time if (now - moment).total_seconds() < -60 else f"{ago(stamp, now)} ({time})"


def ago(stamp: str, now: datetime) -> str:
    """Return how long ago a time is: `3 min ago`. It never counts seconds, so a page doesn't change every second."""
    moment = parse(stamp)
    if moment is None:
        return "at an unknown time"
    passed = (now - moment).total_seconds()
    if passed < 60:
        return "just now"
    unit, length, _ = next(step for step in _STEPS if passed < step[2])
    return f"{int(passed // length)} {unit} ago"


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
