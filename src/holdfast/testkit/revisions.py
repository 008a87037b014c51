"""Read handler files as they were in a revision of git."""

from __future__ import annotations

import subprocess
from shlex import join
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.plugins import kinds

if TYPE_CHECKING:
    from pathlib import Path

_LIMIT_S = 20.0
_SUFFIXES = (".py", ".toml")  # a script is known by its first line


def contents(folder: Path, revision: str, name: str) -> dict[str, bytes]:
    """Return the content of handler files in a revision, and of their helpers, by their paths in a folder.

    Args:
        folder: a folder in the repository.
        revision: anything that git takes for a commit, such as `main~3`.
        name: a path relative to the folder: a file, or with `/` at the end a folder of handlers.

    Returns:
        The files; none if the revision has none.

    Raises:
        HoldfastError: git can't be run, the folder isn't in a repository, or there is no such commit.
    """
    commit = _git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
    inside, _, wanted = name.rpartition("/")
    where = ["--", f"{inside}/"] if inside else []
    listed = _git(folder, "ls-tree", "-z", commit, *where).decode(errors="surrogateescape").split("\0")
    files = [path for line in listed for kind, _, path in [line.partition("\t")] if " blob " in kind]
    chosen = [each for each in files if _is_handler(each.rpartition("/")[2], wanted)]
    found = {each: _git(folder, "cat-file", "blob", f"{commit}:./{each}") for each in chosen}
    return {each: source for each, source in found.items() if each.endswith(_SUFFIXES) or source.startswith(b"#!")}


def _is_handler(name: str, wanted: str) -> bool:
    """Return whether a file may be a handler, the wanted one if one is named, or a helper that handlers import."""
    return kinds.is_helper(name) or (name[0] not in "_." and wanted in ("", name))


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        ended = subprocess.run(
            ["git", "-C", folder, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HoldfastError(f"git can't be run in {folder}: {error}") from error
    if ended.returncode:
        reason = ended.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise HoldfastError(f"`{join(['git', *arguments])}` failed in {folder}: {reason}")
    return ended.stdout
