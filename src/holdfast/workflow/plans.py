"""Detection method 2: the plans of a project, the most recently changed first (R001-22, I001-13)."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from holdfast.workflow import plantext, prose
from holdfast.workflow.extract import Candidate, Extract
from holdfast.workflow.wording import quoted

FOLDER = "CLAUDE/Plan"
FILE = "PLAN.md"


def active(root: Path) -> Extract | None:
    """Return what the most recently changed plan in progress says, or None (I001-13).

    Plans that changed before it are not read; of the others no more than 256 KB each, however many there are.
    """
    try:
        files = _files(root)
    except OSError:
        return None
    for path, mtime in files:
        try:
            found = prose.read(path)
        except OSError:
            continue
        if found and plantext.may_be_active(found.text):
            extract = plantext.parse(found.text, path, root, mtime).extract
            if extract:
                return extract
    return None


def look(root: Path) -> list[tuple[Candidate, Extract | None]]:
    """Return every plan under `CLAUDE/Plan/*/PLAN.md` with what it says, the most recently changed first.

    Only the first that is in progress is accepted; what another one says stands beside it nevertheless.
    """
    looked: list[tuple[Candidate, Extract | None]] = []
    chosen = ""
    try:
        files = _files(root)
    except OSError as error:
        return [(_unreadable(root / FOLDER, error, 0.0), None)]
    for path, mtime in files:
        candidate, extract = _examine(root, path, mtime)
        if extract and chosen:
            reason = f"is in progress too ({quoted(extract.name)}), but {chosen} changed later; the last changed counts"
            kind = "in progress too, but changed earlier"
            candidate = replace(candidate, accepted=False, reasons=(reason,), notable=True, kind=kind)
        elif extract:
            chosen = path.relative_to(root).as_posix()
        looked.append((candidate, extract))
    return looked


def _files(root: Path) -> list[tuple[Path, float]]:
    """Return the plans' paths and modification times, the last changed first, then by path. Raises OSError."""
    found = []
    try:
        with os.scandir(root / FOLDER) as folders:
            places = [Path(folder.path, FILE) for folder in folders]
    except (FileNotFoundError, NotADirectoryError):
        return []
    for path in places:
        try:
            found.append((path, path.stat().st_mtime))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            found.append((path, 0.0))
    return sorted(found, key=lambda plan: (-plan[1], str(plan[0])))


def _examine(root: Path, path: Path, mtime: float) -> tuple[Candidate, Extract | None]:
    try:
        found = prose.read(path)
    except OSError as error:
        return _unreadable(path, error, mtime), None
    if found is None:
        return Candidate(path, "plan", False, ("does not exist",), mtime), None
    reading = plantext.parse(found.text, path, root, mtime)
    cut = "" if found.whole or reading.extract else f" (its first {prose.LIMIT // 1024} KB were read)"
    accepted = reading.extract is not None
    return Candidate(
        path, "plan", accepted, (f"{reading.reason}{cut}",), mtime, reading.notable, reading.kind
    ), reading.extract


def _unreadable(path: Path, error: OSError, mtime: float) -> Candidate:
    return Candidate(
        path, "plan", False, (f"cannot be read: {error.strerror or error}",), mtime, True, "cannot be read"
    )
