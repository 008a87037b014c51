"""An exclusive lock on a folder, so that there is one writer at a time."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from holdfast.errors import StateError, because
from holdfast.paths import ensure_private, state_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LONGEST_PAUSE_S = 0.02  # between two attempts
# Some network mounts lock only files that are open for writing, and a folder may not be readable.
_REFUSED = frozenset({errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EACCES})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
_thread = threading.local()  # `folders`: those whose locks this thread holds
os.register_at_fork(after_in_child=vars(_thread).clear)  # a child holds none


@contextmanager
def locked(folder: Path, *, timeout: float = 10.0) -> Iterator[None]:
    """Hold the only lock on `folder` (created if missing) for the length of the block.

    The lock is on the folder itself, so no lock files litter projects. It ends with the process, however that ends. The
    same thread may take it again inside the block; other threads and processes wait up to `timeout` seconds. Raises
    StateError if the folder stays locked or can't be created.
    """
    folders: set[str] = vars(_thread).setdefault("folders", set())
    name = os.path.realpath(folder)
    if name in folders:
        yield
        return
    owner, descriptor = os.getpid(), _acquire(folder, timeout)
    folders.add(name)
    try:
        yield
    finally:
        folders.discard(name)
        if os.getpid() == owner:  # a child forked inside the block shares the lock, and must not end it
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # nor prolong it
        os.close(descriptor)


def _acquire(folder: Path, timeout: float) -> int:
    """Return the descriptor that holds the lock. Raises StateError."""
    deadline, pause, place = time.monotonic() + timeout, 0.001, folder
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(folder, f"can't be created: {because(error)}") from error
        try:
            descriptor = _attempt(place, _FOLDER if place is folder else _FILE)
        except OSError as error:
            if error.errno not in _REFUSED or place is not folder:
                raise StateError(folder, f"cannot be locked: {error.strerror or error}") from error
            place = _lock_file(folder)
            continue
        if descriptor is not None:
            return descriptor
        if time.monotonic() >= deadline:
            raise StateError(folder, f"locked by another process for {timeout:g} s; try again when it has finished")
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_S)


def _attempt(place: Path, flags: int) -> int | None:
    """Return the descriptor that now holds the lock, None while somebody else holds it. Raises OSError."""
    descriptor = os.open(place, flags | os.O_CLOEXEC, 0o600)
    locked = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = os.path.samestat(os.fstat(descriptor), place.stat())
    except (BlockingIOError, FileNotFoundError):  # a folder may have been removed or renamed meanwhile
        pass
    finally:
        if not locked:
            os.close(descriptor)
    return descriptor if locked else None


def _lock_file(folder: Path) -> Path:
    """Return the lock file for a folder that can't be locked. It is never deleted, or waiters would lock two files."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    try:
        return ensure_private(state_dir() / "locks") / f"{name}.lock"
    except OSError as error:
        raise StateError(folder, f"takes no lock, and {state_dir() / 'locks'} cannot be created: {error}") from error
