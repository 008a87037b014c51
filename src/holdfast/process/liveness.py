"""Tell whether a process still runs, and tell it from others of the same number: later, in a container, elsewhere."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache

_STAT_LIMIT_BYTES = 4096  # more than the system tells of a process
_STATE, _PARENT, _START = 0, 1, 19  # fields of /proc/PID/stat after the name, which is the second


def identity(number: int) -> str:
    """Return what names a process for good: its machine, namespace, number and start; `-` for what isn't known."""
    return f"{_place()} {number} {started_at(number) or '-'}"


def is_running(process: str) -> bool | None:
    """Return whether the process of an identity still runs; None if it is empty, or can't be seen from here."""
    if not process.startswith(f"{_place()} "):
        return None
    number, start = process.rsplit(" ", 2)[1:]
    return runs(int(number), None if start == "-" else start)


def is_gone(process: str) -> bool:
    """Return whether the process of an identity runs no more, as far as can be seen from here."""
    return is_running(process) is False


def runs(number: int, start: str | None = None) -> bool:
    """Return whether a process of this namespace runs; one that has ended and that nobody has waited for doesn't.

    Args:
        number: its id.
        start: what `started_at` returned for it. A process of this number with another start is a later one.
    """
    with suppress(PermissionError, OverflowError):  # it runs, as another user's
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return False
    found = _stat(number)
    return found is None or (found[1][_STATE] != "Z" and start in (None, found[1][_START]))


def started_at(number: int) -> str | None:
    """Return when a process started, in the system's own ticks; None if it is gone, or where there is no /proc.

    Elsewhere than on Linux only a program (`ps`) tells, which takes too long for an event.
    """
    found = _stat(number)
    return found[1][_START] if found else None


def parent(number: int) -> tuple[str, int] | None:
    """Return a process's name and its parent's id; None if it is gone, or where there is no /proc."""
    found = _stat(number)
    return (found[0], int(found[1][_PARENT])) if found else None


@cache  # a process can't leave it; the server answers only for callers of its own
def namespace() -> str | None:
    """Return the namespace in which this process's numbers hold, such as a container's; None where there is none."""
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - for each event
    return None


def _place() -> str:
    return f"{os.uname().nodename} {namespace() or '-'}"


def _stat(number: int) -> tuple[str, list[str]] | None:
    """Return a process's name, and the fields of /proc/PID/stat after it."""
    try:
        descriptor = os.open(f"/proc/{number}/stat", os.O_RDONLY | os.O_CLOEXEC)  # a `Path` would take ten calls
    except OSError:
        return None
    try:
        name, _, rest = os.read(descriptor, _STAT_LIMIT_BYTES).decode("utf-8", "replace").rpartition(")")
    except OSError:  # gone just now
        return None
    finally:
        os.close(descriptor)
    return name.partition("(")[2], rest.split()
