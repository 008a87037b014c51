"""The commit that a project is at, read from git's own files: a hook must not wait for a program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import StateError
from holdfast.files import document, git

if TYPE_CHECKING:
    from pathlib import Path

NONE = ""
"""The sha of a checkpoint outside git, or before the first commit."""
_LIMIT_BYTES = 16 * 1024 * 1024  # packed references of a very large repository
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


_MOVE = re.compile(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\n]*?> (\d{1,12}) [+-]\d{4}\t([^\n]*)")
_LOG_BYTES = 256 * 1024  # bytes at the end of the log of HEAD that are read


class Move(NamedTuple):
    """An entry in the log of HEAD: the commits before and after, when (seconds), and what was done."""

    before: str
    sha: str
    at: int
    message: str


def is_sha(text: str) -> bool:
    """Return whether a text is a whole sha."""
    return _SHA.fullmatch(text) is not None


def moves(root: Path) -> list[Move]:
    """Return the latest moves of HEAD, oldest first; none outside git, or without a log."""
    folder = git.folder(root)
    if folder is None:
        return []
    try:
        with (folder / "logs/HEAD").open("rb") as file:
            file.seek(max(file.seek(0, 2) - _LOG_BYTES, 0))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [Move(each[1], each[2], int(each[3]), each[4]) for each in map(_MOVE.fullmatch, text.splitlines()) if each]


def is_known(root: Path, sha: str) -> bool:
    """Return whether a commit is where HEAD is, or was lately. Git may still have another; only git can tell."""
    return sha == head(root) or any(sha in (each.before, each.sha) for each in moves(root))


def head(root: Path) -> str:
    """Return the sha that HEAD stands for in a project, `NONE` if there is none or it can't be read."""
    folder = git.folder(root)
    if folder is None:
        return NONE
    head = git.line(folder / "HEAD")
    if _SHA.fullmatch(head):
        return head
    name = head.removeprefix("ref:").strip()
    if not head.startswith("ref:") or ".." in name or name.startswith("/"):
        return NONE
    homes = (folder, git.shared(folder))
    for home in homes:
        if _SHA.fullmatch(found := git.line(home / name)):
            return found
    return next((found for home in homes if (found := _packed(home / "packed-refs", name))), NONE)


def _packed(path: Path, name: str) -> str:
    try:
        text = document.read(path, _LIMIT_BYTES)[0].decode("utf-8", "replace")
    except StateError:
        return ""
    ending = f" {name}"
    found = next((line for line in text.splitlines() if line.endswith(ending)), "")
    sha = found.partition(" ")[0]
    return sha if _SHA.fullmatch(sha) else ""
