"""The versions of Claude Code that were used on this machine in the last 30 days, which decide what to register."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock, log, paths
from holdfast.clients.claude import versions
from holdfast.clients.claude.events import SINCE
from holdfast.errors import HoldfastError
from holdfast.files import atomic

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.versions import Version

SEEN_FOR = timedelta(days=30)
"""How long a version counts after it was used last."""


def note(version: Version | None, *, alone: bool = False) -> None:
    """Record that a version is used today; None records nothing. If it can't be recorded, that is logged.

    Args:
        version: the version.
        alone: whether to forget all others.
    """
    if version is None:
        return
    before = _load()
    seen = ({} if alone else before) | {version: clock.stamp()[:10]}
    if seen == before:
        return
    rows = {versions.shown(each): day for each, day in seen.items()}
    try:
        paths.ensure_private(paths.state_dir())
        atomic.write(_file(), json.dumps(rows, indent=2).encode(), mode=0o600)
    except (HoldfastError, OSError) as error:
        log.write("warning", f"the client's version couldn't be recorded: {error}")


def oldest() -> Version | None:
    """Return the oldest version used in the last 30 days, with this session's; if none was, the installed one."""
    session = versions.of_session()
    seen = [*_load(), *([session] if session else [])]
    return min(seen) if seen else versions.version()


def known() -> frozenset[str]:
    """Return the events that every client used here knows."""
    return versions.known_events(oldest())


def why_not_registered(event: str) -> str:
    """Return why an event that older clients lack isn't registered, and the command that registers it."""
    client, since = oldest(), SINCE[event]
    if client is None:
        return (
            f"clients older than {versions.shown(since)} don't know it, and there is no claude on PATH to ask for its"
            " version. With claude on PATH: holdfast install"
        )
    if client < since:
        return (
            f"it needs Claude Code {versions.shown(since)}, and {versions.shown(client)} was used here in the last"
            f" {SEEN_FOR.days} days. Once you use only newer ones: holdfast install --all-events"
        )
    return "it wasn't when you ran the last install. To register it: holdfast install"


def _load() -> dict[Version, str]:
    """Return the day each version was used last; older days and what isn't a version are left out."""
    try:
        rows = json.loads(_file().read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    first = clock.stamp(clock.now() - SEEN_FOR)[:10]
    found = {versions.read(name): day for name, day in rows.items()} if isinstance(rows, dict) else {}
    return {version: day for version, day in found.items() if version and isinstance(day, str) and day >= first}


def _file() -> Path:
    return paths.state_dir() / "clients.json"
