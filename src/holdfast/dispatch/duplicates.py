"""Answering a firing once where both a plugin's copy and the settings have registered it."""

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

APART_S = 60.0  # seconds within which two copies hear of one firing
WAIT_LIMIT_S = 20.0  # seconds to wait for the other copy's answer; it has no more for one itself
_PAUSE_S = 0.005  # seconds between two looks
SETTINGS = "settings"
_held: set[int] = set()


def _close_in_child() -> None:
    """Hand no lock on to a handler's process: it may live on when this one is killed, and the other copy waits."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)


def source(client: Client, environ: Mapping[str, str], program: str | None = None) -> str:
    """Return which registration started this process: the plugin's folder, or `settings`.

    The variable alone does not tell: a client started by a plugin's hook hands it on to hooks of its own.
    """
    root = environ.get(client.PLUGIN_VARIABLE)
    if root:
        real = os.path.realpath(root)
        if os.path.realpath(sys.argv[0] if program is None else program) == f"{real}/hooks/dispatch.py":
            return real
    return SETTINGS


def expect() -> None:
    """From now on have both copies look for each other; a plugin's copy says so before its first event."""
    with suppress(OSError):
        paths.ensure_private(_folder())


@contextmanager
def once(client: Client, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[bool]:
    """Give whether this process is the one to answer `payload`, and keep the other copy waiting until it has.

    The client hands the very same payload to both. Whichever comes first answers; the other waits, finds that it was
    answered within the last minute by another than itself, pairs off and stays silent, so that nothing is moved, told
    or counted twice. If the first one died of its answer, the second one gives it. The same payload from the same
    registration is a new firing. Where this cannot be found out the answer is given: better twice than never.

    Raises:
        TimeoutError: the other copy is still at it; nobody knows whether it will answer.
    """
    own = source(client, environ)
    if own == SETTINGS and not _folder().is_dir():
        yield True  # no plugin's copy was ever here
        return
    if own != SETTINGS:
        expect()
    try:
        descriptor = _hold(_folder() / _name(payload))
    except TimeoutError:
        raise
    except OSError as error:
        log.write("warning", f"whether another copy answers cannot be told: {error}")
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
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # whatever a handler started may still have it open
        _held.discard(descriptor)
        os.close(descriptor)
    if payload.get(client.EVENT_KEY) == client.START_EVENT:
        sweep()


def _folder() -> Path:
    return paths.state_dir() / "firings"


def _name(payload: Mapping[str, Any]) -> str:
    import hashlib
    import json

    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()[:32]


def _hold(file: Path) -> int:
    """Open and lock the file of a firing. Raises TimeoutError while another keeps it, OSError."""
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
    """Return when and by whom this firing was answered and not yet paired off, oldest first."""
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
    """Remove the files of firings that nobody will pair off any more: those older than some seconds."""
    with suppress(OSError):
        for file in _folder().iterdir():
            if time.time() - file.lstat().st_mtime > age:
                file.unlink()
