"""Detection method 2: the plans of a project that are in progress (R001-22, I001-13)."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import command_line
from holdfast.formats.compaction.detection import plantext
from holdfast.formats.compaction.detection.extract import Candidate, Extract
from holdfast.workflow import manyfiles, prose
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

FOLDER = "CLAUDE/Plan"
FILE = "PLAN.md"
OLDER = 32  # older plans that an event reads if none that changed lately is in progress


@manyfiles.limited()
def active(root: Path, since: float, written: Path | None = None) -> list[Extract]:
    """Return the extracts of the plans in progress that changed since a time, the last changed first (I001-13).

    If none did, only the last changed of some older ones is returned. Up to 256 KB of each plan are read. Of very many
    plans, some are looked at (`manyfiles.newest`) and some of those read, the last changed first;
    `manyfiles.omitted_count` then has the number of the rest.

    Args:
        root: the project's root.
        since: the time, in seconds since 1970.
        written: a plan that somebody has just written, which is always looked at.
    """
    wanted = [written.parent.name] if written is not None and written.parent.parent == root / FOLDER else []
    try:
        found, left = _listed(root, wanted)
    except OSError:
        return []
    fresh = sum(mtime >= since for _, mtime in found)
    extracts = list[Extract]()
    for number, (path, mtime) in enumerate(found[: fresh + OLDER]):
        if extracts and mtime < since:
            break
        if number and manyfiles.out_of_time():
            left += len(found) - number
            break
        with suppress(OSError):
            extract = _in_progress(path, root, mtime)
            extracts += [extract] if extract else []
    manyfiles.note_omitted(root / FOLDER, left)
    return extracts


def names(text: str, plan: Extract) -> bool:
    """Return whether a path or another text names the folder of a plan."""
    return re.compile(rf"{re.escape(f'{FOLDER}/{plan.source.parent.name}')}(?![\w-])").search(text) is not None


def aged(plan: Extract) -> str:
    """Say that a plan is in progress, and when it was last changed."""
    return f"is in progress ({quoted(plan.name)}), last changed on {clock.stamp(clock.from_mtime(plan.mtime))[:10]}"


def way(plan: Extract) -> str:
    """Say which command makes a plan a session's workflow, however old the plan is."""
    command = command_line("start", one_line(plan.name), "--read", one_line(plan.reading[0][1:]))
    return f"To take it up: `{command}`"


def hint(root: Path, place: str) -> str:
    """Return what to tell a session about a plan that isn't loaded; empty if it is no longer in progress."""
    path = root / place
    try:
        plan = _in_progress(path, root, path.stat().st_mtime)
    except OSError:
        return ""
    return f"{place} {aged(plan)}" if plan else ""


def look(root: Path) -> list[tuple[Candidate, Extract | None]]:
    """Return every plan `CLAUDE/Plan/*/PLAN.md`, the most recently changed first; those in progress have an extract."""
    try:
        found, _ = _listed(root)
    except OSError as error:
        return [(_unreadable(root / FOLDER, error, 0.0), None)]
    return [_examine(root, path, mtime) for path, mtime in found]


def _listed(root: Path, wanted: Collection[str] = ()) -> tuple[list[tuple[Path, float]], int]:
    """Return the plans with their times, the last changed first, then by path, and how many were not looked at.

    A search that is out of time looks at no more, but first at those `wanted`. Raises OSError.
    """
    top = root / FOLDER
    times: dict[Path, float] = {}
    try:
        with os.scandir(top) as inside:
            entries = {folder.name: folder.inode() for folder in inside}
    except (FileNotFoundError, NotADirectoryError):
        return [], 0

    def changed(name: str) -> int:
        path = top / name / FILE
        try:
            times[path] = path.stat().st_mtime
        except (FileNotFoundError, NotADirectoryError):
            return 0
        except OSError:
            times[path] = 0.0
        return int(times[path])

    _, left = manyfiles.newest(entries, changed, wanted)
    return sorted(times.items(), key=lambda plan: (-plan[1], str(plan[0]))), left


def _in_progress(path: Path, root: Path, mtime: float) -> Extract | None:
    """Return a plan's extract if it is in progress, else None. Raises OSError."""
    found = prose.read(path, root)
    if found is None or not plantext.may_be_active(found.text):
        return None
    return plantext.parse(found.text, path, root, mtime).extract


def _examine(root: Path, path: Path, mtime: float) -> tuple[Candidate, Extract | None]:
    try:
        found = prose.read(path, root)
    except OSError as error:
        return _unreadable(path, error, mtime), None
    if found is None:
        return Candidate(path, "plan", False, ("does not exist",), mtime), None
    reading = plantext.parse(found.text, path, root, mtime)
    cut = "" if found.whole or reading.extract else f" (its first {prose.LIMIT_BYTES // 1024} KB were read)"
    accepted = reading.extract is not None
    return Candidate(
        path, "plan", accepted, (f"{reading.reason}{cut}",), mtime, reading.notable, reading.kind
    ), reading.extract


def _unreadable(path: Path, error: OSError, mtime: float) -> Candidate:
    return Candidate(
        path, "plan", False, (f"cannot be read: {error.strerror or error}",), mtime, True, "cannot be read"
    )
