"""Recorded events: one JSON line each, redacted, a file per session, in Holdfast's own state folder."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from holdfast import clock, paths
from holdfast.state.redact import redact_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.project import Project

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def folder(project: Project) -> Path:
    """Return where a project's recordings lie."""
    return paths.state_dir() / "recordings" / project.key


def append(project: Project, session: str, payload: Mapping[str, Any]) -> Path:
    """Append one event.

    Args:
        project: where it fired.
        session: the client's session id; it names the file, hashed where it is no safe file name.
        payload: the event as the client sent it; secrets are redacted before anything is written.

    Returns:
        The file, readable by its owner alone.

    Raises:
        OSError: it cannot be written.
    """
    place = paths.ensure_private(folder(project)) / f"{_file_name(session)}.jsonl"
    line = json.dumps({"at": clock.stamp(), "payload": redact_value(dict(payload))}) + "\n"
    descriptor = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, line.encode())  # one write, so that lines of concurrent events never mix
    finally:
        os.close(descriptor)
    return place


def _file_name(session: str) -> str:
    if _SAFE.fullmatch(session):
        return session
    import hashlib

    return hashlib.sha256(session.encode(errors="surrogatepass")).hexdigest()[:32]
