"""Telling by a file's status alone whether it still is what was read of it earlier."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

Value = TypeVar("Value")
Stamp = tuple[int, int, int, int]
"""Inode, size, and in nanoseconds the times of the last change of the content and of anything (`ctime`)."""

SETTLED_NS = 2_000_000_000  # nanoseconds; of two edits within one tick of a file system's clock one stamp tells nothing


def stamp(info: os.stat_result) -> Stamp:
    """Return what of a file's status changes with its content; nobody can set the last part of it back."""
    return (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def settled(seen: Stamp, now: int | None = None) -> bool:
    """Tell whether a stamp is old enough to be believed: a later edit is sure to give another one.

    Args:
        seen: the file's stamp, taken before the file was read.
        now: `time.time_ns()` at that moment; by default now.
    """
    return (time.time_ns() if now is None else now) - seen[3] > SETTLED_NS


class Kept(Generic[Value]):
    """What was read from files, kept in this process until their stamps change.

    A process that lives long reads a file once and hands what it holds to the processes it forks.
    """

    def __init__(self, read: Callable[[Path], Value]) -> None:
        """Keep what `read` returns for a path; a missing file is its business, and is asked about every time."""
        self._read = read
        self._known: dict[Path, tuple[Stamp, Value]] = {}

    def get(self, path: Path) -> Value:
        """Return what a file holds. It is shared: whoever gets it does not change it."""
        try:
            now = stamp(path.stat())
        except (OSError, ValueError):
            return self._read(path)
        known = self._known.get(path)
        if known and known[0] == now:
            return known[1]
        fit = settled(now)
        value = self._read(path)
        if fit:
            self._known[path] = (now, value)
        return value
