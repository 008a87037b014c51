"""Verify a commit in git's own files: a hook must not wait for a program."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from holdfast.errors import StateError
from holdfast.files import document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SHORT = re.compile(r"[0-9a-f]{7,64}")
_LIMIT_BYTES = 1024 * 1024  # of a commit's object
_MAX_OBJECTS = 64  # objects that begin like a short sha


def resolved(root: Path, sha: str) -> str:
    """Return the whole sha of a commit that was made lately; empty if the repository has no such commit.

    A new commit is an object in a file of its own, until git packs it weeks later.

    Args:
        root: the project's root, which may be a folder inside the repository or a linked worktree.
        sha: at least 7 of its digits.
    """
    if not _SHORT.fullmatch(sha):
        return ""
    for folder in _objects(root):
        try:
            found = sorted((folder / sha[:2]).glob(f"{sha[2:]}*"))[:_MAX_OBJECTS]
        except OSError:
            continue
        if len(commits := [path for path in found if _is_commit(path)]) == 1:
            return sha[:2] + commits[0].name
    return ""


def _objects(root: Path) -> Iterator[Path]:
    at = next((each for each in (root, *root.parents) if (each / ".git").exists()), None)
    if at is None:
        return
    git = at / ".git"
    if not git.is_dir():
        named = _line(git).removeprefix("gitdir:").strip()
        git = (git.parent / named).resolve() if named else git
    shared = _line(git / "commondir")
    yield ((git / shared).resolve() if shared else git) / "objects"


def _is_commit(path: Path) -> bool:
    try:
        return zlib.decompressobj().decompress(document.read(path, _LIMIT_BYTES)[0], 16).startswith(b"commit ")
    except (StateError, zlib.error):
        return False


def _line(path: Path) -> str:
    try:
        return document.head(path, 4096)[0].decode("utf-8", "replace").strip().replace("\0", "")
    except (StateError, ValueError):
        return ""
