"""Measure what one event costs on this machine without a server, and say it in a sentence."""

from __future__ import annotations

import shlex

from holdfast import paths
from holdfast.testkit import place
from holdfast.testkit.client import Client

TIMEOUT_S = 10.0
"""How long a measurement may take."""


def line() -> str:
    """Return a sentence for people that says what the registered events cost, as measured now.

    The launcher runs twice in a throw-away home and project, with an event that handlers want; the second run is timed,
    when its files are in the system's cache.
    """
    said = "Each of these events starts one process."
    seconds = measured()
    if seconds is None:
        return f"{said} Its time could not be measured; `holdfast doctor --fire` says why."
    return (
        f"{said} The first of a session takes about {seconds * 1000:.0f} ms and starts a server that makes the next"
        " ones faster; `holdfast profile` measures them."
    )


def measured() -> float | None:
    """Return the seconds that the launcher takes for one event without a server, or None if it doesn't answer."""
    with place.opened() as made:
        client = Client(made, made.root)
        command = f"{shlex.quote(str(paths.launcher()))} PreToolUse"
        payload = client.payload("PreToolUse-TodoWrite")
        runs = [client.run(command, payload, TIMEOUT_S) for _ in range(2)]
    return runs[-1].seconds if all(each.exit_code == 0 for each in runs) else None
