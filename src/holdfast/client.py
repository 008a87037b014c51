"""Which Claude Code is installed here, as far as it tells."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress

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
    found = _VERSION.search(_output([program, "--version"]))
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def knows_all_events() -> bool:
    """Tell whether the installed client is new enough for every event."""
    installed = version()
    return installed is not None and installed >= ALL_EVENTS_SINCE


def known_events(everything: bool) -> frozenset[str]:
    """Return the events that may be registered: one unknown name can silence a whole file of an older client."""
    return frozenset(EVENTS) if everything else OLDEST_CLIENT_EVENTS


def _output(call: list[str]) -> str:
    """Return what a program prints, nothing if it fails; one that takes too long is ended with all it started."""
    try:
        process = subprocess.Popen(
            call,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return ""
    with process:
        try:
            printed = process.communicate(timeout=_PATIENCE)[0]
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            return ""
    return printed.decode("utf-8", "replace") if process.returncode == 0 else ""
