"""Measure the idle warm server: its memory with its children's, and its CPU time."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.bench.place import Place

IDLE = 10.0  # seconds of measurement
_SETTLING = 2.0  # seconds before that, in which processes of the last event may end
_PROC = Path("/proc")


@dataclass(frozen=True)
class Usage:
    """The resources of a server and all its children.

    Attributes:
        processes: how many processes they are.
        pss_mb: their memory in MB, with shared memory counted once.
        rss_mb: their memory in MB, with shared memory counted for each process.
        idle_ticks: clock ticks of CPU time during the measurement.
        idle_ms: the same in milliseconds, as the scheduler counts it; None if the system doesn't tell.
        seconds: the measurement's length.
    """

    processes: int
    pss_mb: float
    rss_mb: float
    idle_ticks: int
    idle_ms: float | None
    seconds: float


def measure(place: Place) -> Usage | None:
    """Measure the server of a place for some seconds; return None if none runs, or without /proc."""
    time.sleep(_SETTLING)
    before = tree(place)
    if not before:
        return None
    ticks, nanoseconds = _cpu(before)
    time.sleep(IDLE)
    pids = tree(place)
    later, later_ns = _cpu(pids)
    spent = None if nanoseconds is None or later_ns is None else round((later_ns - nanoseconds) / 1e6, 2)
    pss = _pss(pids) / (1 << 20)
    rss = sum(map(_resident, pids)) / 1024
    return Usage(len(pids), round(pss, 1), round(rss, 1), later - ticks, spent, IDLE)


def tree(place: Place) -> list[int]:
    """Return the process ids of a place's servers and all their descendants; empty without /proc."""
    found = [pid for pid in _all() if _serves(pid, os.fsencode(place.entry))]
    return sorted({each for pid in found for each in family(pid)})


def stop(place: Place) -> None:
    """Stop the servers of a place, and wait until they are gone."""
    until = time.monotonic() + _SETTLING
    number = signal.SIGTERM
    while pids := tree(place):
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, number)
        if time.monotonic() > until:
            number = signal.SIGKILL
        time.sleep(0.1)


def _all() -> list[int]:
    with suppress(OSError):
        return [int(each.name) for each in _PROC.iterdir() if each.name.isdecimal()]
    return []


def _serves(pid: int, entry: bytes) -> bool:
    words = command(pid)
    return entry in words and words[-1] == b"--serve"


def command(pid: int) -> list[bytes]:
    """Return a process's command line; empty if it has ended."""
    with suppress(OSError):
        return (_PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    return []


def _stat(pid: int) -> list[str]:
    """Return the fields of a process's `stat` after its name, beginning with the state."""
    with suppress(OSError):
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return []


def _cpu(pids: list[int]) -> tuple[int, int | None]:
    """Return the CPU time of processes so far, in clock ticks and (None if unknown) in nanoseconds."""
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in map(_stat, pids) if fields)
    try:
        return ticks, sum(int((_PROC / str(pid) / "schedstat").read_text().split()[0]) for pid in pids)
    except (OSError, ValueError, IndexError):
        return ticks, None


def _resident(pid: int) -> int:
    """Return a process's resident memory in kilobytes."""
    with suppress(OSError):
        for line in (_PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def family(pid: int) -> list[int]:
    """Return the ids of a process and all its descendants (Linux: proc(5)); elsewhere only the process."""
    found = [pid]
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text("ascii").split():
                found += family(int(child))
    return found


def _pss(pids: list[int]) -> int:
    """Return the memory of processes in bytes, with shared memory counted once (Linux: PSS)."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total
