"""When a handler's function last ran, and how often it has failed since then: one small file each, in the cache."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock, paths
from holdfast.files import cache, trust
from holdfast.plugins.loader import Call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile

FAILURES_IN_A_ROW = 5
"""Failures after which a function is left out for some time, if its failure refuses nothing."""
REST_S = 600.0
"""Seconds after its last failure until it is called again."""


def note(call: Call, *, failed: bool) -> None:
    """Note that a function ran just now, and whether it failed. An error is ignored: nothing depends on it."""
    path = _file(call)
    now = clock.now().timestamp()
    with suppress(OSError):
        paths.ensure_private(path.parent)
        with open(path, "ab", opener=_opened_privately) as file:  # appended, so that none of two at once is lost
            if failed:
                file.write(b"x")  # a byte for each failure in a row
            else:
                file.truncate(0)
        os.utime(path, (now, now))


def last_run(call: Call) -> datetime | None:
    """Return when a function last ran, with the present content of its file; None if it never did."""
    try:
        return clock.from_mtime(_file(call).stat().st_mtime)
    except OSError:
        return None


def has_run_well_since(call: Call, moment: datetime) -> bool:
    """Return whether a function's latest run was after a time, and didn't fail."""
    last = last_run(call)
    return last is not None and last > moment and not _failures(_file(call))


def rests_until(call: Call) -> datetime | None:
    """Return until when a function is left out, because it has failed so often in a row; None if it isn't."""
    last = last_run(call)
    if last is None or _failures(_file(call)) < FAILURES_IN_A_ROW:
        return None
    end = last + timedelta(seconds=REST_S)
    return end if clock.now() < end else None


def wake(call: Call) -> None:
    """Let a function that is left out be called again."""
    with suppress(OSError):
        os.truncate(_file(call), 0)


def begins_to_rest(call: Call) -> bool:
    """Return whether one more failure in a row makes a function rest."""
    return _failures(_file(call)) == FAILURES_IN_A_ROW - 1


def guards(files: Iterable[HandlerFile], event: str) -> Iterator[Call]:
    """Yield your functions and the project's that are asked at an event before a tool call, each time."""
    for file in files:
        if file.place != "shipped" and file.active and file.path.exists():
            for route in file.routes:
                if route.event == event and not route.broken and not route.once:
                    yield Call(file, route)


def _failures(path: Path) -> int:
    """Return the failures in a row: the file's size."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _file(call: Call) -> Path:
    """Return the file about a function, with the present content of its file."""
    key = f"{call.file.path} {call.file.digest} {call.route.function}"
    return cache.folder() / f"{trust.digest(key.encode('utf-8', 'surrogateescape'))[:32]}.ran"


def _opened_privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
