"""Read git's own files: a hook must not wait for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import StateError
from holdfast.files import document

if TYPE_CHECKING:
    from pathlib import Path


def folder(root: Path) -> Path | None:
    """Return git's folder for a project, which may be a folder inside a repository, a linked worktree or a submodule.

    None outside git.
    """
    git = next((each / ".git" for each in (root, *root.parents) if (each / ".git").exists()), None)
    if git is None or git.is_dir():
        return git
    named = line(git).removeprefix("gitdir:").strip()
    return (git.parent / named).resolve() if named else git


def shared(git: Path) -> Path:
    """Return the folder that all worktrees of a repository share, given git's folder for one of them."""
    named = line(git / "commondir")
    return (git / named).resolve() if named else git


def line(path: Path) -> str:
    """Return the content of one of git's small files; empty if it can't be read."""
    try:
        return document.head(path, 4096)[0].decode("utf-8", "replace").strip().replace("\0", "")
    except (StateError, ValueError):
        return ""
