"""The warm server: everything is loaded already, and each event gets a forked child that answers it alone.

It never reads what comes over a connection: the child does. So nothing of one event is there at the next, and a child
that crashes or hangs costs only its own event. The protocol is in `relay` and `serving`.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import select
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import engine, loader, log, paths, relay, servers, serving, standby
from holdfast.changes import Changes
from holdfast.warming import warm_up

if TYPE_CHECKING:
    from types import FrameType

IDLE = 900.0
"""Seconds without an event after which the server ends."""
BEAT = 0.3
"""Seconds after which who waits for a turn is told so again."""
MOST = max(8, 2 * (os.cpu_count() or 1))
"""Events that are answered at a time; the others wait for their turn."""
GRACE = 1.0
"""Seconds a child has to obey once nobody waits for its answer any more."""
LOADS = 0.03
"""Seconds after its start at which a process has read nothing of ours yet; its age is known to a hundredth only."""
DESCRIPTORS = 64
"""Open files a process must be allowed, or no server is started."""
SPARES = 2
"""Children that are forked ahead: one tool call's end and the next one's beginning are moments apart."""
QUIET = 0.02
"""Seconds without anything new after which another one is: it must not take the processor from an event."""
AGAIN = 1.0
"""Seconds without another try after a child could not be forked ahead, or died before its event; twice as many each
time that it happens again."""
_BACKLOG = 1024
_GONE = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)


def main(argument: str | None, entry: str) -> int:
    """Be the server of an entrypoint until nobody needs it any more.

    Args:
        argument: what the entrypoint was started with.
        entry: the entrypoint's path.

    Returns:
        The exit code: 1 where no server can be.
    """
    address = relay.address(entry, dict(os.environb))
    if not address:
        return 1
    place = Path(os.fsdecode(address))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < DESCRIPTORS:
        # A child that has none left when it is handed an event loses it; who finds no server answers for itself.
        log.write(
            "warning", f"no server was started: a process may open fewer than {DESCRIPTORS} files here (ulimit -n)"
        )
        return 1
    started = time.time() - engine.age() + LOADS
    try:
        warm_up()
        changes = Changes(entry)
        if not Path(entry).exists():
            return 1  # uninstalled while this was loaded
        if changed := changes.since(started):
            log.write("info", f"no server was started: {changed} changed while it was loaded")
            standby.mark(place).unlink(missing_ok=True)
            return 1
        claimed = claim(place)
    except OSError as error:
        log.write("warning", f"no server was started: {error}")
        return 1
    if claimed is None:
        return 0  # another one listens there
    return Server(place, entry, *claimed, changes).run()


def claim(place: Path) -> tuple[socket.socket, int] | None:
    """Listen at a place that only its owner can reach, until this process ends.

    A server that listens there and hangs is ended.

    Args:
        place: the socket's path.

    Returns:
        A listening socket and the lock that says so as long as it is open, or None where another server listens.

    Raises:
        OSError: nobody can listen there.
    """
    paths.ensure_private(servers.folder()).chmod(0o700)
    lock = os.open(place.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    if not _locked(lock):
        lives = _lives(place)
        if not lives:
            servers.stop(place)
        if lives or not _locked(lock):
            os.close(lock)
            return None
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = place.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    listener.bind(str(fresh))
    fresh.chmod(0o600)
    listener.listen(_BACKLOG)
    listener.setblocking(False)
    fresh.rename(place)  # in the place of one whose server died
    return listener, lock


def _locked(lock: int) -> bool:
    """Take the lock; who only looks whether somebody has it (`servers.holder`) is in the way for a moment."""
    for _ in range(20):
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.01)
    return False


def _lives(place: Path) -> bool:
    """Tell whether the server at a place says something; one that has just begun to listen is given time."""
    until = time.monotonic() + servers.PATIENCE
    while servers.holder(place):
        left = until - time.monotonic()
        if left <= 0:
            return False
        if servers.ask(place, left):
            return True
        time.sleep(0.05)
    return False


@dataclass
class Child:
    """A forked child.

    Attributes:
        control: the server's end of the way to it.
        connection: who waits for its answer; None before and after.
        ends_at: when it is ended if it does not obey; 0 while it need not.
    """

    control: socket.socket
    connection: socket.socket | None = None
    ends_at: float = 0.0

    def close(self) -> None:
        """Close what is open to and for it."""
        self.control.close()
        self.forget()

    def forget(self) -> None:
        """Nobody waits for it any more."""
        if self.connection:
            self.connection.close()
            self.connection = None


@dataclass
class Server:
    """The loop: it accepts, hands over to a child, buries it, and ends one that nobody waits for.

    Attributes:
        place: the socket's path.
        entry: the entrypoint's path.
        listener: the socket.
        lock: what says that this process listens there; its children must not hold it.
        changes: to what it has loaded.
        answered: events that were answered so far.
    """

    place: Path
    entry: str
    listener: socket.socket
    lock: int
    changes: Changes
    answered: int = 0
    _started: float = field(default_factory=time.time)
    _waiting: list[socket.socket] = field(default_factory=list)
    _children: dict[int, Child] = field(default_factory=dict)
    _spares: list[int] = field(default_factory=list)
    _tries_at: float = 0.0
    _failed: int = 0
    _waking: tuple[int, ...] = ()
    _ended: bool = False
    _beaten: float = 0.0

    def run(self) -> int:
        """Serve until idle, changed or told to end; return the exit code."""
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, self._end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        waking, woken = os.pipe()
        self._waking = (waking, woken)
        for end in self._waking:
            os.set_blocking(end, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        last = time.monotonic()
        try:
            while not self._ended:
                ready = self._poll(waking, last)
                if waking in ready:
                    with suppress(BlockingIOError):
                        os.read(waking, 4096)
                self._hear(ready)
                self._let_go(ready)
                self._bury()  # from here on a connection's number in `ready` may be another one's
                if self.listener.fileno() in ready:
                    self._accept()
                if self.changes.fileno() in ready:
                    self._changed()
                if self._turns() and not self._ended:
                    self._hand_over()  # one at a time: who has just come must hear of us before the next fork
                self._beat()
                if self._lacks() and not self._waiting and not ready:
                    self._stock_up()
                if self._waiting or self._busy():
                    last = time.monotonic()
                elif time.monotonic() - last > IDLE:
                    break
        finally:
            self.close()
        return 0

    def close(self) -> None:
        """Listen no more; what is being answered goes on."""
        with suppress(OSError):
            self.place.unlink()
        self.listener.close()
        for connection in self._waiting:
            connection.close()

    def _poll(self, waking: int, last: float) -> dict[int, int]:
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        for descriptor in (waking, self.changes.fileno()):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        for child in self._busy():
            poll.register(child.control, select.POLLIN)
            if child.connection:
                poll.register(child.connection, _GONE)
        for connection in self._waiting:
            poll.register(connection, _GONE)
        return dict(poll.poll(self._patience(last)))

    def _patience(self, last: float) -> int:
        """Return the milliseconds until something is due."""
        if self._turns():
            return 0
        now = time.monotonic()
        ends = [child.ends_at for child in self._children.values() if child.ends_at]
        if self._waiting:
            ends.append(self._beaten + BEAT)
        if len(self._spares) < SPARES:
            ends.append(max(now + QUIET, self._tries_at))
        if not self._waiting and not self._busy():
            ends.append(last + IDLE + 0.1)
        return int(max(min(ends) - now, 0.0) * 1000) + 1 if ends else -1

    def _lacks(self) -> bool:
        return len(self._spares) < SPARES and time.monotonic() >= self._tries_at

    def _stock_up(self) -> None:
        pid = self._fork()
        if pid:
            self._spares.append(pid)
        else:
            self._pause()

    def _pause(self) -> None:
        self._tries_at = time.monotonic() + AGAIN * 2**self._failed
        self._failed = min(self._failed + 1, 6)

    def _turns(self) -> bool:
        """Tell whether somebody waits whose turn it is."""
        return bool(self._waiting) and len(self._busy()) < MOST

    def _busy(self) -> list[Child]:
        return [child for pid, child in self._children.items() if pid not in self._spares]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:  # no descriptors left: those who wait go cold
                log.write("warning", f"the server cannot take an event: {error}")
                self._ended = True
                return
            try:
                connection.setblocking(False)
                if relay.ours(connection):
                    connection.send(relay.ALIVE)
                    self._waiting.append(connection)
                    continue
            except OSError:
                pass
            connection.close()

    def _hand_over(self) -> None:
        connection = self._waiting.pop(0)
        taken = time.monotonic()
        if self._changed():
            connection.close()
            return
        pid = self._spares.pop(0) if self._spares else self._fork(early=False)
        child = self._children.get(pid)
        if child is None:
            connection.close()
            return
        child.connection = connection
        try:
            socket.send_fds(child.control, [self._status(taken)], [connection.fileno()])
        except OSError:
            child.forget()  # the child is dead: who asks goes cold

    def _changed(self) -> bool:
        """End where what was loaded is another by now; tell whether it is."""
        changed = self.changes.found()
        if changed:
            log.write("info", f"the server ends: {changed} has changed since it was started")
            with suppress(OSError):
                standby.mark(self.place).unlink()
            self._ended = True
        return bool(changed)

    def _status(self, taken: float) -> bytes:
        said = {
            "pid": os.getpid(),
            "started": round(self._started),
            "entry": self.entry,
            "answered": self.answered,
            "answering": len(self._busy()) - 1,
            "waiting": len(self._waiting),
            "taken": taken,
        }
        return json.dumps(said).encode()

    def _fork(self, *, early: bool = True) -> int:
        """Fork a child for a connection that is there, or ahead of it; return its process id, 0 where none can be."""
        try:
            loader.preload()
            ours, its = socket.socketpair()
            pid = os.fork()
        except OSError as error:
            log.write("warning", f"the server cannot fork: {error}")
            return 0
        if pid == 0:
            try:
                self._become_child(ours)
                serving.wait(its, early=early)
            finally:
                os._exit(0)
        its.close()
        self._children[pid] = Child(ours)
        return pid

    def _become_child(self, control: socket.socket) -> None:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        control.close()
        for descriptor in self._waking:
            os.close(descriptor)
        os.close(self.lock)  # a child that outlives the server would be taken for it, and its number for the server's
        self.changes.close()
        self.listener.close()
        for connection in self._waiting:
            connection.close()
        for child in self._children.values():
            child.close()

    def _hear(self, ready: dict[int, int]) -> None:
        """Forget who has got an answer: its going away is nothing to end a child for."""
        for child in self._busy():
            if child.control.fileno() in ready:
                with suppress(OSError):
                    if child.control.recv(16, socket.MSG_DONTWAIT) == serving.ANSWERED:
                        self.answered += 1
                        self._failed = 0
                        child.forget()

    def _bury(self) -> None:
        while self._children:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid in self._spares:
                self._spares.remove(pid)
                self._pause()
            child = self._children.pop(pid, None)
            if child:
                child.close()

    def _let_go(self, ready: dict[int, int]) -> None:
        """Drop who waits and has gone; end the child of who has gone."""
        now = time.monotonic()
        for connection in [each for each in self._waiting if ready.get(each.fileno(), 0) & _GONE]:
            self._waiting.remove(connection)
            connection.close()
        for pid, child in self._children.items():
            if child.connection and not child.ends_at and ready.get(child.connection.fileno(), 0) & _GONE:
                child.ends_at = now + GRACE
                _kill(pid, signal.SIGTERM)
            elif child.ends_at and now >= child.ends_at:
                child.ends_at = now + GRACE
                _kill(pid, signal.SIGKILL)

    def _beat(self) -> None:
        if not self._waiting or time.monotonic() - self._beaten < BEAT:
            return
        self._beaten = time.monotonic()
        for connection in self._waiting:
            with suppress(OSError):
                connection.send(relay.WAIT)

    def _end(self, signum: int, frame: FrameType | None) -> None:
        self._ended = True


def _kill(pid: int, number: int) -> None:
    for kill in (os.killpg, os.kill):
        with suppress(OSError):
            kill(pid, number)
            return
