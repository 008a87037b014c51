"""Start, find, query and stop this user's warm servers. The holder of the lock next to a socket is its server."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import config, log, paths
from holdfast.server import protocol

RETRY_S = 20.0
"""Time between two attempts to start a server, so that one that can't start costs almost nothing."""
ANSWER_TIMEOUT_S = 3.0
"""Time for a server to send its status; after that it counts as hanging."""
END_TIMEOUT_S = 2.0
"""Time for a server to end after a signal."""
_FLUSH = (  # events come first; after two minutes, a collector that never ends its answer is left
    "import os, signal, sys; os.nice(5); signal.alarm(120); "
    "sys.argv[1] in sys.path or sys.path.insert(0, sys.argv[1]); "
    "from holdfast.cli import main; main(['telemetry', 'flush'])"
)
_ENVIRONMENT = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")


@dataclass(frozen=True, slots=True)
class Running:
    """A running server; a figure that it doesn't report is 0."""

    address: Path
    pid: int
    answers: bool = False
    started: float = 0.0
    answered: int = 0
    entry: str = ""


def folder() -> Path:
    """Return the folder of the sockets; it may not exist."""
    return paths.state_dir() / "server"


def off() -> str:
    """Return the setting that switches the server off (environment or user configuration), or an empty string."""
    if protocol.off(os.environb):
        return f"HOLDFAST_SERVER={os.environ['HOLDFAST_SERVER']}"
    return "" if config.load(None, trusted=False).config.server else f"server = false in {paths.user_config()}"


def mark(address: Path) -> Path:
    """Return the file whose modification time says when a server at an address was last started."""
    return address.with_suffix(".tried")


def start(entry: str) -> None:
    """Start a server in the background after a cold event, unless one was tried just now; never raises."""
    try:
        name = protocol.address(entry, dict(os.environb))
        if not name or off():
            return
        tried = mark(Path(os.fsdecode(name)))
        with suppress(OSError):
            if 0 <= time.time() - tried.stat().st_mtime < RETRY_S:
                return
        paths.ensure_own(tried.parent).chmod(0o700)
        tried.touch(0o600)
        begin([sys.executable, "-ISXutf8", entry, "--serve"])
    except Exception as error:  # noqa: BLE001 - the event is answered, and the next one needs no server
        log.write("warning", f"the server didn't start: {type(error).__name__}: {error}")


def begin(command: list[str]) -> None:
    """Run a server with a minimal environment, a session of its own and no descriptors. Raises OSError."""
    environ = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT or name.startswith("XDG_")}
    environ["PATH"] = os.defpath
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        command, stdin=nowhere, stdout=nowhere, stderr=nowhere, cwd="/", env=environ, start_new_session=True
    )
    process.returncode = 0  # nobody waits for it here


def begin_flush() -> None:
    """Start `holdfast telemetry flush`; it ends at once if another one runs. An error is logged."""
    try:
        begin([sys.executable, "-I", "-c", _FLUSH, str(paths.package_root())])
    except OSError as error:
        log.write("warning", f"telemetry couldn't be sent: {error}")


def flush_at_end() -> None:
    """Start a flush at the end of a session, unless a running server does that itself."""
    if not any(holder(address) for address in addresses()):
        begin_flush()


def claim(address: Path) -> tuple[socket.socket, int] | None:
    """Listen at an address until this process ends; end a server there that hangs.

    Returns:
        The listening socket and the lock's descriptor; None if another server answers there.

    Raises:
        OSError: the address can't be listened on.
    """
    paths.ensure_own(folder()).chmod(0o700)
    lock = os.open(address.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    if not _locked(lock) and (ask(address) or not stop(address) or not _locked(lock)):
        os.close(lock)
        return None
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = address.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    listener.bind(str(fresh))
    fresh.chmod(0o600)
    listener.listen(1024)
    listener.setblocking(False)
    fresh.rename(address)  # replaces the socket of a server that died
    return listener, lock


def _locked(lock: int) -> bool:
    for _ in range(20):  # `holder` holds it for a moment
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.01)
    return False


def addresses() -> list[Path]:
    """Return the socket paths of this user's servers that run or have run."""
    with suppress(OSError):
        return [lock.with_suffix("") for lock in sorted(folder().glob("*.lock"))]
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
        pid = os.read(descriptor, 32).strip()
        return int(pid) if pid.isdigit() else -1
    finally:
        os.close(descriptor)
    return 0


def running_servers() -> list[Running]:
    """Return this user's running servers, including those that don't answer."""
    return [_look(address) for address in addresses() if holder(address)]


def _look(address: Path) -> Running:
    status = ask(address)
    pid = max(holder(address), 0)
    if status is None:
        return Running(address, pid)
    known = {name: status[name] for name in ("started", "answered", "entry") if name in status}
    return Running(address, pid, answers=True, **known)


def ask(address: Path, patience: float = ANSWER_TIMEOUT_S) -> dict[str, Any] | None:
    """Return the status of the server at an address, or None if it doesn't answer within `patience` seconds."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, suppress(OSError, ValueError):
        connection.settimeout(patience)
        connection.connect(str(address))
        if not protocol.ours(connection):
            return None
        connection.sendall(protocol.status_request())
        data = b""
        while part := connection.recv(4096):
            data += part
        answer = json.loads(data)
        return answer if isinstance(answer, dict) else None
    return None


def stop(address: Path) -> bool:
    """Stop the server at an address, with SIGKILL if it ignores SIGTERM. Events in progress still finish.

    Returns whether one was running and has ended.
    """
    pid = holder(address)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if pid <= 0 or holder(address) != pid:
            break
        with suppress(OSError):  # it has ended, or is another user's
            os.kill(pid, number)
        until = time.monotonic() + END_TIMEOUT_S
        while holder(address) == pid and time.monotonic() < until:
            time.sleep(0.01)
    ended = pid > 0 and holder(address) != pid
    if ended and not holder(address):
        for each in (address, mark(address)):
            each.unlink(missing_ok=True)
    return ended


def stop_of(*entries: Path) -> list[Path]:
    """Stop the servers of entrypoints that change, and those that don't answer. Return their sockets' paths."""
    own = [os.path.realpath(entry) for entry in entries]
    running = running_servers()
    wanted = [each.address for each in running if not each.answers or os.path.realpath(each.entry) in own]
    ended = [address for address in wanted if stop(address)]
    with suppress(OSError):
        for each in folder().iterdir():
            if not holder(each.with_suffix("")):
                each.unlink()
        folder().rmdir()
    return ended
