"""Write a file so that a reader sees either all of the old content or all of the new, whatever gets killed."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from holdfast.errors import StateError

_ORPHAN_AGE = 60.0  # seconds; a process id of another container or host looks dead here, so its age must speak too
_ABANDONED_AGE = 3600.0  # seconds; no write takes an hour, whatever process has that id by now


def write(path: Path, data: bytes, *, mode: int = 0o644, follow: bool = False) -> None:
    """Replace the content of `path` with `data`, creating missing parent folders.

    The bytes go to a temporary file beside the target, are synced, then renamed over it, and the folder is synced
    (I003-7, I004-15). An existing file keeps its mode and, where possible, its owner; a new one gets `mode` (less the
    umask). With `follow` a symbolic link is written through to its target, without it a link is refused.
    Raises StateError: a link, no regular file, or the reason the system gave.
    """
    target = _target(path, follow)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        _replace(target, data, mode)
    except OSError as error:
        raise StateError(path, f"cannot be written: {error.strerror or error}") from error
    sync_folder(target.parent)


def remove(path: Path) -> None:
    """Delete a file and sync its folder; a missing file is fine. Raises StateError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StateError(path, f"cannot be removed: {error.strerror or error}") from error
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and deletions in `folder` durable where the file system can; never raises."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _target(path: Path, follow: bool) -> Path:
    target = Path(os.path.realpath(path)) if follow else path
    info = _stat(target)
    if info is None or stat.S_ISREG(info.st_mode):
        return target
    if stat.S_ISLNK(info.st_mode):
        raise StateError(path, "is a symbolic link, which is not written through; put the file itself there")
    raise StateError(path, "is a folder, not a file" if stat.S_ISDIR(info.st_mode) else "is not a regular file")


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _replace(target: Path, data: bytes, mode: int) -> None:
    before = _stat(target)
    wanted = stat.S_IMODE(before.st_mode) if before else mode
    temporary = target.with_name(f"{_prefix(target)}{os.getpid()}.{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, wanted & 0o777)
    try:
        try:
            _fill(descriptor, data)
            if before:
                _adopt(descriptor, before)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _fill(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _adopt(descriptor: int, before: os.stat_result) -> None:
    """Give the new file the old one's owner and mode; the owner first, because changing it clears mode bits."""
    ours = os.fstat(descriptor)
    if (ours.st_uid, ours.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _prefix(target: Path) -> str:
    """Return how the temporary files of a target begin; long names are cut to keep within the system's 255 bytes."""
    return f".{os.fsdecode(os.fsencode(target.name)[:180])}."


def _sweep(target: Path) -> None:
    """Delete temporary files that killed writers of this target left behind."""
    prefix = _prefix(target)
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(".tmp"):
                _sweep_one(entry, entry.name[len(prefix) :].split("."))


def _sweep_one(entry: os.DirEntry[str], rest: list[str]) -> None:
    if len(rest) != 3 or not rest[0].isdecimal():
        return
    with suppress(OSError):
        age = time.time() - entry.stat(follow_symlinks=False).st_mtime
        if age > _ABANDONED_AGE or (age > _ORPHAN_AGE and not _alive(int(rest[0]))):
            Path(entry.path).unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
