"""Write files atomically: a reader sees the whole old or the whole new content, even if the writer is killed."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import ChangedError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ABANDONED_AGE_S = 600.0  # no write takes ten minutes
_TEMPORARY = re.compile(r"\.(?P<target>.+)\.[0-9]+\.[0-9a-f]{12}\.tmp", re.DOTALL)
_CHANGED = "was saved by somebody else meanwhile; their content stands, try again"
_REMOVED = "was removed by somebody else meanwhile"


def write(path: Path, data: bytes, *, mode: int = 0o644, follow: bool = False, durable: bool = True) -> None:
    """Replace the content of `path` with `data` in one step (R000-21, I002-25), creating missing parent folders.

    The bytes go to a temporary file next to the target, are synced, then renamed over it, and the folder is synced. An
    existing file keeps its mode and, where possible, its owner; a new one gets `mode` (less the umask). With `follow` a
    symbolic link is written through to its target, without it a link is refused. What is generated from another file
    need not be `durable`: nothing is synced, so after a power failure the file may be the old one, or empty. Raises
    StateError for a link or anything but a regular file, or with the system's reason.
    """
    target = _target(path, follow)
    with _temporary(target, data, mode, durable) as temporary:
        temporary.replace(target)


def replace(path: Path, data: bytes, expected: bytes | None, *, mode: int = 0o644) -> float:
    """Write as `write` does, but only over a file that still holds `expected` (None: no file); return its `st_mtime`.

    An editor takes no lock. What it saves in the microseconds between the comparison and the rename is overwritten, and
    if it opened the file before the rename and writes to it later, it writes to the old file.

    Raises ChangedError if the content differs, StateError as `write` does.
    """
    _target(path, follow=False)
    with _temporary(path, data, mode, durable=True) as temporary:
        written = temporary.lstat().st_mtime
        if expected is None:
            _create(temporary, path)
        elif _content(path) != expected:
            raise ChangedError(path, _CHANGED if os.path.lexists(path) else _REMOVED)
        else:
            temporary.replace(path)
    return written


def take(path: Path) -> bytes:
    """Delete a regular file and return its content at that moment.

    Raises StateError if it can't be moved away, or if it can't be read, in which case it stays.
    """
    _target(path, follow=False)
    aside = _temporary_name(path)
    try:
        path.rename(aside)
        try:
            data = aside.read_bytes()
        except OSError:
            aside.rename(path)
            raise
    except OSError as error:
        raise StateError(path, f"cannot be removed: {error.strerror or error}") from error
    remove(aside)
    return data


def remove(path: Path) -> None:
    """Delete a file and sync its folder; a missing file is fine. Raises StateError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StateError(path, f"cannot be removed: {error.strerror or error}") from error
    sync_folder(path.parent)


@contextmanager
def undone_on_failure(path: Path) -> Iterator[None]:
    """Restore a file if the block fails, or remove it if it was not there. Needs no space on a full disk.

    On a file system without hard links, a replaced file isn't restored.
    """
    existed, link = path.exists(), _temporary_name(path)
    try:
        with suppress(OSError):
            if existed:
                os.link(path, link)
        yield
    except BaseException:
        with suppress(OSError):
            if existed:
                link.replace(path)
            else:
                path.unlink()
        raise
    finally:
        with suppress(OSError):
            link.unlink()


@contextmanager
def syncing_later() -> Iterator[None]:
    """Make renames and deletions durable only at the end of the block, once for each folder (`sync_folder`).

    A file's content is synced before it gets its name all the same, and whoever reads sees the rename at once, also if
    this process is killed. Only a power failure before the end of the block may bring the old file back.
    """
    global _unsynced
    before, _unsynced = _unsynced, set()
    try:
        yield
    finally:
        folders, _unsynced = _unsynced, before
        for folder in folders or ():
            sync_folder(folder)


_unsynced: set[Path] | None = None


def sync_folder(folder: Path) -> None:
    """Make renames and deletions in `folder` durable if the file system can. Never raises."""
    if _unsynced is not None:
        _unsynced.add(folder)
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def abandoned(folder: Path, target: str = "") -> list[Path]:
    """Return the temporary files that killed writers left in a folder, all of them or those of one target's name."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = _TEMPORARY.fullmatch(entry.name)
            if name and target in ("", name["target"]):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED_AGE_S:
                        found.append(Path(entry.path))
    return sorted(found)


def is_temporary(name: str) -> bool:
    """Return whether a file has the name of a temporary file."""
    return _TEMPORARY.fullmatch(name) is not None


def _target(path: Path, follow: bool) -> Path:
    """Return the path to write to. Raises StateError if something that isn't a regular file is there."""
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


def _create(temporary: Path, path: Path) -> None:
    """Give a finished file its name, unless that is taken. Raises ChangedError, OSError."""
    try:
        os.link(temporary, path)
    except FileExistsError as error:
        raise ChangedError(path, _CHANGED) from error
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise ChangedError(path, _CHANGED) from None
        temporary.replace(path)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{_short_name(target)}.{os.getpid()}.{os.urandom(6).hex()}.tmp")


def _short_name(target: Path) -> str:
    """Return a target's name, cut so that its temporary files' names stay within the system's 255 bytes."""
    return os.fsdecode(os.fsencode(target.name)[:180])


@contextmanager
def _temporary(target: Path, data: bytes, mode: int, durable: bool) -> Iterator[Path]:
    """Yield a finished file next to `target`, synced if `durable`, with its mode and owner; if left, it is removed.

    Deletes what killed writers of this target left. Raises StateError, also for an OSError in the block.
    """
    temporary = _temporary_name(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for path in abandoned(target.parent, _short_name(target)):
            with suppress(OSError):
                path.unlink()
        before = _stat(target)
        mode = stat.S_IMODE(before.st_mode) if before else mode
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode & 0o777)
        try:
            _fill(descriptor, data)
            if before:
                _adopt(descriptor, before)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield temporary
    except OSError as error:
        raise StateError(target, f"cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    if durable:
        sync_folder(target.parent)


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
