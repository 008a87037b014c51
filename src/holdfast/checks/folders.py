"""Check that the folders Holdfast writes to are writable, and private where they must be."""

from __future__ import annotations

import os
import shlex
import stat
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.checks import notice, ok, problem
from holdfast.files import access
from holdfast.formats import RECORDS
from holdfast.workflow import places
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

SCARCE_BYTES = 64 * 1024 * 1024  # warn if a disk has less free space
FULL_BYTES = 1024 * 1024  # with less free space no ledger is written
_OTHERS_WRITE, _OTHERS = 0o022, 0o077


def findings(project: Workspace) -> Iterator[Finding]:
    """Look at Holdfast's own folders, the project's, and the disks they are on."""
    own = [paths.config_dir(), paths.state_dir(), paths.launcher().parent]
    inside = [paths.user_handlers(), paths.state_dir() / "projects", paths.log_file().parent, paths.command_dir()]
    found = [*_foreign(paths.state_dir()), *_unwritable([*own, *inside])]
    found += _modes(paths.config_dir(), _OTHERS_WRITE, "change which code runs in your sessions")
    found += _modes(paths.launcher().parent, _OTHERS_WRITE, "change which code runs in your sessions")
    found += _modes(paths.state_dir(), _OTHERS, "see what Holdfast keeps of your work")
    found += _disk(paths.state_dir())
    yield from found
    if not found:
        yield ok(f"{', '.join(map(str, own))} are writable")
    theirs = [*_linked(project), *_unwritable(_of(project)), *_disk(project.root)]
    yield from theirs
    if not theirs:
        yield ok("the project's workflow folders are writable")


def blocked(path: Path) -> bool:
    """Return whether a folder above a path can't be entered or is a file; this check reports that already."""
    above = next(each for each in path.parents if os.path.lexists(each))
    return not access.is_folder(above) or not os.access(above, os.X_OK)


def linked(root: Path, path: Path) -> bool:
    """Return whether a path leads through a symbolic link below a project's root; this check reports that already."""
    return any(access.is_link(folder) for folder in path.parents if folder != root and folder.is_relative_to(root))


def _of(project: Workspace) -> list[Path]:
    """Return the folders of a project that Holdfast writes to: the formats' (they may not exist) and the sidecars'."""
    root = project.root
    tops = [root / record.TOP for record in RECORDS.values()]
    above = [
        folder for top in tops for folder in reversed(top.parents) if folder != root and folder.is_relative_to(root)
    ]
    return list(dict.fromkeys([*above, *tops, paths.sidecar_dir(root), *places.folders(root)]))


def _linked(project: Workspace) -> Iterator[Finding]:
    """Yield a problem for each of the project's folders that is a symbolic link, because none is followed there."""
    for folder in _of(project):
        if access.is_link(folder):
            text = f"{folder} is a symbolic link. Holdfast doesn't follow it, so it reads and writes nothing there"
            yield problem(text, access.unlinking(folder))


def _unwritable(folders: list[Path]) -> Iterator[Finding]:
    named = set()
    for folder in folders:
        place = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
        if place not in named and not (os.access(place, os.W_OK | os.X_OK) and place.is_dir()):
            named.add(place)
            yield _unusable(place, str(place) if place == folder else f"{folder} can't be created or reached: {place}")


def _foreign(folder: Path) -> Iterator[Finding]:
    """Yield a problem for a state folder that this user may write to, but that belongs to another user."""
    if access.is_folder(folder) and os.access(folder, os.W_OK | os.X_OK) and paths.is_foreign(folder):
        text = f"{folder} belongs to another user, so Holdfast remembers neither workflows nor strict handlers there"
        yield problem(f"{text}. If it isn't yours, set XDG_STATE_HOME to a folder that is", access.opening(folder))


def _unusable(place: Path, what: str) -> Finding:
    name = shlex.quote(str(place))
    if not place.exists():
        return problem(f"{what} is a symbolic link to nothing", f"rm {name}")
    if not place.is_dir():
        return problem(f"{what} is a file, but must be a folder", f"mv {name} {name}.aside")
    fix = access.opener(place) if what == str(place) else None  # a folder above isn't Holdfast's to change unasked
    return problem(f"{what} isn't writable for you", access.opening(place), fix)


def _modes(top: Path, forbidden: int, danger: str) -> Iterator[Finding]:
    """Yield a finding if a folder, or a file in it, gives other users forbidden permissions."""
    loose = _loose(top, forbidden)
    if not loose:
        return
    others_write = any(_mode(each) & 0o002 for each in loose)
    more = f" and {len(loose) - 1} more in it" if len(loose) > 1 else ""
    how = "writable" if forbidden == _OTHERS_WRITE else "readable"
    text = f"{loose[0]}{more} {'are' if more else 'is'} {how} by other users, who could {danger}"
    command = f"chmod -R go{'-w' if forbidden == _OTHERS_WRITE else '-rwx'} {shlex.quote(str(top))}"
    yield (problem if others_write else notice)(text, command, partial(_tighten, top, forbidden))


def _tighten(top: Path, forbidden: int) -> str:
    loose = _loose(top, forbidden)
    for each in loose:
        each.chmod(_mode(each) & ~forbidden)
    return f"took others' permissions from {count(len(loose), 'path')} in {top}"


def _loose(top: Path, forbidden: int) -> list[Path]:
    """Return which of a folder and everything in it give other users forbidden permissions."""
    inside = [Path(folder) / name for folder, folders, names in os.walk(top) for name in (*folders, *names)]
    return [each for each in (top, *sorted(inside)) if _mode(each) & forbidden]


def _mode(path: Path) -> int:
    """Return a path's permissions, or 0 for a symbolic link and for what belongs to another user."""
    try:
        info = path.lstat()
    except OSError:
        return 0  # removed in the meantime
    mine = info.st_uid == os.geteuid() and not stat.S_ISLNK(info.st_mode)
    return stat.S_IMODE(info.st_mode) if mine else 0


def _disk(folder: Path) -> Iterator[Finding]:
    place = next(each for each in (folder, *folder.parents) if access.is_there(each))
    disk = os.statvfs(place)
    free = disk.f_bavail * disk.f_frsize
    if free < FULL_BYTES or (disk.f_files and not disk.f_favail):
        yield problem(
            f"the disk of {folder} is full, so Holdfast can't save anything", f"df -h {shlex.quote(str(place))}"
        )
    elif free < SCARCE_BYTES:
        text = f"the disk of {folder} has {free // (1024 * 1024)} MB left"
        yield notice(text, f"df -h {shlex.quote(str(place))}")
