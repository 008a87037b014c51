"""The messages about handlers that each session's user has seen, or will see."""

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

REPEATABLE = "again "
"""Prefix of the key of a message that may come again in the session."""
_LOCK_TIMEOUT_S = 0.3  # short, because a reply waits, and the log has the fault anyway
_MESSAGE_LIMIT_CHARS = 1_000  # of one message to the user; its commands name paths


def unseen(session: str, messages: Mapping[str, str], *, now: bool) -> list[str]:
    """Return the messages that a session's user hasn't seen yet and mark them as seen; or queue them for later.

    Args:
        session: the session's id.
        messages: key → message of this event. For a handler file, the key is its `key`.
        now: whether this event's reply can show them; if not, the result is empty.
    """
    file = _messages_file(session)
    if not (messages or (now and _messages(file)[1])):
        return []
    masked = {about: log.written(line)[:_MESSAGE_LIMIT_CHARS] for about, line in messages.items()}
    try:
        with _locked():
            seen, queued = _messages(file)
            fresh = {about: line for about, line in (queued | masked).items() if about not in seen}
            if fresh:
                once = [about for about in fresh if not about.startswith(REPEATABLE)]
                content = [seen | dict.fromkeys(once, ""), {}] if now else [seen, fresh]
                cache.write(file, json.dumps(content).encode())
    except (HoldfastError, OSError):  # a repeated message is better than none
        fresh = masked
    return list(fresh.values()) if now else []


def key(file: HandlerFile) -> str:
    """Return the identity of a handler file with its present content."""
    return f"{file.path} {file.digest}"


def waiting(session: object) -> bool:
    """Return whether a message waits for a session's user."""
    return isinstance(session, str) and bool(_messages(_messages_file(session))[1])


def is_known(session: object, file: HandlerFile) -> bool:
    """Return whether a session's user has seen, or will see, a message about a handler file as it is now."""
    return isinstance(session, str) and any(key(file) in known for known in _messages(_messages_file(session)))


def _messages(file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the messages that the session's user has seen, and the queued ones."""
    seen, queued = json.loads(cache.read(file) or b"[{}, {}]")
    return seen, queued


def _messages_file(session: str) -> Path:
    return cache.folder() / f"{trust.digest(session.encode('utf-8', 'surrogatepass'))[:32]}.messages"


def _locked() -> AbstractContextManager[None]:
    return lock.locked(paths.ensure_private(paths.state_dir()), timeout=_LOCK_TIMEOUT_S)
