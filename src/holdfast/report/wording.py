"""How a report writes times, durations, sessions and numbers."""

from __future__ import annotations

from holdfast import clock
from holdfast.files.redact import beginning
from holdfast.workflow.wording import LOOKED_AT_CHARS, VALUE_LIMIT_CHARS, one_line

_STEPS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))
ENDINGS = {
    "confirmed": "restored, and confirmed by the transcript",
    "given": "restored, not confirmed",
    "lost": "not restored",
    "nothing": "nothing to restore",
    "open": "announced, but it didn't happen",
}
TRIGGERS = {"auto": "automatic", "manual": "manual", "none": "not announced"}


def seconds(stamp: str) -> float:
    """Return a stamp as seconds since 1970; 0 if it is invalid."""
    moment = clock.parse(stamp)
    return moment.timestamp() if moment else 0.0


def moment(stamp: str | None) -> str:
    """Return a stamp as `21 Nov 2026 14:05:09`; a dash if there is none."""
    at = clock.parse(stamp) if stamp else None
    return f"{at.day} {at:%b %Y %H:%M:%S}" if at else "–"


def span(length: float) -> str:
    """Return a duration in seconds in its two largest units: `3 d 4 h`, `5 min`, `12 s`."""
    for at, (size, unit) in enumerate(_STEPS):
        if length >= size:
            rest = _STEPS[at + 1] if at + 1 < len(_STEPS) else (1.0, "s")
            less = int(length % size // rest[0])
            return f"{int(length // size)} {unit}" + (f" {less} {rest[1]}" if less else "")
    return f"{int(length)} s"


def between(begin: str, end: str) -> float:
    """Return the seconds between two stamps; 0 if the second one is earlier."""
    return max(seconds(end) - seconds(begin), 0.0)


def brief(text: str, limit: int = VALUE_LIMIT_CHARS) -> str:
    """Return foreign text on one line, cut to `limit` characters.

    Secrets are masked before it is cut, because half a secret isn't recognised as one.
    """
    return one_line(beginning(text, LOOKED_AT_CHARS), limit)


def session(name: str) -> str:
    """Return a session's id shortened to eight characters; a dash if it is empty."""
    return name[:8] or "–"
