"""When a handler file last ran, and how often it has failed since then: one small file each, among the cache files."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import clock, paths
from holdfast.files import cache, trust

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile

FAILURES_IN_A_ROW = 5
"""Failures after which a handler is left out for some time, if its failure refuses nothing."""
REST_S = 600.0
"""Seconds after its last failure until it is called again."""


def note(files: Iterable[HandlerFile], failed: Iterable[HandlerFile]) -> None:
    """Note that handlers ran just now. An error is ignored: nobody depends on it.

    Args:
        files: the files whose functions were called.
        failed: those of them that failed.
    """
    faulty = {file.path for file in failed}
    now = clock.now().timestamp()
    for file in files:
        path = _file(file)
        with suppress(OSError):
            count = _failures(path) + 1 if file.path in faulty else 0
            if count or not path.exists() or path.stat().st_size:
                paths.ensure_private(path.parent)
                path.write_bytes(b"x" * count)
            os.utime(path, (now, now))


def last_run(file: HandlerFile) -> datetime | None:
    """Return when a handler file's functions last ran with its present content; None if they never did."""
    try:
        return clock.from_mtime(_file(file).stat().st_mtime)
    except OSError:
        return None


def is_resting(file: HandlerFile) -> bool:
    """Return whether a handler file has failed so often in a row that it is left out for now."""
    last = last_run(file)
    failed = _failures(_file(file)) >= FAILURES_IN_A_ROW
    return last is not None and failed and (clock.now() - last).total_seconds() < REST_S


def begins_to_rest(file: HandlerFile) -> bool:
    """Return whether one more failure in a row makes a handler file rest."""
    return _failures(_file(file)) == FAILURES_IN_A_ROW - 1


def _failures(path: Path) -> int:
    """Return the failures in a row: the file's size."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _file(file: HandlerFile) -> Path:
    """Return the file about a handler file with its present content."""
    key = trust.digest(f"{file.path} {file.digest}".encode("utf-8", "surrogateescape"))[:32]
    return cache.folder() / f"{key}.ran"
