"""Which Claude Code is installed here, as far as it tells."""

from __future__ import annotations

import re
import shutil
import subprocess

from holdfast.events import EVENTS, OLDEST_CLIENT_EVENTS

ALL_EVENTS_SINCE = (2, 1, 251)
"""The first client that knows every event we know (client fact §1.1)."""

_PATIENCE = 5.0  # seconds
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def version() -> tuple[int, int, int] | None:
    """Return the version of the `claude` on PATH; None where there is none or it does not answer within 5 seconds."""
    program = shutil.which("claude")
    if program is None:
        return None
    try:
        answer = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stdout.decode("utf-8", "replace"))
    return (int(found[1]), int(found[2]), int(found[3])) if found and answer.returncode == 0 else None


def knows_all_events() -> bool:
    """Tell whether the installed client is new enough for every event."""
    installed = version()
    return installed is not None and installed >= ALL_EVENTS_SINCE


def known_events(everything: bool) -> frozenset[str]:
    """Return the events that may be registered: one unknown name can silence a whole file of an older client."""
    return frozenset(EVENTS) if everything else OLDEST_CLIENT_EVENTS
