"""Answer a firing once, even if both the plugin and the settings have registered its event."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from holdfast import log, paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from holdfast.dispatch.client import Client

APART_S = 60.0  # two copies get one firing within this time
WAIT_LIMIT_S = 20.0  # how long to wait for the other copy's answer, which may take no longer itself
_PAUSE_S = 0.005  # between two attempts to take the lock
SETTINGS = "settings"
_held: set[int] = set()


def _close_in_child() -> None:
    """Close the locks in a forked process, which may outlive this one and would keep the other copy waiting."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)


def source(client: Client, environ: Mapping[str, str], program: str | None = None) -> str:
    """Return which registration started this process: the plugin's folder, or `settings`.

    The plugin's environment variable alone doesn't tell, because a client that a plugin's hook starts passes it on to
    its own hooks.
    """
    root = environ.get(client.PLUGIN_VARIABLE)
    if root:
        real = os.path.realpath(root)
        if os.path.realpath(sys.argv[0] if program is None else program) == f"{real}/hooks/dispatch.py":
            return real
    return SETTINGS


def expect() -> None:
    """Make both copies look for each other from now on; a plugin's copy calls this before its first event."""
    with suppress(OSError):
        paths.ensure_private(folder())


@contextmanager
def once(client: Client, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[bool]:
    """Yield whether this process is to answer `payload`, and keep the other copy waiting until it has.

    The client gives both copies the same payload. The first one answers. The second waits, finds that another
    registration answered this payload within the last minute, removes that mark and stays silent, so that nothing is
    moved, told or counted twice. If the first one died before it had answered, the second one answers. The same payload
    from the same registration is a new firing. If all this can't be determined, this process answers: twice is better
    than never.

    Raises:
        TimeoutError: the other copy is still answering, and may yet fail.
    """
    own = source(client, environ)
    if own == SETTINGS and not folder().is_dir():
        yield True  # no plugin's copy has ever run here
        return
    if own != SETTINGS:
        expect()
    try:
        descriptor = _hold(folder() / _name(payload))
    except TimeoutError:
        raise
    except OSError as error:
        log.write("warning", f"can't tell whether another copy answers: {error}")
        yield True
        return
    try:
        marks = _marks(descriptor)
        other = next((mark for mark in marks if mark[1] != own), None)
        yield other is None
        if other is None:
            marks.append((time.time(), own))
        else:
            marks.remove(other)
        _keep(descriptor, marks)
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process that a handler started may still hold the descriptor
        _held.discard(descriptor)
        os.close(descriptor)
    if payload.get(client.EVENT_KEY) == client.START_EVENT:
        sweep()


def folder() -> Path:
    """Return the folder with the firings that a plugin's copy has seen; there is none if none ever ran."""
    return paths.state_dir() / "firings"


def _name(payload: Mapping[str, Any]) -> str:
    import hashlib
    import json

    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()[:32]


def _hold(file: Path) -> int:
    """Open and lock the file of a firing. Raises OSError, TimeoutError if another process holds it too long."""
    deadline = time.monotonic() + WAIT_LIMIT_S
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                _held.add(descriptor)
                return descriptor
        except BlockingIOError:
            pass
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() >= deadline:
            raise TimeoutError("the other copy of Holdfast is still answering")
        time.sleep(_PAUSE_S)


def _marks(descriptor: int) -> list[tuple[float, str]]:
    """Return time and registration of each answer to this payload that has no counterpart yet, oldest first."""
    marks = []
    for line in os.pread(descriptor, 1 << 16, 0).decode("utf-8", "surrogateescape").splitlines():
        stamp, _, by = line.partition(" ")
        with suppress(ValueError):
            if 0 <= time.time() - float(stamp) < APART_S:
                marks.append((float(stamp), by))
    return marks


def _keep(descriptor: int, marks: list[tuple[float, str]]) -> None:
    text = "".join(f"{stamp!r} {by}\n" for stamp, by in marks)
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode("utf-8", "surrogateescape"), 0)


def sweep(age: float = 2 * APART_S) -> None:
    """Remove the files of firings older than `age` seconds, because no second copy will come for them."""
    with suppress(OSError):
        for file in folder().iterdir():
            if time.time() - file.lstat().st_mtime > age:
                file.unlink()
