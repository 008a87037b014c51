"""Detection method 2: the plans of a project that are in progress (R001-22, I001-13)."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import command_line
from holdfast.files.file_memo import Stamp, settled, stamp
from holdfast.formats.compaction.detection import idleplans, plantext
from holdfast.formats.compaction.detection.extract import Candidate, Extract
from holdfast.patterns import regex
from holdfast.workflow import manyfiles, prose
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

FOLDER = "CLAUDE/Plan"
FILE = "PLAN.md"
FEW = 32  # up to so many plans, each event reads them again and nothing is cached
READ_BYTES = 16 * 1024 * 1024  # bytes of plans that one event reads


@manyfiles.limited()
def active(root: Path, since: float, written: Path | None = None) -> list[Extract]:
    """Return the extracts of the plans in progress that changed since a time, the last changed first (I001-13).

    If none did, only the last changed of the older ones is returned. Up to 256 KB of each plan are read, except of
    those that were not in progress and did not change since (`idleplans`). Of very many plans, some are looked at
    (`manyfiles.newest`) and some of those read, the last changed first; `manyfiles.omitted_count` then has the number
    of the rest.

    Args:
        root: the project's root.
        since: the time, in seconds since 1970.
        written: a plan that somebody has just written, which is always looked at.
    """
    now = time.time_ns()
    wanted = [written.parent.name] if written is not None and written.parent.parent == root / FOLDER else []
    top = root / FOLDER
    try:
        folders, records, left = _listed(root, wanted)
    except OSError:
        return []
    idle, whole = idleplans.known(top, folders) if len(folders) > FEW else (b"", True)
    maybe = idleplans.changed(folders, records, idle)
    others = left > 0
    found, extracts, room = {}, list[Extract](), READ_BYTES
    for number, (path, seen) in enumerate(_ordered(root, maybe)):
        if extracts and _mtime(seen) < since:
            break
        if number and (room <= 0 or manyfiles.out_of_time()):
            left += len(maybe) - number
            break
        room -= min(seen[1] if seen else 0, prose.LIMIT_BYTES)
        try:
            extract = _in_progress(path, root, seen)
        except OSError:
            continue
        if extract:
            extracts.append(extract)
        elif seen and settled(seen, now):
            found[path.parent.name] = seen
    if len(found) > FEW or not (whole or others):
        idleplans.keep(top, folders, idle, found, others=others)
    manyfiles.note_omitted(top, left)
    return extracts


def names(text: str, plan: Extract) -> bool:
    """Return whether a path or another text names the folder of a plan."""
    return regex(rf"{re.escape(f'{FOLDER}/{plan.source.parent.name}')}(?![\w-])").search(text) is not None


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
        plan = _in_progress(path, root, stamp(path.stat()))
    except OSError:
        return ""
    return f"{place} {aged(plan)}" if plan else ""


def look(root: Path) -> list[tuple[Candidate, Extract | None]]:
    """Return every plan `CLAUDE/Plan/*/PLAN.md`, the most recently changed first; those in progress have an extract."""
    try:
        folders, records, _ = _listed(root)
    except OSError as error:
        return [(_unreadable(root / FOLDER, error, 0.0), None)]
    ordered = _ordered(root, idleplans.changed(folders, records, b""))
    return [_examine(root, path, _mtime(seen)) for path, seen in ordered]


def _listed(root: Path, wanted: Collection[str] = ()) -> tuple[list[str], bytes, int]:
    """Return the folders with a plan, their plans' records (`idleplans`), and how many were left out.

    A search that is out of time looks at no more, but first at those `wanted`. Raises OSError.
    """
    found: list[str] = []
    records = bytearray()
    try:
        top = os.open(root / FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return [], b"", 0

    def changed(name: str) -> int:
        try:
            info = os.stat(f"{name}/{FILE}", dir_fd=top)
        except (FileNotFoundError, NotADirectoryError):
            return 0
        except OSError:
            found.append(name)
            records.extend(idleplans.REFUSED)
            return 0
        found.append(name)
        records.extend(idleplans.packed(info))
        return info.st_mtime_ns

    try:
        with os.scandir(top) as inside:  # of a descriptor: no path is followed for each of ten thousand plans
            entries = {folder.name: folder.inode() for folder in inside}
        _, left = manyfiles.newest(entries, changed, wanted)
    finally:
        os.close(top)
    return found, bytes(records), left


def _ordered(root: Path, listed: Iterable[tuple[str, Stamp | None]]) -> list[tuple[Path, Stamp | None]]:
    """Return the paths of plans with their stamps, the last changed first, then by path."""
    top = root / FOLDER
    found = [(top / name / FILE, seen) for name, seen in listed]
    return sorted(found, key=lambda plan: (-_mtime(plan[1]), str(plan[0])))


def _mtime(seen: Stamp | None) -> float:
    """Return when a plan was changed, as `st_mtime` has it; 0 if it can't be looked at."""
    seconds, rest = divmod(seen[2], 10**9) if seen else (0, 0)
    return seconds + rest * 1e-9


def _in_progress(path: Path, root: Path, seen: Stamp | None) -> Extract | None:
    """Return a plan's extract if it is in progress, else None. Raises OSError."""
    found = prose.read(path, root)
    if found is None or not plantext.may_be_active(found.text):
        return None
    return plantext.parse(found.text, path, root, _mtime(seen)).extract


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
