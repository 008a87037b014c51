"""Which warm servers of this user run, what they say of themselves, and how one is ended."""

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
"""Seconds a server has to say something of itself; one that does not hangs."""
END_TIMEOUT_S = 2.0
"""Seconds it has to end by itself."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs.

    Attributes:
        address: its socket's path.
        pid: its process id; 0 where it does not say.
        answers: whether it said something of itself.
        started: when it was started, in seconds since 1970 (UTC).
        answered: how many events it has answered.
        answering: how many are being answered.
        waiting: how many wait for their turn.
        entry: the entrypoint that asks it.
        memory: bytes of memory that are its own and its children's share (Linux: PSS); 0 where that is not told.
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
    """Return where the sockets lie; it need not exist."""
    return paths.state_dir() / "server"


def off() -> str:
    """Return what switches the server off here, or nothing: the environment, or the user's configuration."""
    if relay.off(os.environb):
        return f"HOLDFAST_SERVER={os.environ['HOLDFAST_SERVER']}"
    if not config.load(None, trusted=False).config.server:
        return f"server = false in {paths.user_config()}"
    return ""


def found() -> list[Running]:
    """Return the servers of this user that run, those that do not answer too."""
    with suppress(OSError):
        return [_look(address) for address in addresses() if holder(address)]
    return []


def addresses(where: Path | None = None) -> list[Path]:
    """Return the sockets' paths of servers that run or have run, in a folder or else in this user's."""
    with suppress(OSError):
        return [lock.with_suffix("") for lock in sorted((where or folder()).glob("*.lock"))]
    return []


def holder(address: Path) -> int:
    """Return the process id of the server at an address; 0 where none runs, -1 if it is not told."""
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
    """Return a process and all that it has forked, and theirs (Linux: proc(5)); elsewhere the process alone."""
    found = [pid]
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text("ascii").split():
                found += family(int(child))
    return found


def memory(pids: Iterable[int]) -> int:
    """Return the bytes of memory that are processes' share, what they have in common counted once (Linux: PSS)."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


def ask(address: Path, patience: float = ANSWER_TIMEOUT_S) -> dict[str, Any] | None:
    """Return what the server at an address says of itself, None where it says nothing in time (seconds)."""
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
    """End the server at an address, by force if it does not obey; what is being answered goes on.

    Returns:
        Whether there was one that has ended.

    Raises:
        OSError: it is not ours to end.
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
    """End what an entrypoint that goes away would leave behind; the server of another one goes on.

    Those that do not answer are ended too: whose they are is not known, and they serve nobody.

    Args:
        entry: the entrypoint.

    Returns:
        Where those that were ended had listened. Nothing lies there any more, nor of servers that ended before.
    """
    own = os.path.realpath(entry)
    wanted = [each.address for each in found() if not each.answers or os.path.realpath(each.entry) == own]
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
    pid = said.get("pid") or max(holder(address), 0)  # a server of another version may say less
    return Running(address, pid, answers=True, memory=memory(family(pid)), **known)
