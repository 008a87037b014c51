"""The memory of handlers' faults, so that `holdfast handlers check` can name them.

A fault may quote what a handler was working on. So secrets are masked in it, and each entry names the project where it
happened: forgetting a project also forgets its faults.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast import clock, log, paths
from holdfast.errors import HoldfastError, command_line
from holdfast.files import atomic, cache, lock, trust
from holdfast.files.file_memo import Kept
from holdfast.plugins import discovery, strict_memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.dispatch.calls import Answer
    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.discovery import HandlerFile
    from holdfast.plugins.hooks import Hooks
    from holdfast.plugins.loader import Call
    from holdfast.project import Project

LOCK_TIMEOUT_S = 0.5  # how long to wait for another process; the log has the fault anyway
_KEPT = 200  # files remembered; the ones whose last fault is oldest go first
_LIMIT_CHARS = 2_000  # of a remembered fault
_TOLD_LIMIT_CHARS = 1_000  # of a fault that the user is told; its commands name paths
_TOLD_AT_ONCE = 5  # faults in one message
_TELL_PATIENCE_S = 0.2  # shorter, because the reply waits


def remember(event: str, file: HandlerFile, fault: str, project: Project) -> None:
    """Remember a handler file's latest fault, with secrets masked, and count faults since its content last changed.

    Args:
        event: the event on which it failed.
        file: the handler file.
        fault: what it did, as a sentence without a subject.
        project: where it happened.
    """
    from holdfast.files.redact import beginning

    said = beginning(fault, _LIMIT_CHARS)
    try:
        with lock.locked(paths.ensure_private(paths.state_dir()), timeout=LOCK_TIMEOUT_S):
            known = _load(_file())
            before = known.pop(str(file.path), {})
            count = before.get("count", 0) + 1 if before.get("digest") == file.digest else 1
            latest = {"digest": file.digest, "event": event, "fault": said, "at": clock.stamp(), "count": count}
            known[str(file.path)] = latest | {"project": project.key}
            kept = dict(list(known.items())[-_KEPT:])
            atomic.write(_file(), json.dumps(kept, indent=2).encode(), mode=0o600)
    except (HoldfastError, OSError) as error:
        log.write("warning", f"a handler's fault couldn't be recorded: {error}")


def of(file: HandlerFile) -> str:
    """Return the latest fault of a handler file with its present content, in a sentence; empty if there is none."""
    known = _kept.get(_file()).get(str(file.path), {})
    if known.get("digest") != file.digest:
        return ""
    times = "once" if known["count"] == 1 else f"{known['count']} times"
    return f"{known['event']}: {known['fault']} ({times}, last at {clock.minute(known['at'])})"


def last_at(file: HandlerFile) -> str:
    """Return the UTC time of the latest fault of a handler file with its present content; empty if there is none."""
    known = _kept.get(_file()).get(str(file.path), {})
    return str(known["at"]) if known.get("digest") == file.digest else ""


def within(project: Project) -> dict[str, dict[str, Any]]:
    """Return the faults that happened in a project, and those of its own handlers, by the files' paths."""
    folder = f"{paths.project_handlers(project.root)}/"
    return {
        path: entry
        for path, entry in _load(_file()).items()
        if entry.get("project") == project.key or path.startswith(folder)
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
        with lock.locked(paths.ensure_private(paths.state_dir()), timeout=LOCK_TIMEOUT_S):
            gone = within(project)
            kept = {path: entry for path, entry in _load(_file()).items() if path not in gone}
            atomic.write(_file(), json.dumps(kept, indent=2).encode(), mode=0o600)
            count = len(gone)
    return count


def note_unusable(event: str, files: Sequence[HandlerFile], project: Project, session: object = None) -> None:
    """Log files with faults in their text, once for each content, and queue a message for the session's user."""
    for file in files:
        if file.active and file.faults and not of(file):
            fault = "; ".join(file.faults)
            log.write("error", f"{event}: {file.place}/{file.path.name} {fault}")
            remember(event, file, fault, project)
            if isinstance(session, str):
                untold(session, {key(file): f"{file.place}/{file.path.name}: {file.faults[0]}"}, now=False)


def note_changed(hooks: Hooks, event: str, value: str | None, files: Sequence[HandlerFile], session: object) -> None:
    """Queue a message for the session's user about each trusted handler that changed and would have been called.

    Args:
        hooks: the client's hooks.
        event: the event's name.
        value: the value of its matcher field; None if it isn't known.
        files: the handler files that matter for the event.
        session: the session's id.
    """
    for file in files:
        lost = file.changed and not file.active  # an active one refuses, and its refusal is told
        if lost and isinstance(session, str) and key(file) not in _told(_file_of(session))[0]:
            routes = discovery.trusted_routes(hooks, file)
            if any(strict_memory.selects(hooks, route, event, value) for route in routes):
                root, name = str(file.path.parents[2]), file.path.name
                command = command_line("handlers", "trust", "--project", root, name)
                line = f"project/{name} {file.distrust}. To see the change and trust it: {command}"
                untold(session, {key(file): line}, now=False)


def waiting(session: object) -> bool:
    """Return whether a message waits for a session's user."""
    return isinstance(session, str) and bool(_told(_file_of(session))[1])


def tell(
    client: Client, event: Event, plan: Sequence[Call], answers: Sequence[Answer], printed: Mapping[str, bytearray]
) -> list[Answer]:
    """Return an answer that tells the user about handlers' faults, once per session and file; empty if there are none.

    If the event's reply doesn't reach the user, the message waits for the session's next event. Without faults, this
    only looks for one file.

    Args:
        client: the client that sent it.
        event: the event that was answered.
        plan: its calls.
        answers: their answers.
        printed: label → what the handler printed.
    """
    files = {call.label: call.file for call in plan}
    found: dict[str, str] = {}
    for given in answers:
        if given.fault and given.ran:
            found.setdefault(key(files[given.label]), f"{given.label} {given.fault}")
    for label, output in printed.items():
        if label in files and output.strip():
            found.setdefault(key(files[label]), f"{label} printed, which nobody reads")
    lines = untold(event.session_id, found, now="tell_user" in client.EVENTS[event.hook_event_name].accepts)
    if not lines:
        return []
    from holdfast.dispatch.calls import Answer
    from holdfast.plugins.outcomes import tell_user

    shown = [f"Holdfast: {line}" for line in lines[:_TOLD_AT_ONCE]]
    if len(lines) > len(shown):
        shown.append(f"Holdfast: {len(lines) - len(shown)} more messages")
    text = "\n".join(shown)
    return [Answer("holdfast", (tell_user(f"{text}\nMore: holdfast handlers check"),))]


def untold(session: str, found: Mapping[str, str], *, now: bool) -> list[str]:
    """Return the messages that a session's user wasn't told yet and mark them as told; or queue them for later.

    Args:
        session: the session's id, or a project's root.
        found: the messages of this event, by what each is about: for a handler file its `key`.
        now: whether the user can be told with this event; if not, the result is empty.
    """
    if not (found or now):
        return []
    file = _file_of(session)
    if not (found or _told(file)[1]):
        return []
    said = {key: log.written(line)[:_TOLD_LIMIT_CHARS] for key, line in found.items()}
    try:
        with lock.locked(paths.ensure_private(paths.state_dir()), timeout=_TELL_PATIENCE_S):
            told, owed = _told(file)
            fresh = {key: line for key, line in (owed | said).items() if key not in told}
            if fresh:
                kept = [told | dict.fromkeys(fresh, ""), {}] if now else [told, fresh]
                cache.write(file, json.dumps(kept).encode())
    except (HoldfastError, OSError):  # told twice is better than not told
        fresh = said
    return list(fresh.values()) if now else []


def _told(file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the faults that the session's user was told, and those that are queued."""
    raw = cache.read(file)
    if raw is None:
        return {}, {}
    try:
        told, owed = json.loads(raw)
    except ValueError:
        return {}, {}
    return told, owed


def _file_of(session: str) -> Path:
    return cache.folder() / f"{trust.digest(session.encode('utf-8', 'surrogatepass'))[:32]}.told"


def key(file: HandlerFile) -> str:
    """Return what identifies a handler file with its present content."""
    return f"{file.path} {file.digest}"


def note_answers(event: Event, plan: Sequence[Call], answers: Sequence[Answer], project: Project) -> None:
    """Log and remember the faults of handlers, and log what was dropped; called after the reply was written."""
    files = {call.label: call.file for call in plan}
    for given in answers:
        for kind, reason in given.dropped:
            text = f"{event.hook_event_name}: {given.label} returned {kind}, which is dropped: {reason}"
            log.write("info", text, session=event.session_id)
        if given.fault:
            log.write("error", f"{event.hook_event_name}: {given.label} {given.fault}", session=event.session_id)
            if given.ran:  # if no time was left for it, that is another handler's fault
                remember(event.hook_event_name, files[given.label], given.fault, project)


def note_conflicts(event: Event, plan: Sequence[Call], answers: Sequence[Answer], project: Project) -> None:
    """Log and remember a handler that overrides another's value unseen: an environment variable or a worktree."""
    files = {call.label: call.file for call in plan}
    first: dict[str, tuple[str, object]] = {}
    for label, what, value in _single_values(answers):
        earlier, known = first.setdefault(what, (label, value))
        if earlier != label and known != value:
            fault = f"answers {what}, as {earlier} does with another value; the last one counts"
            log.write("warning", f"{event.hook_event_name}: {label} {fault}", session=event.session_id)
            remember(event.hook_event_name, files[label], fault, project)


def _single_values(answers: Sequence[Answer]) -> Iterator[tuple[str, str, object]]:
    """Yield (label, description, value) for each value that later handlers don't see and that only one can set."""
    for given in answers:
        for outcome in given.outcomes:
            if outcome.kind == "environment":
                for name, value in outcome.value["variables"].items():
                    yield given.label, f"environment() for {name}", value
            elif outcome.kind == "worktree":
                yield given.label, "worktree()", outcome.text


def note_printed(event: Event, plan: Sequence[Call], printed: Mapping[str, bytearray], project: Project) -> None:
    """Log and remember handlers that print; it never reaches the client, which would read it as a reply."""
    for call in plan:
        text = printed.get(call.label, bytearray()).decode(errors="replace").strip()
        if text:
            from holdfast.files.redact import beginning

            name = event.hook_event_name
            log.write("warning", f"{name}: {call.label} printed, which nobody reads: {text}", session=event.session_id)
            remember(name, call.file, f"printed, which nobody reads: {beginning(text, 80)!r}", project)


def _load(file: Path) -> dict[str, dict[str, Any]]:
    """Return the remembered faults by path; malformed entries are left out."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return {path: entry for path, entry in content.items() if _sound(entry)} if isinstance(content, dict) else {}


def _sound(entry: Any) -> bool:
    texts = ("digest", "event", "fault", "at")
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(key), str) for key in texts)
        and isinstance(entry.get("count"), int)
        and isinstance(entry.get("project", ""), str)
    )


def _file() -> Path:
    return paths.state_dir() / "faults.json"


_kept: Kept[dict[str, dict[str, Any]]] = Kept(_load)
