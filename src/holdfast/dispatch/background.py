"""Handlers in the background: the client starts their entry without waiting for its answer (`"async": true`).

Two edits of one file share a run: each run waits a moment, and leaves the file to a run that has started since.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plugins.loader import Call
    from holdfast.project import OpenProject

WAIT_S = 0.5
"""How long a run waits for a newer edit of its file."""
_MARK = ":background"


def entry(event: str) -> str:
    """Return the argument of the registered command for an event's background handlers."""
    return event + _MARK


def is_entry(name: str) -> bool:
    """Return whether a name is an `entry`, and not an event."""
    return name.endswith(_MARK)


def event(name: str) -> str:
    """Return the event of an event's name or `entry`."""
    return name.removesuffix(_MARK)


def name(event: str, command: str) -> str:
    """Return the name under which an event's command is registered: the event, or its `entry`."""
    return entry(event) if entry(event) in command else event


def newest(project: OpenProject, session: str, file: str, plan: Sequence[Call]) -> list[Call]:
    """Wait a moment, and return the calls that no newer event of the session has begun for the same file.

    If the cache can't be written, return all calls.

    Args:
        project: the event's project.
        session: the event's session.
        file: the file that the event's tool call edits.
        plan: the event's calls.
    """
    from holdfast.plugins.state import State

    memory = State(project, "background", session, "", "")
    runs = {f"{call.label} {file}": call for call in plan}
    mine, left = [time.time(), os.getpid()], list(plan)
    with suppress(HoldfastError, OSError):
        with memory.session as begun:
            begun.update(dict.fromkeys(runs, mine))
        time.sleep(WAIT_S)
        with memory.session as begun:
            left = [call for key, call in runs.items() if begun.get(key) == mine and begun.pop(key)]
    return left
