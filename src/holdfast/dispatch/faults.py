"""What is remembered of handlers' faults: for `holdfast handlers check`, and for the user of each session, once.

A fault may quote what a handler was working on. So secrets are masked in it, and each remembered one names the project
where it happened: forgetting a project also forgets its faults.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast import clock, log, paths
from holdfast.errors import HoldfastError
from holdfast.files import atomic, cache, lock, trust
from holdfast.files.file_memo import Kept
from holdfast.files.redact import beginning

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile
    from holdfast.project import Project

_LOCK_TIMEOUT_S = 0.3  # short, because a reply waits, and the log has the fault anyway
_FILES_LIMIT = 200  # files remembered; the ones whose last fault is oldest go first
_FAULT_LIMIT_CHARS = 2_000  # of a remembered fault
_MESSAGE_LIMIT_CHARS = 1_000  # of one message to the user; its commands name paths
_FIELDS = frozenset({"digest", "event", "fault", "at", "count", "project"})


def remember(event: str, file: HandlerFile, fault: str, project: Project) -> None:
    """Remember a handler file's latest fault, with secrets masked, and count faults since its content last changed.

    Args:
        event: the event on which it failed.
        file: the handler file.
        fault: what it did, as a sentence without a subject.
        project: where it happened.
    """
    latest = {"digest": file.digest, "event": event, "fault": beginning(fault, _FAULT_LIMIT_CHARS), "at": clock.stamp()}
    try:
        with _locked():
            entries = _load(_file())
            before = entries.pop(str(file.path), {})  # so that it is added as the latest
            count = before.get("count", 0) + 1 if before.get("digest") == file.digest else 1
            entries[str(file.path)] = {**latest, "count": count, "project": project.key}
            _store(dict(list(entries.items())[-_FILES_LIMIT:]))
    except (HoldfastError, OSError) as error:
        log.write("warning", f"a handler's fault couldn't be recorded: {error}")


def of(file: HandlerFile) -> str:
    """Return the latest fault of a handler file with its present content, in a sentence; empty if there is none."""
    entry = _entry(file)
    if not entry:
        return ""
    times = "once" if entry["count"] == 1 else f"{entry['count']} times"
    return f"{entry['event']}: {entry['fault']} ({times}, last at {clock.minute(entry['at'])})"


def last_at(file: HandlerFile) -> str:
    """Return the UTC time of the latest fault of a handler file with its present content; empty if there is none."""
    return str(_entry(file).get("at", ""))


def within(project: Project) -> dict[str, dict[str, Any]]:
    """Return the faults that happened in a project, and those of its own handlers, by the files' paths."""
    folder = f"{paths.project_handlers(project.root)}/"
    return {
        path: entry
        for path, entry in _load(_file()).items()
        if entry["project"] == project.key or path.startswith(folder)
    }


def forget(project: Project, *, dry: bool = False) -> int:
    """Forget the faults of a project (`within`).

    Args:
        project: the project.
        dry: only count.

    Returns:
        How many were forgotten, or would be.

    Raises:
        HoldfastError: another process holds the lock for too long.
        OSError: the file can't be written.
    """
    count = len(within(project))
    if count and not dry:
        with _locked():
            forgotten = within(project)
            _store({path: entry for path, entry in _load(_file()).items() if path not in forgotten})
            count = len(forgotten)
    return count


def _entry(file: HandlerFile) -> dict[str, Any]:
    entry = _memory.get(_file()).get(str(file.path), {})
    return entry if entry.get("digest") == file.digest else {}


def _load(file: Path) -> dict[str, dict[str, Any]]:
    """Return the remembered faults by path; malformed entries are left out."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    entries = content.items() if isinstance(content, dict) else ()
    return {path: entry for path, entry in entries if isinstance(entry, dict) and entry.keys() >= _FIELDS}


def _store(entries: dict[str, dict[str, Any]]) -> None:
    atomic.write(_file(), json.dumps(entries, indent=2).encode(), mode=0o600)


def _file() -> Path:
    return paths.state_dir() / "faults.json"


_memory: Kept[dict[str, dict[str, Any]]] = Kept(_load)


def untold(session: str, messages: Mapping[str, str], *, now: bool) -> list[str]:
    """Return the messages that a session's user wasn't told yet and mark them as told; or queue them for later.

    Args:
        session: the session's id, or a project's root.
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
                content = [told | dict.fromkeys(fresh, ""), {}] if now else [told, fresh]
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


def was_told(session: object, file: HandlerFile) -> bool:
    """Return whether a session's user was told about a handler file with its present content."""
    return isinstance(session, str) and key(file) in _messages(_messages_file(session))[0]


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
