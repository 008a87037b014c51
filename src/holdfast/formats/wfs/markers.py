"""The markers of active `wfs` sessions: files that count by their name alone (R002-04)."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import StateError
from holdfast.formats.wfs import places
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.workflow.records import Records

NONE = "No active session"


def active(project: Records) -> list[str]:
    """Return the marked names in alphabetical order, including those without a folder.

    A name is the marker's file name without `.active-` (R002-06). Only direct children of `.workflow/` count (I002-12).
    """
    with suppress(OSError), os.scandir(places.top(project)) as entries:
        marked = (entry.name for entry in entries if entry.name.startswith(places.MARKER))
        return sorted(name.removeprefix(places.MARKER) for name in marked if name != places.MARKER)
    return []


def newest_first(project: Records, names: Sequence[str]) -> list[str]:
    """Return marked names, the last marked first; of the same moment, the last in the alphabet first (I002-11)."""

    def moment(name: str) -> int:
        try:
            return places.marker(project, name).lstat().st_mtime_ns
        except OSError:
            return 0

    return sorted(names, key=lambda name: (moment(name), name), reverse=True)


def detected(names: Sequence[str]) -> str:
    """Describe the marked names in the document's own words (R002-05)."""
    if not names:
        return NONE
    if len(names) == 1:
        return f"Active session: {names[0]}"
    listed = "\n".join(f"  - {name}" for name in names)
    return f"Multiple active sessions found:\n{listed}\nPlease specify which session to work with"


def put(project: Records, name: str) -> None:
    """Mark one session and no other (R002-07).

    The new marker is made before the others are removed. If this process is killed in between, the newest marker
    counts. Raises StateError.
    """
    mark(project, name)
    for each in active(project):
        if each != name:
            take(project, each)


def mark(project: Records, name: str) -> None:
    """Mark a session and leave the other markers. Raises StateError."""
    path = places.marker(project, name)
    statefile.guard(project.root, path)
    try:
        path.touch()
        os.utime(path)
    except OSError as error:
        raise StateError(path, f"cannot be written: {error.strerror or error}") from error


def take(project: Records, name: str) -> None:
    """Remove a session's marker. Raises StateError."""
    path = places.marker(project, name)
    statefile.guard(project.root, path.parent)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StateError(path, f"cannot be removed: {error.strerror or error}") from error
