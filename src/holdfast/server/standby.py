"""Start the warm server in the background, after an event that was answered without one."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from holdfast import log, paths, relay
from holdfast.server import servers

RETRY_S = 20.0
"""Time before the next attempt, so that a server that can't start costs next to nothing."""

_KEPT = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")


def start(entry: str) -> bool:
    """Start a server for an entrypoint unless it is switched off or was tried just now; never raises.

    A server that finds another one listening ends at once. It inherits nothing of this event: it gets a minimal
    environment, `/` as its working directory, a process session of its own, and no descriptors.

    Args:
        entry: the entrypoint's path, which is a part of the server's address (`relay.address`).

    Returns:
        Whether a server was started.
    """
    try:
        address = relay.address(entry, dict(os.environb))
        if servers.off() or not address or not _first(mark(Path(os.fsdecode(address)))):
            return False
        run([sys.executable, "-IS", entry, "--serve"])
    except Exception as error:  # noqa: BLE001 - the event is answered, and the next one needs no server
        log.write("warning", f"the server didn't start: {type(error).__name__}: {error}")
        return False
    return True


def mark(address: Path) -> Path:
    """Return the file whose modification time says when a server at an address was last started."""
    return address.with_suffix(".tried")


def _first(mark: Path) -> bool:
    """Return whether no process has tried within RETRY_S, and record this attempt."""
    with suppress(OSError):
        if 0 <= time.time() - mark.stat().st_mtime < RETRY_S:
            return False
    try:
        paths.ensure_own(mark.parent).chmod(0o700)
        mark.touch(0o600)
    except OSError:
        return False  # a server couldn't listen there either
    return True


def run(command: list[str]) -> None:
    """Run a server as a detached process.

    Args:
        command: an interpreter or program, and its arguments.

    Raises:
        OSError: this process cannot be forked.
    """
    pid = os.fork()
    if pid == 0:
        try:
            begin(command)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def begin(command: list[str]) -> int:
    """Run a server as a child process and return its id. See `run`."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("XDG_")}
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.chdir("/")
            nowhere = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nowhere, number)
            os.closerange(3, max(1024, os.sysconf("SC_OPEN_MAX")))
            os.execve(command[0], command, {**kept, "PATH": os.defpath})
        finally:
            os._exit(1)
    return pid
