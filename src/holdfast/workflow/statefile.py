"""State files: read with the last generation behind them, written atomically with every content kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast import log
from holdfast.errors import LedgerError, MissingError, StateError
from holdfast.state import document
from holdfast.survival import generations

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.project import Project
    from holdfast.state.document import Document


@dataclass(frozen=True, slots=True)
class StateFile:
    """What a state file says; where it is broken, what its last generation said, and `broken` says what is wrong."""

    document: Document
    broken: str = ""

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self.document.path

    @property
    def data(self) -> dict[str, Any]:
        """The JSON object; not to be changed in place."""
        return self.document.data


def guard(root: Path, path: Path) -> None:
    """Refuse a path outside the root, or one that leads through a symbolic link below it. Raises StateError."""
    if not path.is_relative_to(root):
        raise StateError(path, f"lies outside the project {root}")
    for folder in (path, *path.parents):
        if folder == root:
            return
        if folder.is_symlink():
            raise StateError(path, f"leads through the symbolic link {folder}, which is not followed")


def read(project: Project, path: Path) -> StateFile:
    """Return a state file, or its last generation where it cannot be read. Reading never writes.

    Raises MissingError when there is no file (a file that was removed stays removed), and StateError when it is broken
    and no generation is known.
    """
    guard(project.root, path)
    try:
        return StateFile(document.load(path))
    except MissingError:
        raise
    except StateError as error:
        return _recovered(project, path, error)


def write(project: Project, path: Path, data: dict[str, Any], before: StateFile | None, *, why: str) -> StateFile:
    """Write `data` to a state file, unless it says that already, and return the file as it is now.

    `before` is what `read` returned, None for a new file. The content before and after is kept as a generation; a
    broken file is set aside first. Hold the folder's lock. Raises StateError.
    """
    guard(project.root, path)
    like = None
    if before is not None and before.broken:
        aside = document.set_aside(path)
        log.write("warning", f"{path}: {before.broken}; it was set aside as {aside.name}")
    elif before is not None:
        like = before.document
        generations.keep(project, path, like.raw, why=f"before {why}")
    document.save(path, data, like=like)
    after = document.load(path)
    generations.keep(project, path, after.raw, why=why)
    return StateFile(after)


def discard(project: Project, path: Path, *, why: str) -> None:
    """Remove a state file and keep its content as a generation; a broken one is set aside. Raises StateError."""
    from holdfast.state import atomic

    guard(project.root, path)
    try:
        found = document.load(path)
    except MissingError:
        return
    except StateError:
        document.set_aside(path)
        return
    generations.keep(project, path, found.raw, why=why)
    atomic.remove(path)


def _recovered(project: Project, path: Path, error: StateError) -> StateFile:
    import json

    try:
        raw = generations.latest(project, path)
        data = json.loads(raw) if raw else None
    except (LedgerError, ValueError):
        raise error from None
    if raw is None or not isinstance(data, dict):
        raise error
    return StateFile(document.Document(path, data, raw, _mtime(path)), error.reason)


def _mtime(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
