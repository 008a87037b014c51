"""Find this user's warm servers, ask for their status and stop them."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import config, paths, relay

if TYPE_CHECKING:
    from collections.abc import Iterable

ANSWER_TIMEOUT_S = 3.0
"""Time for a server to send its status; after that it counts as hanging."""
END_TIMEOUT_S = 2.0
"""Time for a server to end after a signal."""


@dataclass(frozen=True, slots=True)
class Running:
    """A running server.

    Attributes:
        address: its socket's path.
        pid: its process id; 0 if unknown.
        answers: whether it sent its status.
        started: when it was started, in seconds since 1970 (UTC).
        answered: how many events it has answered.
        answering: how many events it is answering now.
        waiting: how many events wait for their turn.
        entry: the entrypoint it serves.
        memory: bytes of memory (Linux: PSS) of it and its children; 0 if unknown.
    """

    address: Path
    pid: int
    answers: bool = False
    started: float = 0.0
    answered: int = 0
    answering: int = 0
    waiting: int = 0
    entry: str = ""
    memory: int = 0


def folder() -> Path:
    """Return the folder of the sockets; it may not exist."""
    return paths.state_dir() / "server"


def off() -> str:
    """Return what switches the server off (the environment or the user's configuration), or an empty string."""
    if relay.off(os.environb):
        return f"HOLDFAST_SERVER={os.environ['HOLDFAST_SERVER']}"
    if not config.load(None, trusted=False).config.server:
        return f"server = false in {paths.user_config()}"
    return ""


def running_servers() -> list[Running]:
    """Return this user's running servers, including those that don't answer."""
    with suppress(OSError):
        return [_look(address) for address in addresses() if holder(address)]
    return []


def addresses(where: Path | None = None) -> list[Path]:
    """Return the socket paths of servers that run or have run, in a folder (by default this user's)."""
    with suppress(OSError):
        return [lock.with_suffix("") for lock in sorted((where or folder()).glob("*.lock"))]
    return []


def holder(address: Path) -> int:
    """Return the process id of the server at an address; 0 if none runs, -1 if the id is unknown."""
    try:
        descriptor = os.open(address.with_suffix(".lock"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        said = os.read(descriptor, 32).strip()
        return int(said) if said.isdigit() else -1
    finally:
        os.close(descriptor)
    return 0


def family(pid: int) -> list[int]:
    """Return the ids of a process and all its descendants (Linux: proc(5)); elsewhere only the process."""
    found = [pid]
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text("ascii").split():
                found += family(int(child))
    return found


def memory(pids: Iterable[int]) -> int:
    """Return the memory of processes in bytes, with shared memory counted once (Linux: PSS)."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


def ask(address: Path, patience: float = ANSWER_TIMEOUT_S) -> dict[str, Any] | None:
    """Return the status of the server at an address, or None if it doesn't answer within `patience` seconds."""
    request = b"status\0\0/\0" + b"0"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, suppress(OSError, ValueError):
        connection.settimeout(patience)
        connection.connect(str(address))
        if not relay.ours(connection):
            return None
        connection.sendall(b"%8d" % len(request) + request)
        said = b""
        while part := connection.recv(4096):
            said += part
        answer = json.loads(said.lstrip(relay.ALIVE + relay.WAIT))
        return answer if isinstance(answer, dict) else None
    return None


def stop(address: Path) -> bool:
    """Stop the server at an address, with SIGKILL if it ignores SIGTERM; events that are being answered go on.

    Returns:
        Whether a server was running and has ended.

    Raises:
        OSError: the process belongs to another user.
    """
    pid = holder(address)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if pid <= 0 or holder(address) != pid:
            break
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        until = time.monotonic() + END_TIMEOUT_S
        while holder(address) == pid and time.monotonic() < until:
            time.sleep(0.01)
    ended = pid > 0 and holder(address) != pid
    if ended and not holder(address):
        for each in (address, address.with_suffix(".tried")):
            each.unlink(missing_ok=True)
    return ended


def stop_of(entry: Path) -> list[Path]:
    """Stop the servers of an entrypoint that is being removed; other entrypoints' servers go on.

    Servers that don't answer are stopped too: nobody knows whose they are, and they serve nobody. The files of servers
    that don't run are removed.

    Args:
        entry: the entrypoint's path.

    Returns:
        The socket paths of the servers that were stopped.
    """
    own = os.path.realpath(entry)
    wanted = [each.address for each in running_servers() if not each.answers or os.path.realpath(each.entry) == own]
    ended = [address for address in wanted if _ended(address)]
    with suppress(OSError):
        for each in folder().iterdir():
            if not holder(each.with_suffix("")):
                each.unlink()
        folder().rmdir()
    return ended


def _ended(address: Path) -> bool:
    with suppress(OSError):
        return stop(address)
    return False


def _look(address: Path) -> Running:
    said = ask(address)
    if said is None:
        return Running(address, max(holder(address), 0))
    known = {name: said[name] for name in ("started", "answered", "answering", "waiting", "entry") if name in said}
    pid = said.get("pid") or max(holder(address), 0)  # a server of another version may omit fields
    return Running(address, pid, answers=True, memory=memory(family(pid)), **known)
