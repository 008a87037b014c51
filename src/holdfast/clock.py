"""The one source of time: every moment Holdfast reads or writes is UTC."""

from __future__ import annotations

import os
from datetime import UTC, datetime


def now() -> datetime:
    """Return the present moment, aware and in UTC.

    The environment variable HOLDFAST_NOW (ISO 8601) overrides it, so that demos and tests are reproducible; a value
    that is no time is ignored.
    """
    fixed = os.environ.get("HOLDFAST_NOW")
    return (parse(fixed) if fixed else None) or datetime.now(UTC)


def stamp(moment: datetime | None = None) -> str:
    """Return a moment (default: now) as `2025-12-09T14:30:52.123456Z` (R001-09); such texts sort in time order."""
    return _utc(moment or now()).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def file_stamp(moment: datetime | None = None) -> str:
    """Return a moment (default: now) as `20251209_143052`, for file names, in UTC (R001-02)."""
    return _utc(moment or now()).strftime("%Y%m%d_%H%M%S")


def parse(text: str) -> datetime | None:
    """Return the moment an ISO 8601 text names, in UTC, or None if it names none.

    `Z`, an offset and no zone at all (taken as UTC) are accepted; a date alone is its midnight.
    """
    try:
        return _utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None


def from_mtime(seconds: float) -> datetime:
    """Return the moment of a file's `st_mtime` (seconds since 1970) in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
