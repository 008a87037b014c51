"""Which state files of the `compaction` format an event looks at where there are many."""

from __future__ import annotations

import heapq
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.workflow.formats import compaction_file as files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from holdfast.project import Project

MOST = 24  # files an event reads, the last changed; what nobody touched before so many others waits for a person


def places(project: Project, wanted: Collection[str] = (), folder: str = "") -> tuple[list[Path] | None, int]:
    """Return the last changed state files, and those that are wanted, with how many others there are.

    Args:
        project: where.
        wanted: places, relative to the root, that count whenever they were changed.
        folder: the name of a folder whose files count whenever they were changed.

    Returns:
        The files, in no order; None stands for all of them, where there are few.
    """
    found = list(_listed(files.folder(project)))
    if len(found) <= MOST:
        return None, 0
    named = {f"{project.root}/{place}" for place in wanted}
    inside = f"{files.folder(project)}/{folder}/" if folder else "\0"
    near = {path for _, _, path in heapq.nlargest(MOST, found)}
    near |= {path for _, _, path in found if path in named or path.startswith(inside)}
    return [Path(path) for path in near], len(found) - len(near)


def _listed(top: Path) -> Iterator[tuple[int, str, str]]:
    """Yield each state file's time of its last change, name and path; what cannot be looked at counts as oldest."""
    for folder in _inside(str(top)):
        for entry in _inside(folder.path):
            if entry.name.startswith("state-") and entry.name.endswith(".json"):
                changed = 0
                with suppress(OSError):
                    changed = entry.stat().st_mtime_ns
                yield changed, entry.name, entry.path


def _inside(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
