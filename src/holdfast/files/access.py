"""Find out what keeps a file or folder from being read or written, and the command that fixes it."""

from __future__ import annotations

import os
import shlex
import stat
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def read_own(path: Path, limit: int) -> bytes | None:
    """Return the content of a regular file of the user's that nobody else can write; None if it is no such file.

    `limit` is the largest size in bytes. Links aren't followed, and nobody waits for a pipe.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(descriptor)
        ours = stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o022
        return os.read(descriptor, info.st_size) if ours and info.st_size <= limit else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def closed(path: Path, *, write: bool = False) -> Path | None:
    """Return why a path can't be read or, with `write`, written; None if it can.

    This is the highest folder above it that can't be entered, else the path itself. A missing path is not closed.
    """
    for folder in reversed(path.parents):
        if is_folder(folder) and not os.access(folder, os.X_OK):
            return folder
    if not is_there(path):
        return None
    wanted = os.R_OK | (os.W_OK if write else 0) | (os.X_OK if is_folder(path) else 0)
    return None if os.access(path, wanted) else path


is_there = os.path.exists
"""Return whether a path exists and is visible; pathlib raises if a folder above it can't be entered."""
is_folder = os.path.isdir
"""Return whether a path is a visible folder, or a link to one."""
is_link = os.path.islink
"""Return whether a path is a visible symbolic link."""


def remedy(path: Path) -> str:
    """Return the command that makes a path readable; empty if it is."""
    place = closed(path)
    return "" if place is None else opening(place, write=False)


def opening(place: Path, *, write: bool = True) -> str:
    """Return the command that opens an existing file or folder for its user.

    A folder gets all of its owner's permissions. Only an administrator can give back what belongs to somebody else, and
    on a read-only disk no permission helps.
    """
    name, info = shlex.quote(str(place)), place.stat()
    folder = stat.S_ISDIR(info.st_mode)
    if info.st_uid != os.geteuid():
        return f'sudo chown {"-R " if folder else ""}"$(id -un)" {name}'
    bits = 0o700 if folder else 0o600 if write else 0o400
    if stat.S_IMODE(info.st_mode) & bits == bits:
        return f"df {name}"
    return f"chmod u+{'rwx' if folder else 'rw'} {name}"


def unlinking(path: Path) -> str:
    """Return the command that replaces a symbolic link with its target's content; empty if the path is no link.

    A link to nothing, or to what has no content of its own, such as a pipe, is removed.
    """
    if not is_link(path):
        return ""
    name = shlex.quote(str(path))
    if not (is_folder(path) or path.is_file()):
        return f"rm {name}"
    if is_folder(path):
        return f"cp -R {name}/. {name}.real && rm {name} && mv {name}.real {name}"
    return f"cp -p {name} {name}.real && mv {name}.real {name}"


def opener(place: Path) -> Callable[[], str] | None:
    """Return a function that makes a closed path readable and writable, and says so. It raises OSError.

    None if its permissions aren't the reason, or the user may not change them.
    """
    return partial(_open_up, place) if opening(place).startswith("chmod") else None


def _open_up(place: Path) -> str:
    place.chmod(stat.S_IMODE(place.stat().st_mode) | (0o700 if place.is_dir() else 0o600))
    return f"made {place} readable and writable for you"
