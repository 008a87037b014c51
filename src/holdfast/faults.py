"""The memory of what handlers did wrong while they ran, so that `holdfast handlers check` can name them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast import clock, log, paths
from holdfast.errors import HoldfastError
from holdfast.state import atomic, lock

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.loader import HandlerFile

_KEPT = 200  # files remembered; the ones that failed longest ago go


def remember(event: str, file: HandlerFile, fault: str) -> None:
    """Keep a handler file's latest fault, counted since its content last changed.

    Args:
        event: which event it failed on.
        file: the handler file.
        fault: what it did, as a sentence without a subject.
    """
    try:
        with lock.locked(paths.ensure_private(paths.state_dir())):
            known = _load()
            before = known.pop(str(file.path), {})
            count = before.get("count", 0) + 1 if before.get("digest") == file.digest else 1
            latest = {"digest": file.digest, "event": event, "fault": fault, "at": clock.stamp(), "count": count}
            known[str(file.path)] = latest
            kept = dict(list(known.items())[-_KEPT:])
            atomic.write(_file(), json.dumps(kept, indent=2).encode(), mode=0o600)
    except (HoldfastError, OSError) as error:
        log.write("warning", f"a handler's fault could not be remembered: {error}")


def of(file: HandlerFile) -> str:
    """Return the latest fault of a handler file as it is now, in a sentence; empty if it has none."""
    known = _load().get(str(file.path), {})
    if known.get("digest") != file.digest:
        return ""
    times = "once" if known["count"] == 1 else f"{known['count']} times"
    return f"{known['event']}: {known['fault']} ({times}, last at {known['at']})"


def _load() -> dict[str, dict[str, Any]]:
    """Return what is remembered by path; entries that are not as we write them count as none."""
    try:
        content = json.loads(_file().read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return {path: entry for path, entry in content.items() if _sound(entry)} if isinstance(content, dict) else {}


def _sound(entry: Any) -> bool:
    texts = ("digest", "event", "fault", "at")
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(key), str) for key in texts)
        and isinstance(entry.get("count"), int)
    )


def _file() -> Path:
    return paths.state_dir() / "faults.json"
