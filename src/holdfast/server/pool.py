"""The processes the server forks: each answers one event, and some wait for one that is still to come."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast import log
from holdfast.plugins import loader
from holdfast.server import turn

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = max(16, 4 * (os.cpu_count() or 1))
"""Events that are answered at a time; the others wait for their turn. One project gets half of them at most."""
GRACE_S = 1.0
"""Seconds a worker has to obey once nobody waits for its answer any more."""
SPARES = 2
"""Workers that are forked ahead: one tool call's end and the next one's beginning are moments apart."""
QUIET_S = 0.02
"""Seconds without anything new after which another one is: it must not take the processor from an event."""
RETRY_S = 1.0
"""Seconds without another try after a worker could not be forked ahead, or died before its event; twice as many each
time that it happens again."""
GONE = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)
"""What `poll` says of a connection whose other end has gone away."""


@dataclass
class Worker:
    """A forked process.

    Attributes:
        control: the server's end of the way to it.
        connection: who waits for its answer; None before and after.
        project: whose event it is given; empty where that cannot be told.
        ends_at: when it is ended if it does not obey; 0 while it need not.
    """

    control: socket.socket
    connection: socket.socket | None = None
    project: bytes = b""
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
class Workers:
    """All of them.

    Attributes:
        shed: closes, in one that was just forked, what is the server's alone.
    """

    shed: Callable[[], None]
    _all: dict[int, Worker] = field(default_factory=dict)
    _spares: list[int] = field(default_factory=list)
    _tries_at: float = 0.0
    _failed: int = 0

    def busy(self) -> list[Worker]:
        """Return those that have been given an event and have not ended."""
        return [worker for pid, worker in self._all.items() if pid not in self._spares]

    def has_room(self, project: bytes) -> bool:
        """Tell whether a project's event may be given to one now.

        Each project may have as many as it leaves to the others. So one whose handlers hang takes half of them, a
        second one a quarter, and who comes then still finds one.
        """
        busy = self.busy()
        free = MOST - len(busy)
        return free > (sum(worker.project == project for worker in busy) if project else 0)

    def take(self) -> Worker | None:
        """Return one that has nothing to do, which counts as busy from now on; None where none can be forked."""
        pid = self._spares.pop(0) if self._spares else self._fork(early=False)
        return self._all.get(pid)

    def stock_up(self) -> None:
        """Fork one ahead if one is lacking and it is time to try."""
        if len(self._spares) == SPARES or time.monotonic() < self._tries_at:
            return
        pid = self._fork(early=True)
        if pid:
            self._spares.append(pid)
        else:
            self._pause()

    def due(self, now: float) -> list[float]:
        """Return the moments at which something is to be done for them."""
        moments = [worker.ends_at for worker in self._all.values() if worker.ends_at]
        if len(self._spares) < SPARES:
            moments.append(max(now + QUIET_S, self._tries_at))
        return moments

    def watch(self, poll: select.poll) -> None:
        """Have `poll` tell what becomes of those that are busy, and of who waits for them."""
        for worker in self.busy():
            if worker.control.fileno() >= 0:
                poll.register(worker.control, select.POLLIN)
            if worker.connection:
                poll.register(worker.connection, GONE)

    def hear(self, ready: dict[int, int]) -> int:
        """Forget who has got an answer, for its going away is nothing to end a worker for; return how many have."""
        answered = 0
        for worker in self.busy():
            if worker.control.fileno() not in ready:
                continue
            said = b""
            with suppress(OSError):
                said = worker.control.recv(16, socket.MSG_DONTWAIT)
            if said == turn.ANSWERED:
                answered += 1
                self._failed = 0
                worker.forget()
            elif not said:
                worker.control.close()  # it says no more
        return answered

    def end_unwanted(self, ready: dict[int, int]) -> None:
        """Tell those to end whose caller has gone, and end those that did not obey."""
        now = time.monotonic()
        for pid, worker in self._all.items():
            if worker.connection and not worker.ends_at and ready.get(worker.connection.fileno(), 0) & GONE:
                worker.ends_at = now + GRACE_S
                _kill(pid, signal.SIGTERM)
            elif worker.ends_at and now >= worker.ends_at:
                worker.ends_at = now + GRACE_S
                _kill(pid, signal.SIGKILL)

    def bury(self) -> None:
        """Take those off the list that have ended."""
        while self._all:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid in self._spares:
                self._spares.remove(pid)
                self._pause()
            worker = self._all.pop(pid, None)
            if worker:
                worker.close()

    def _pause(self) -> None:
        self._tries_at = time.monotonic() + RETRY_S * 2**self._failed
        self._failed = min(self._failed + 1, 6)

    def _fork(self, *, early: bool) -> int:
        """Fork one for a connection that is there, or ahead of it; return its process id, 0 where none can be."""
        try:
            loader.preload()
            ours, its = socket.socketpair()
            try:
                pid = os.fork()
            except OSError:
                ours.close()
                its.close()
                raise
        except OSError as error:
            log.write("warning", f"the server cannot fork: {error}")
            return 0
        if pid == 0:
            try:
                self._become_worker(ours)
                turn.wait(its, early=early)
            finally:
                os._exit(0)
        its.close()
        self._all[pid] = Worker(ours)
        return pid

    def _become_worker(self, control: socket.socket) -> None:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        control.close()
        self.shed()
        for worker in self._all.values():
            worker.close()


def _kill(pid: int, number: int) -> None:
    for kill in (os.killpg, os.kill):
        with suppress(OSError):
            kill(pid, number)
            return
