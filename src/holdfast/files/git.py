"""Read git's own files: a hook must not wait for a program."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from holdfast.errors import StateError
from holdfast.files import document

if TYPE_CHECKING:
    from pathlib import Path

_SHORT = re.compile(r"[0-9a-f]{7,64}")
_OBJECT_LIMIT_BYTES = 1024 * 1024
_MAX_OBJECTS = 64  # that begin like a short sha


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


def recent_commit(root: Path, sha: str) -> str:
    """Return the whole sha of a commit that begins with at least 7 digits; empty if the repository has no such commit.

    Only a recent one is found: a new commit is an object in a file of its own, until git packs it weeks later.
    """
    git = folder(root)
    if git is None or not _SHORT.fullmatch(sha):
        return ""
    try:
        paths = sorted((shared(git) / "objects" / sha[:2]).glob(f"{sha[2:]}*"))[:_MAX_OBJECTS]
    except OSError:
        return ""
    commits = [path.name for path in paths if _is_commit(path)]
    return sha[:2] + commits[0] if len(commits) == 1 else ""


def _is_commit(path: Path) -> bool:
    try:
        raw = document.read(path, _OBJECT_LIMIT_BYTES)[0]
        return zlib.decompressobj().decompress(raw, 16).startswith(b"commit ")
    except (StateError, zlib.error):
        return False
