"""What the user of each session was told, or is to be told, about handlers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast import log, paths
from holdfast.errors import HoldfastError
from holdfast.files import cache, lock, trust

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile

SAID = "said "
"""Begins what a message is about if it may come again in the session."""
_LOCK_TIMEOUT_S = 0.3  # short, because a reply waits, and the log has the fault anyway
_MESSAGE_LIMIT_CHARS = 1_000  # of one message to the user; its commands name paths


def untold(session: str, messages: Mapping[str, str], *, now: bool) -> list[str]:
    """Return the messages that a session's user wasn't told yet and mark them as told; or queue them for later.

    Args:
        session: the session's id.
        messages: the messages of this event, by what each is about: for a handler file its `key`.
        now: whether the user can be told with this event; if not, the result is empty.
    """
    file = _messages_file(session)
    if not (messages or (now and _messages(file)[1])):
        return []
    masked = {about: log.written(line)[:_MESSAGE_LIMIT_CHARS] for about, line in messages.items()}
    try:
        with _locked():
            told, queued = _messages(file)
            fresh = {about: line for about, line in (queued | masked).items() if about not in told}
            if fresh:
                once = [about for about in fresh if not about.startswith(SAID)]
                content = [told | dict.fromkeys(once, ""), {}] if now else [told, fresh]
                cache.write(file, json.dumps(content).encode())
    except (HoldfastError, OSError):  # told twice is better than not told
        fresh = masked
    return list(fresh.values()) if now else []


def key(file: HandlerFile) -> str:
    """Return what identifies a handler file with its present content."""
    return f"{file.path} {file.digest}"


def waiting(session: object) -> bool:
    """Return whether a message waits for a session's user."""
    return isinstance(session, str) and bool(_messages(_messages_file(session))[1])


def is_known(session: object, file: HandlerFile) -> bool:
    """Return whether a session's user was or will be told about a handler file with its present content."""
    return isinstance(session, str) and any(key(file) in known for known in _messages(_messages_file(session)))


def _messages(file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the messages that the session's user was told, and those that are queued."""
    try:
        told, queued = json.loads(cache.read(file) or b"[{}, {}]")
    except ValueError:
        return {}, {}
    return told, queued


def _messages_file(session: str) -> Path:
    return cache.folder() / f"{trust.digest(session.encode('utf-8', 'surrogatepass'))[:32]}.told"


def _locked() -> AbstractContextManager[None]:
    return lock.locked(paths.ensure_private(paths.state_dir()), timeout=_LOCK_TIMEOUT_S)
