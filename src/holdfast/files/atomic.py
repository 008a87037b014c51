"""Write files atomically: a reader sees the whole old or the whole new content, even if the writer is killed."""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import ChangedError, StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ORPHAN_AGE_S = 60.0  # seconds; processes of another container or host look dead here, so the age must tell too
_ABANDONED_AGE_S = 3600.0  # seconds; no write takes an hour, even if a process has that id by now
_SWEPT_FILES = 1_024  # of a folder that a write looks at; with more of them, each write would take longer
_UNIQUE_BYTES = 6  # random bytes in a temporary file's name
_COMPARED_LIMIT_BYTES = 64 * 1024 * 1024  # bytes of a file that are compared
_CHANGED = "was saved by somebody else meanwhile; their content stands, try again"
_REMOVED = "was removed by somebody else meanwhile"


def write(path: Path, data: bytes, *, mode: int = 0o644, follow: bool = False, durable: bool = True) -> None:
    """Replace the content of `path` with `data` in one step (R000-21, I002-25), creating missing parent folders.

    The bytes go to a temporary file beside the target, are synced, then renamed over it, and the folder is synced. An
    existing file keeps its mode and, where possible, its owner; a new one gets `mode` (less the umask). With `follow` a
    symbolic link is written through to its target, without it a link is refused. What is generated from another file
    need not be `durable`: nothing is synced, so after a power failure the file may be the old one, or empty. Raises
    StateError for a link or anything but a regular file, or with the system's reason.
    """
    target = _target(path, follow)
    try:
        with _temporary(target, data, mode, durable=durable) as temporary:
            temporary.replace(target)
    except OSError as error:
        raise StateError(path, f"cannot be written: {error.strerror or error}") from error
    if durable:
        sync_folder(target.parent)


def replace(path: Path, data: bytes, expected: bytes | None, *, mode: int = 0o644, durable: bool = True) -> float:
    """Write as `write` does, but only over a file that still holds `expected` (None: no file); return its `st_mtime`.

    An editor takes no lock. What it saves in the microseconds between the comparison and the rename is overwritten, and
    if it opened the file before the rename and writes to it later, it writes to the old file.

    Raises ChangedError if the content differs, StateError as `write` does.
    """
    _target(path, follow=False)
    try:
        with _temporary(path, data, mode, durable=durable) as temporary:
            written = temporary.lstat().st_mtime
            if expected is None:
                _create(temporary, path)
            elif _content(path) != expected:
                raise ChangedError(path, _CHANGED if os.path.lexists(path) else _REMOVED)
            else:
                temporary.replace(path)
    except OSError as error:
        raise StateError(path, f"cannot be written: {error.strerror or error}") from error
    if durable:
        sync_folder(path.parent)
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
        aside.unlink()
    except OSError as error:
        raise StateError(path, f"cannot be removed: {error.strerror or error}") from error
    sync_folder(path.parent)
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
    there, link = path.exists(), _temporary_name(path)
    try:
        with suppress(OSError):
            if there:
                os.link(path, link)
        yield
    except BaseException:
        with suppress(OSError):
            if there:
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
    global _later
    before, _later = _later, set()
    try:
        yield
    finally:
        folders, _later = _later, before
        for folder in folders or ():
            sync_folder(folder)


_later: set[Path] | None = None


def sync_folder(folder: Path) -> None:
    """Make renames and deletions in `folder` durable if the file system can. Never raises."""
    if _later is not None:
        _later.add(folder)
        return
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
    """Return a file's content, up to a limit above any state file's; None if it is no readable file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(_COMPARED_LIMIT_BYTES)
    finally:
        os.close(descriptor)


def _temporary_name(target: Path) -> Path:
    return target.with_name(f"{_prefix(target)}{os.getpid()}.{os.urandom(_UNIQUE_BYTES).hex()}.tmp")


@contextmanager
def _temporary(target: Path, data: bytes, mode: int, *, durable: bool = True) -> Iterator[Path]:
    """Yield a finished file beside `target`, synced if `durable`, with its mode and owner; if left, it is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    before = _stat(target)
    wanted = stat.S_IMODE(before.st_mode) if before else mode
    temporary = _temporary_name(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, wanted & 0o777)
    try:
        try:
            _fill(descriptor, data)
            if before:
                _adopt(descriptor, before)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink()


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
    """Return the prefix of a target's temporary files; long names are cut to stay within the system's 255 bytes."""
    return f".{os.fsdecode(os.fsencode(target.name)[:180])}."


def abandoned(folder: Path, prefix: str = ".", most: int | None = None) -> list[Path]:
    """Return the temporary files with a prefix that killed writers left in a folder, among `most` files or all."""
    with suppress(OSError), os.scandir(folder) as entries:
        named = [each for each in islice(entries, most) if each.name.startswith(prefix) and each.name.endswith(".tmp")]
        return sorted(Path(each.path) for each in named if _is_abandoned(each))
    return []


def is_temporary(name: str) -> bool:
    """Return whether a file has the name of a temporary file (`_temporary_name`)."""
    first, process, unique, last = ["", "", "", *name.rsplit(".", 3)][-4:]
    return first[:1] == "." and process.isdecimal() and len(unique) == _UNIQUE_BYTES * 2 and last == "tmp"


def _sweep(target: Path) -> None:
    """Delete temporary files that killed writers of this target left behind; `holdfast doctor` finds all of them."""
    prefix = _prefix(target)
    for path in abandoned(target.parent, prefix, _SWEPT_FILES):
        if path.name[len(prefix) :].count(".") == 2:  # else it belongs to a target with a longer name
            with suppress(OSError):
                path.unlink()


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    """Return whether a file is a temporary file whose writer is gone."""
    if not is_temporary(entry.name):
        return False
    process = entry.name.rsplit(".", 3)[-3]
    with suppress(OSError):
        age = time.time() - entry.stat(follow_symlinks=False).st_mtime
        return age > _ABANDONED_AGE_S or (age > _ORPHAN_AGE_S and not _alive(int(process)))
    return False


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
