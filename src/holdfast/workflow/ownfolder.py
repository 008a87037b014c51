"""Files of ours in the project: readable by their owner alone, ignored by git, no link followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import StateError
from holdfast.state import atomic, document
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from pathlib import Path


def place(root: Path, name: str) -> Path:
    """Return where our file of that name lies in a project."""
    return paths.sidecar_dir(root) / name


def existing(root: Path) -> Path | None:
    """Return our folder in a project; None if there is none, or if a link on the way leads to another project's."""
    folder = paths.sidecar_dir(root)
    try:
        statefile.guard(root, folder)
    except StateError:
        return None
    return folder if folder.is_dir() else None


def put(root: Path, path: Path, data: bytes) -> None:
    """Write a file of ours (0600), and beside it what keeps the folder out of git; the same bytes are not rewritten.

    Raises:
        StateError: a link lies in the way.
        OSError: it cannot be written.
    """
    statefile.guard(root, path)
    _write(path.parent / ".gitignore", b"*\n")
    _write(path, data)


def _write(path: Path, data: bytes) -> None:
    try:
        if document.read(path)[0] == data:
            return
    except StateError:
        pass
    atomic.write(path, data, mode=0o600)
    path.chmod(0o600)  # one that was there before keeps its mode otherwise
