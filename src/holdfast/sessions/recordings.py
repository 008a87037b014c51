"""Recorded events: one redacted JSON line each, one file per session, in Holdfast's state folder."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast import capture, clock, paths
from holdfast.files import atomic
from holdfast.files.redact import redact_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def folder(project: OpenProject) -> Path:
    """Return the folder of a project's recordings."""
    return paths.state_dir() / "recordings" / project.key


def record(event: Event, context: Context, payload: Mapping[str, Any]) -> None:
    """Append an event to its session's file, which only its owner can read. Raises OSError.

    Secrets and excluded text are masked before anything is written. `payload` is as the client sent it.
    """
    project = context.project
    place = paths.ensure_private(folder(project)) / f"{file_name(event.session_id)}.jsonl"
    masked = redact_value(capture.event(project.config, dict(payload)))
    line = json.dumps({"at": clock.stamp(), "payload": masked}) + "\n"
    descriptor = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, line.encode())  # one write, so that lines of concurrent events never mix
    finally:
        os.close(descriptor)


def read(project: OpenProject) -> dict[str, list[str]]:
    """Return the recorded lines of a project's sessions, by file name without suffix. Raises OSError."""
    place = folder(project)
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else []
    return {file.stem: file.read_text("utf-8", "surrogateescape").splitlines() for file in files}


def forget(project: OpenProject, wanted: Callable[[str, str], bool], *, dry: bool = False) -> int:
    """Delete lines from the recordings and return their number; `dry` only counts.

    `wanted` gets the name of a line's file without suffix, and its text. A file that has no line left is deleted too.
    An event that is recorded at this very moment may be lost. Raises OSError, StateError.
    """
    count = 0
    for name, lines in read(project).items():
        stay = [line for line in lines if not wanted(name, line)]
        count += len(lines) - len(stay)
        file = folder(project) / f"{name}.jsonl"
        if dry or len(stay) == len(lines):
            continue
        if stay:
            atomic.write(file, "".join(f"{line}\n" for line in stay).encode("utf-8", "surrogateescape"))
        else:
            atomic.remove(file)
    if not dry:
        with suppress(OSError):
            folder(project).rmdir()
    return count


def file_name(session: str) -> str:
    """Return the name of a session's file without suffix, as in `read`."""
    if _SAFE.fullmatch(session):
        return session
    return hashlib.sha256(session.encode(errors="surrogatepass")).hexdigest()[:32]
