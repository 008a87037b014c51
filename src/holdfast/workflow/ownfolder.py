"""Files of ours in the project: readable by their owner alone, ignored by git, no link followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import StateError
from holdfast.files import atomic, document
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from pathlib import Path

_IGNORED = b"*\n"
_HEAD_BYTES = 64 * 1024  # bytes in which it shows that a file is ours


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


def wrote(path: Path) -> bool:
    """Tell whether a file in our folder is of our making: a sidecar, a report, what git ignores, half of one of them.

    What a person changed there still is, as long as it begins as we write it; a link never is.
    """
    if path.is_symlink() or not path.is_file():
        return False
    if path.suffix == ".tmp":
        return atomic.is_temporary(path.name)
    try:
        begins = document.head(path, _HEAD_BYTES)[0]
    except StateError:
        return False
    if path.name == ".gitignore":
        return begins == _IGNORED
    if path.suffix == ".html":
        return begins.startswith(b"<!doctype html>") and b"<title>Holdfast: " in begins
    return path.suffix == ".md" and begins.startswith(b"Workflow: ") and b"\nFull title: " in begins


def put(root: Path, path: Path, data: bytes) -> None:
    """Write a file of ours (0600), and beside it what keeps the folder out of git; the same bytes are not rewritten.

    Raises:
        StateError: a link lies in the way.
        OSError: it cannot be written.
    """
    statefile.guard(root, path)
    _write(path.parent / ".gitignore", _IGNORED)
    _write(path, data)


def _write(path: Path, data: bytes) -> None:
    try:
        if document.read(path)[0] == data:
            return
    except StateError:
        pass
    atomic.write(path, data, mode=0o600)
    path.chmod(0o600)  # one that was there before keeps its mode otherwise
