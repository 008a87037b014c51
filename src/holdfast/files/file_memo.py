"""Tell from a file's stat result alone whether it is unchanged since it was read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

Value = TypeVar("Value")
Stamp = tuple[int, int, int, int]
"""Inode, size, `mtime` and `ctime` (the last change of anything), the times in nanoseconds."""

SETTLED_NS = 2_000_000_000  # nanoseconds; two edits within one tick of a file system's clock give the same stamp


def stamp(info: os.stat_result) -> Stamp:
    """Return the stamp of a stat result, which changes with the content. Nobody can set its `ctime` back."""
    return (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def settled(seen: Stamp) -> bool:
    """Return whether a stamp is old enough to be trusted: any later edit gives a different one.

    Take the stamp before you read the file.
    """
    return time.time_ns() - seen[3] > SETTLED_NS


class Kept(Generic[Value]):
    """Values read from files, cached in this process until the files' stamps change.

    A long-lived process reads a file once and passes its value on to the processes that it forks.
    """

    def __init__(self, read: Callable[[Path], Value]) -> None:
        """Keep the results of `read` for paths. For a missing file, `read` is called every time."""
        self._read = read
        self._known: dict[Path, tuple[Stamp, Value]] = {}

    def get(self, path: Path) -> Value:
        """Return a file's value. It is shared, so don't change it."""
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
