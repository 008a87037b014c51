"""The memory of what handlers did wrong while they ran, so that `holdfast handlers check` can name them.

A fault may quote what a handler was working on. So secrets are taken out of it, and each entry says in which project
it happened: what is forgotten of a project takes its faults along.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast import clock, log, paths, trust
from holdfast.errors import HoldfastError
from holdfast.files import atomic, cache, lock
from holdfast.files.file_memo import Kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.dispatch.calls import Answer
    from holdfast.dispatch.client import Event
    from holdfast.plugins.loader import Call, HandlerFile
    from holdfast.project import Project

LOCK_TIMEOUT_S = 0.5  # seconds to wait for another process: a fault that is not remembered is in the log
_KEPT = 200  # files remembered; the ones that failed longest ago go
_LIMIT_CHARS = 2_000  # characters of a fault
_TOLD_LIMIT_CHARS = 400  # of a fault, as the user is told of it
_TOLD_AT_ONCE = 5  # faults in one message
_TELL_PATIENCE_S = 0.2  # the reply waits for it


def remember(event: str, file: HandlerFile, fault: str, project: Project | None = None) -> None:
    """Keep a handler file's latest fault without secrets, counted since its content last changed.

    Args:
        event: which event it failed on.
        file: the handler file.
        fault: what it did, as a sentence without a subject.
        project: where it happened; None where that is not known.
    """
    from holdfast.files.redact import beginning

    said = beginning(fault, _LIMIT_CHARS)
    where = {"project": project.key} if project else {}
    try:
        with lock.locked(paths.ensure_private(paths.state_dir()), timeout=LOCK_TIMEOUT_S):
            known = _load(_file())
            before = known.pop(str(file.path), {})
            count = before.get("count", 0) + 1 if before.get("digest") == file.digest else 1
            latest = {"digest": file.digest, "event": event, "fault": said, "at": clock.stamp(), "count": count}
            known[str(file.path)] = latest | where
            kept = dict(list(known.items())[-_KEPT:])
            atomic.write(_file(), json.dumps(kept, indent=2).encode(), mode=0o600)
    except (HoldfastError, OSError) as error:
        log.write("warning", f"a handler's fault could not be remembered: {error}")


def of(file: HandlerFile) -> str:
    """Return the latest fault of a handler file as it is now, in a sentence; empty if it has none."""
    known = _kept.get(_file()).get(str(file.path), {})
    if known.get("digest") != file.digest:
        return ""
    times = "once" if known["count"] == 1 else f"{known['count']} times"
    return f"{known['event']}: {known['fault']} ({times}, last at {known['at']})"


def last_at(file: HandlerFile) -> str:
    """Return when a handler file as it is now was last at fault (UTC stamp); empty if it never was."""
    known = _kept.get(_file()).get(str(file.path), {})
    return str(known["at"]) if known.get("digest") == file.digest else ""


def within(project: Project) -> dict[str, dict[str, Any]]:
    """Return the faults that happened in a project and those of the handlers that lie in it, by the files' paths."""
    folder = f"{paths.project_handlers(project.root)}/"
    return {
        path: entry
        for path, entry in _load(_file()).items()
        if entry.get("project") == project.key or path.startswith(folder)
    }


def forget(project: Project, *, dry: bool = False) -> int:
    """Forget the faults of a project, and those of which an earlier version did not say where they happened.

    Args:
        project: whose; an event of it caused them, or the handler lies in it.
        dry: only count.

    Returns:
        How many went, or would go.

    Raises:
        HoldfastError: another process keeps the file for too long.
        OSError: it cannot be written.
    """
    count = len(_to_go(project))
    if count and not dry:
        with lock.locked(paths.ensure_private(paths.state_dir()), timeout=LOCK_TIMEOUT_S):
            gone = _to_go(project)
            kept = {path: entry for path, entry in _load(_file()).items() if path not in gone}
            atomic.write(_file(), json.dumps(kept, indent=2).encode(), mode=0o600)
            count = len(gone)
    return count


def _to_go(project: Project) -> set[str]:
    mine = within(project)
    return {path for path, entry in _load(_file()).items() if path in mine or "project" not in entry}


def note_unusable(
    event: str, files: Sequence[HandlerFile], project: Project | None = None, session: object = None
) -> None:
    """Name the files whose text is at fault in the log, once for each content, and later to the session's user."""
    for file in files:
        if file.active and file.faults and not of(file):
            fault = "; ".join(file.faults)
            log.write("error", f"{event}: {file.place}/{file.path.name} {fault}")
            remember(event, file, fault, project)
            if isinstance(session, str):
                _untold(session, {_key(file): f"{file.place}/{file.path.name}: {file.faults[0]}"}, now=False)


def tell(
    event: Event, plan: Sequence[Call], answers: Sequence[Answer], printed: Mapping[str, bytearray]
) -> list[Answer]:
    """Return what the user is to hear of handlers' faults: of each file's once in a session, with where to look.

    On an event whose reply the user does not see, it is kept for the session's next one. Where no fault was, that is
    one look for a file.

    Args:
        event: the event that was answered.
        plan: the calls it made.
        answers: what came of them.
        printed: by label, what they printed.
    """
    files = {call.label: call.file for call in plan}
    found: dict[str, str] = {}
    for given in answers:
        if given.fault and given.ran:
            found.setdefault(_key(files[given.label]), f"{given.label} {given.fault}")
    for label, output in printed.items():
        if label in files and output.strip():
            found.setdefault(_key(files[label]), f"{label} printed, which nobody reads")
    lines = _untold(event.session_id, found, now="tell_user" in type(event).accepts)
    if not lines:
        return []
    from holdfast.dispatch.calls import Answer
    from holdfast.plugins.outcomes import tell_user

    shown = [f"Holdfast: {line}" for line in lines[:_TOLD_AT_ONCE]]
    if len(lines) > len(shown):
        shown.append(f"Holdfast: {len(lines) - len(shown)} more handlers failed")
    text = "\n".join(shown)
    return [Answer("holdfast", (tell_user(f"{text}\nMore: holdfast handlers check"),))]


def _untold(session: str, found: Mapping[str, str], *, now: bool) -> list[str]:
    """Return what a session's user has not heard of faults, and keep that it is told; or keep it to be told later.

    Args:
        session: the session's id.
        found: the faults of this event, by what tells files and contents apart.
        now: whether they can be told with this event.
    """
    file = cache.folder() / f"{trust.digest(session.encode('utf-8', 'surrogatepass'))[:32]}.told"
    told, owed = _told(file)
    if not (found or (owed and now)):
        return []
    said = {key: log.written(line)[:_TOLD_LIMIT_CHARS] for key, line in found.items()}
    try:
        with lock.locked(paths.ensure_private(paths.state_dir()), timeout=_TELL_PATIENCE_S):
            told, owed = _told(file)
            fresh = {key: line for key, line in (owed | said).items() if key not in told}
            if fresh:
                kept = [told | dict.fromkeys(fresh, ""), {}] if now else [told, fresh]
                cache.write(file, json.dumps(kept).encode())
    except (HoldfastError, OSError):  # heard twice is better than not heard
        fresh = said
    return list(fresh.values()) if now else []


def _told(file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return what was told in a session and what is yet to be told."""
    try:
        told, owed = json.loads(cache.read(file) or b"[{}, {}]")
    except ValueError:
        return {}, {}
    return told, owed


def _key(file: HandlerFile) -> str:
    return f"{file.path} {file.digest}"


def note_answers(event: Event, plan: Sequence[Call], answers: Sequence[Answer], project: Project | None = None) -> None:
    """Name the handlers that failed in the log and remember what they did; the reply has been written by then."""
    files = {call.label: call.file for call in plan}
    for given in answers:
        if given.fault:
            log.write("error", f"{event.hook_event_name}: {given.label} {given.fault}", session=event.session_id)
            if given.ran:  # that no time was left for it was somebody else's doing
                remember(event.hook_event_name, files[given.label], given.fault, project)


def note_conflicts(
    event: Event, plan: Sequence[Call], answers: Sequence[Answer], project: Project | None = None
) -> None:
    """Name two handlers of which one undoes the other unseen: the same variable, or another folder for a worktree."""
    files = {call.label: call.file for call in plan}
    first: dict[str, tuple[str, object]] = {}
    for label, what, value in _single_values(answers):
        earlier, known = first.setdefault(what, (label, value))
        if earlier != label and known != value:
            fault = f"answers {what}, as {earlier} does with another value; the last one counts"
            log.write("warning", f"{event.hook_event_name}: {label} {fault}", session=event.session_id)
            remember(event.hook_event_name, files[label], fault, project)


def _single_values(answers: Sequence[Answer]) -> Iterator[tuple[str, str, object]]:
    """Yield (label, what it is, value) for each value that stands alone and that the next handler does not see."""
    for given in answers:
        for outcome in given.outcomes:
            if outcome.kind == "environment":
                for name, value in outcome.value["variables"].items():
                    yield given.label, f"environment() for {name}", value
            elif outcome.kind == "worktree":
                yield given.label, "worktree()", outcome.text


def note_printed(
    event: Event, plan: Sequence[Call], printed: Mapping[str, bytearray], project: Project | None = None
) -> None:
    """Name the handlers that print: the client would read it as their answer, had it not been kept away."""
    from holdfast.files.redact import beginning

    for call in plan:
        text = printed.get(call.label, bytearray()).decode(errors="replace").strip()
        if text:
            name = event.hook_event_name
            log.write("warning", f"{name}: {call.label} printed, which nobody reads: {text}", session=event.session_id)
            remember(name, call.file, f"printed, which nobody reads: {beginning(text, 80)!r}", project)


def _load(file: Path) -> dict[str, dict[str, Any]]:
    """Return what is remembered by path; entries that are not as we write them count as none."""
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
