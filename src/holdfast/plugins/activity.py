"""When a handler's function last ran, and how it has failed since it last ran well: a small file each, in the cache."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock, log, paths
from holdfast.files import cache, trust
from holdfast.plugins.loader import Call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile

FAILURES_IN_A_ROW = 5
"""Failures after which a function is left out for some time, if its failure refuses nothing."""
REST_S = 600.0
"""Seconds after its last failure until it is called again."""
_FAULT_LIMIT_CHARS = 300
_LIMIT_BYTES = 64 * 1024
_FAILED, _PRINTED = "failed", "printed"


def note(call: Call, faults: Sequence[str], *, failed: bool) -> None:
    """Note that a function ran just now. An error is ignored: nothing depends on it.

    Args:
        call: the function.
        faults: what it did wrong, in words; what was noted of earlier calls stays only if it failed.
        failed: whether it failed, instead of only printing something.
    """
    path = _file(call)
    now = clock.now()
    kind = _FAILED if failed else _PRINTED
    lines = [
        f"{clock.stamp(now)} {kind} {call.route.event}: {log.written(each)[:_FAULT_LIMIT_CHARS]}\n" for each in faults
    ]
    with suppress(OSError):
        paths.ensure_private(path.parent)
        with open(path, "ab", opener=_opened_privately) as record:  # appended, so that none of two at once is lost
            if not failed or record.tell() > _LIMIT_BYTES:
                record.truncate(0)
            record.write("".join(lines).encode("utf-8", "replace"))
        os.utime(path, (now.timestamp(), now.timestamp()))


def last_run(call: Call) -> datetime | None:
    """Return when a function last ran, with the present content of its file; None if it never did."""
    try:
        return clock.from_mtime(_file(call).stat().st_mtime)
    except OSError:
        return None


def latest_fault(file: HandlerFile) -> tuple[str, str]:
    """Return what a file's functions last did wrong, in a sentence, and when; empty if they have run well since."""
    calls = {route.function: Call(file, route) for route in file.routes}
    found = [line for call in calls.values() for line in _lines(call)]
    if not found:
        return "", ""
    at, _, text = max(reversed(found), key=lambda line: line.partition(" ")[0]).split(" ", 2)
    times = "once" if len(found) == 1 else f"{len(found)} times"
    return f"{text} ({times}, last at {clock.minute(at)})", at


def rests_until(call: Call) -> datetime | None:
    """Return until when a function is left out, because it has failed so often in a row; None if it isn't."""
    last = last_run(call)
    if last is None or failures(call) < FAILURES_IN_A_ROW:
        return None
    end = last + timedelta(seconds=REST_S)
    return end if clock.now() < end else None


def wake(call: Call) -> None:
    """Let a function that is left out be called again."""
    with suppress(OSError):
        os.truncate(_file(call), 0)


def failures(call: Call) -> int:
    """Return how often in a row a function has failed."""
    return sum(line.split(" ", 2)[1] == _FAILED for line in _lines(call))


def guards(files: Iterable[HandlerFile], event: str) -> Iterator[Call]:
    """Yield your functions and the project's that run on an event before a tool call, each time."""
    for file in files:
        if file.place != "shipped" and file.active and file.path.exists():
            for route in file.routes:
                if route.event == event and not route.broken and not route.once:
                    yield Call(file, route)


def _lines(call: Call) -> list[str]:
    with suppress(OSError):
        return _file(call).read_text("utf-8", "replace").splitlines()
    return []


def _file(call: Call) -> Path:
    """Return the file about a function, with the present content of its file."""
    key = f"{call.file.path} {call.file.digest} {call.route.function}"
    return cache.folder() / f"{trust.digest(key.encode('utf-8', 'surrogateescape'))[:32]}.ran"


def _opened_privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
