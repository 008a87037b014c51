"""The warm server's loop: it accepts connections and hands each event to a forked worker.

The worker reads from the connection and calls handlers. So no event leaves traces for the next one, and a worker that
crashes or hangs costs only its own event. Only an event that no handler matches, as far as an earlier one shows, is
answered here (`held`). The protocol is in `relay` and `turn`.
"""

from __future__ import annotations

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
from typing import TYPE_CHECKING, NamedTuple

from holdfast import engine, log, relay
from holdfast.server import held, pool, standby, turn
from holdfast.server.changes import Changes
from holdfast.server.claim import claim
from holdfast.server.held import Held, Silences
from holdfast.server.pool import Workers
from holdfast.server.rehearsal import warm_up

if TYPE_CHECKING:
    from types import FrameType

IDLE_TIMEOUT_S = 900.0
"""Time without an event after which the server ends."""
BEAT_S = 0.3
"""How often a caller that waits for its turn gets `relay.WAIT`."""
LOAD_TIME_S = 0.03
"""Within this time after its start a process can't have read any of Holdfast's files.

It covers the error of `engine.age`, which is exact to a hundredth of a second.
"""
DESCRIPTORS = 64
"""How many open files a process must be allowed to have; with fewer, no server is started."""
_PROJECT = f"{engine.CLIENT.ROOT_VARIABLE}=".encode()
_ENVIRON_LIMIT_BYTES = 8 << 20  # more than the kernel allows


def main(argument: str | None, entry: str) -> int:
    """Run the server of an entrypoint until nobody needs it any more.

    Args:
        argument: the entrypoint's argument, `--serve`.
        entry: the entrypoint's path.

    Returns:
        The exit code: 1 if no server can run here.
    """
    name = relay.address(entry, dict(os.environb))
    if not name:
        return 1
    address = Path(os.fsdecode(name))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < DESCRIPTORS:
        # A worker without a free descriptor would lose its event; without a server, each event answers for itself.
        log.write(
            "warning", f"the server didn't start: a process may open fewer than {DESCRIPTORS} files here (ulimit -n)"
        )
        return 1
    started = time.time() - engine.age() + LOAD_TIME_S
    try:
        warm_up()
        changes = Changes(entry)
        if not Path(entry).exists():
            return 1  # uninstalled while this process was loading
        if changed := changes.since(started):
            log.write("info", f"the server didn't start: {changed} changed while it was loading")
            standby.mark(address).unlink(missing_ok=True)
            return 1
        claimed = claim(address)
    except OSError as error:
        log.write("warning", f"the server didn't start: {error}")
        return 1
    if claimed is None:
        return 0  # another server listens there
    return Server(address, entry, *claimed, changes).run()


class Caller(NamedTuple):
    """A process that waits for its turn: when it was accepted, and its project (empty if unknown)."""

    accepted: float
    project: bytes


@dataclass
class Server:
    """The loop, which accepts connections and hands each to a worker when it is its turn.

    Attributes:
        address: the socket's path.
        entry: the entrypoint's path.
        listener: the listening socket.
        lock: descriptor of the lock that marks this process as the server; its workers must not hold it.
        changes: the files it has loaded.
        answered: how many events were answered so far.
    """

    address: Path
    entry: str
    listener: socket.socket
    lock: int
    changes: Changes
    answered: int = 0
    _started: float = field(default_factory=time.time)
    _waiting: dict[socket.socket, Caller] = field(default_factory=dict)
    _held: list[Held] = field(default_factory=list)
    _silences: Silences = field(default_factory=Silences)
    _workers: Workers = field(init=False)
    _waking: tuple[int, ...] = ()
    _ended: bool = False
    _beaten: float = 0.0

    def __post_init__(self) -> None:
        """Start with no workers."""
        self._workers = Workers(self._shed, self._silences.learn)

    def run(self) -> int:
        """Serve until idle, outdated or told to end. Return the exit code."""
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
                worked = self._at_work()
                self._serve(ready)
                if worked or self._at_work():  # work that has just ended counts too
                    last = time.monotonic()
                elif time.monotonic() - last > IDLE_TIMEOUT_S:
                    break
        finally:
            self.close()
        return 0

    def close(self) -> None:
        """Stop listening; events that are being answered go on."""
        with suppress(OSError):
            self.address.unlink()
        for event in list(self._held):
            self._pass_on(event)
        self.listener.close()
        for connection in self._waiting:
            connection.close()

    def _at_work(self) -> bool:
        return bool(self._waiting or self._held or self._workers.busy())

    def _serve(self, ready: dict[int, int]) -> None:
        """Do everything that is due."""
        heard = self._workers.hear(ready)
        if heard and not self.answered:
            standby.mark(self.address).unlink(missing_ok=True)  # it works, so if it is killed another may start at once
        self.answered += heard
        self._workers.end_unwanted(ready)
        self._drop_gone(ready)
        self._answer_held(ready)
        self._workers.bury()  # from here on a descriptor's number in `ready` may be reused
        if self.listener.fileno() in ready:
            self._accept()
        if self.changes.fileno() in ready:
            self._changed()
        if not self._ended and self._waiting:
            self._hold()
        if not self._ended and (connection := self._next()):
            self._hand_over(connection)  # one at a time: new callers must get `ALIVE` before the next fork
        self._beat()
        if not self._waiting and not ready:
            self._workers.stock_up()

    def _poll(self, waking: int, last: float) -> dict[int, int]:
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        for descriptor in (waking, self.changes.fileno()):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        self._workers.watch(poll)
        for connection in self._waiting:
            poll.register(connection, pool.GONE)
        for event in self._held:
            poll.register(event.connection, pool.GONE)
            if event.watched() >= 0:
                poll.register(event.watched(), select.POLLIN | pool.GONE)
        return dict(poll.poll(self._patience(last)))

    def _patience(self, last: float) -> int:
        """Return the milliseconds until something is due."""
        if self._next():
            return 0
        now = time.monotonic()
        due = self._workers.due(now) + [event.due for event in self._held if event.due > now]
        if self._waiting:
            due.append(self._beaten + BEAT_S)
        elif not self._workers.busy():
            due.append(last + IDLE_TIMEOUT_S + 0.1)
        return int(max(min(due) - now, 0.0) * 1000) + 1 if due else -1

    def _next(self) -> socket.socket | None:
        """Return the connection that has waited longest and whose project may use another worker."""
        return next((each for each, caller in self._waiting.items() if self._workers.has_room(caller.project)), None)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:  # the caller is gone already
                continue
            except OSError as error:  # no descriptors left: all that wait go cold
                log.write("warning", f"the server can't accept an event: {error}")
                self._ended = True
                return
            try:
                connection.setblocking(False)
                if relay.ours(connection):
                    connection.send(relay.ALIVE)
                    self._waiting[connection] = Caller(time.monotonic(), project_of(connection))
                    continue
            except OSError:
                pass
            connection.close()

    def _hold(self) -> None:
        """Take over the events that nobody should want from those that wait for their turn."""
        for connection, caller in list(self._waiting.items()):
            if len(self._held) < held.MOST and (event := self._silences.take(connection, *caller)):
                del self._waiting[connection]
                self._held.append(event)
                self._look_after(event)

    def _answer_held(self, ready: dict[int, int]) -> None:
        """Go on with each event that the loop answers itself."""
        for event in list(self._held):
            said = ready.get(event.connection.fileno(), 0)
            if event.due and said & pool.GONE:
                self._held.remove(event)
                event.close()
            elif event.due or said:
                self._look_after(event)

    def _look_after(self, event: Held) -> None:
        """Answer an event if its stdin has ended, and pass it on if it can't be answered here."""
        try:
            whole = event.read()
        except BlockingIOError:
            return  # it hasn't said `GO`
        except OSError:
            self._held.remove(event)
            event.close()
            return
        if whole and self._silences.silent(event):
            self._held.remove(event)
            event.answer()
            self.answered += 1
        elif whole or (event.due and event.due <= time.monotonic()):
            self._pass_on(event)

    def _pass_on(self, event: Held) -> None:
        """Have a worker answer an event that the loop has begun to read, once there is room for it."""
        event.due = event.due and time.monotonic()
        if not self._ended and not self._workers.has_room(event.project):
            return
        worker = self._workers.take()
        self._held.remove(event)
        sent = False
        if worker is not None:
            self._workers.assign(worker, event.connection, event.project)
            status = {**self._status(event.accepted), **event.sizes()}
            begun = b"\n".join((json.dumps(status).encode(), event.raw + event.data))
            given = [event.connection.fileno(), *event.descriptors]
            with suppress(OSError):  # the worker is dead, or can't take so much
                sent = socket.send_fds(worker.control, [begun], given, socket.MSG_DONTWAIT) == len(begun)
        event.drop_streams()
        if not sent:  # the event is lost, and refused if a guard is known for it
            event.connection.close()

    def _hand_over(self, connection: socket.socket) -> None:
        worker = None if self._changed() else self._workers.take()
        # Remove it from _waiting only now: a worker forked just now closes the connections in _waiting. If it (or its
        # handlers' child) kept this one open, the caller wouldn't notice the death of the worker that answers.
        caller = self._waiting.pop(connection)
        if worker is None:
            connection.close()
            return
        self._workers.assign(worker, connection, caller.project)
        try:
            socket.send_fds(worker.control, [json.dumps(self._status(caller.accepted)).encode()], [connection.fileno()])
        except OSError:
            worker.forget()  # the worker is dead: the caller goes cold

    def _changed(self) -> bool:
        """End the loop if something that was loaded has changed. Return whether it has."""
        changed = self.changes.found()
        if changed:
            log.write("info", f"the server stops: {changed} changed since it started")
            with suppress(OSError):
                standby.mark(self.address).unlink()
            self._ended = True
        return bool(changed)

    def _status(self, accepted: float) -> dict[str, object]:
        return {
            "pid": os.getpid(),
            "started": round(self._started),
            "entry": self.entry,
            "answered": self.answered,
            "answering": len(self._workers.busy()) - 1,
            "waiting": len(self._waiting),
            "accepted": accepted,
        }

    def _shed(self) -> None:
        """Close, in a new worker, the descriptors that only the server may hold."""
        for descriptor in self._waking:
            os.close(descriptor)
        os.close(self.lock)  # a worker that outlives the server would be taken for it
        self.changes.close()
        self.listener.close()
        for connection in self._waiting:
            connection.close()
        for event in self._held:
            event.close()

    def _drop_gone(self, ready: dict[int, int]) -> None:
        """Drop waiting connections whose caller is gone."""
        for connection in [each for each in self._waiting if ready.get(each.fileno(), 0) & pool.GONE]:
            del self._waiting[connection]
            connection.close()

    def _beat(self) -> None:
        if not self._waiting or time.monotonic() - self._beaten < BEAT_S:
            return
        self._beaten = time.monotonic()
        for connection in self._waiting:
            with suppress(OSError):
                connection.send(relay.WAIT)

    def _end(self, signum: int, frame: FrameType | None) -> None:
        self._ended = True


def project_of(connection: socket.socket) -> bytes:
    """Return the project of the process at the other end of a connection, from its environment in /proc.

    What it sends over the connection is only read by its worker. Empty without /proc, or without a project.
    """
    try:
        descriptor = os.open(f"/proc/{turn.peer(connection)}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    environ = b""
    try:
        while len(environ) < _ENVIRON_LIMIT_BYTES and (more := os.read(descriptor, 1 << 17)):
            environ += more
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return next((each[len(_PROJECT) :] for each in environ.split(b"\0") if each.startswith(_PROJECT)), b"")
