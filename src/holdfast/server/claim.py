"""Become the server at an address: the process that holds the lock beside the socket is the server."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.server import servers

if TYPE_CHECKING:
    from pathlib import Path

_BACKLOG = 1024


def claim(address: Path) -> tuple[socket.socket, int] | None:
    """Listen at an address that only its owner can reach, until this process ends.

    A server that listens there but hangs is ended first.

    Args:
        address: the socket's path.

    Returns:
        The listening socket and the lock's descriptor, which must stay open; None if another server listens there.

    Raises:
        OSError: it is not possible to listen there.
    """
    paths.ensure_own(servers.folder()).chmod(0o700)
    lock = os.open(address.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    if not _locked(lock):
        lives = _lives(address)
        if not lives:
            servers.stop(address)
        if lives or not _locked(lock):
            os.close(lock)
            return None
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    return _listen(address), lock


def _listen(address: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = address.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    listener.bind(str(fresh))
    fresh.chmod(0o600)
    listener.listen(_BACKLOG)
    listener.setblocking(False)
    fresh.rename(address)  # replaces the socket of a server that died
    return listener


def _locked(lock: int) -> bool:
    """Take the lock. Retry, because a process that only tests the lock (`servers.holder`) holds it for a moment."""
    for _ in range(20):
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.01)
    return False


def _lives(address: Path) -> bool:
    """Return whether the server at an address answers; it gets ANSWER_TIMEOUT_S, since it may have just started."""
    until = time.monotonic() + servers.ANSWER_TIMEOUT_S
    while servers.holder(address):
        left = until - time.monotonic()
        if left <= 0:
            return False
        if servers.ask(address, left):
            return True
        time.sleep(0.05)
    return False
