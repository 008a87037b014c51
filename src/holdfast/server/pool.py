"""The server's worker processes: each answers one event, and some are forked in advance."""

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
from holdfast.server.silence import MESSAGE_LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = max(16, 4 * (os.cpu_count() or 1))
"""How many events are answered at a time; others wait for their turn. One project gets at most half of the workers."""
GRACE_S = 1.0
"""Time for a worker to end after SIGTERM, once nobody waits for its answer any more."""
SPARES = 2
"""Workers forked in advance: two, because a tool call's end and the next call's start come almost together.

Only the first one rehearses, for its copies of memory pages are most of the server's memory.
"""
QUIET_S = 0.02
"""Quiet time after an answer before a worker is forked in advance.

Until then it would take processor time from an event, or from the client, which goes on with what the event was about.
"""
BUSY_S = 0.25
"""The same while somebody waits for an answer."""
RETRY_S = 1.0
"""Pause after a worker couldn't be forked in advance, or died before its event; doubled each time it happens again."""
GONE = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)
"""The `poll` events of a connection whose other end is gone."""


@dataclass
class Worker:
    """A worker process.

    Attributes:
        control: the server's end of the socket to it.
        connection: to the caller that waits for its answer; None before and after.
        project: the project of its event; empty if unknown.
        ends_at: the `time.monotonic()` at which it is killed; 0 while it wasn't told to end.
        rehearses: whether it was told to rehearse, and hasn't said yet that it is done.
        rehearsed: whether it was told to rehearse.
        heard: the beginning of a message from it, whose end hasn't come yet.
    """

    control: socket.socket
    connection: socket.socket | None = None
    project: bytes = b""
    ends_at: float = 0.0
    rehearses: bool = False
    rehearsed: bool = False
    heard: bytes = b""

    def close(self) -> None:
        """Close the socket to it and the connection it answers."""
        self.control.close()
        self.forget()

    def rehearse(self) -> None:
        """Let it rehearse, once."""
        if not self.rehearsed:
            self.rehearsed = self.rehearses = True
            with suppress(OSError):  # it is dead
                self.control.send(turn.REHEARSE)

    def is_rehearsing(self) -> bool:
        """Return whether its rehearsal is going on."""
        if self.rehearses:
            with suppress(OSError):  # it has said nothing yet
                self.rehearses = not self.control.recv(len(turn.REHEARSED), socket.MSG_DONTWAIT)
        return self.rehearses

    def forget(self) -> None:
        """Close the connection it answers, because nobody waits for it any more."""
        if self.connection:
            self.connection.close()
            self.connection = None


@dataclass
class Workers:
    """All worker processes.

    Attributes:
        shed: called in a new worker to close the descriptors that only the server may hold.
        told: called with what a worker says about an event that nobody wanted (`turn.SILENT`).
    """

    shed: Callable[[], None]
    told: Callable[[bytes], None] = lambda said: None
    _all: dict[int, Worker] = field(default_factory=dict)
    _spares: list[int] = field(default_factory=list)
    _tries_at: float = 0.0
    _failed: int = 0
    _project: bytes = b""

    def busy(self) -> list[Worker]:
        """Return the workers that got an event and haven't ended."""
        return [worker for pid, worker in self._all.items() if pid not in self._spares]

    def has_room(self, project: bytes) -> bool:
        """Return whether a project may use another worker now.

        A project may use as many as it leaves free. So a project whose handlers hang takes half of the workers, a
        second one a quarter, and another project still finds one.
        """
        busy = self.busy()
        free = MOST - len(busy)
        return free > (sum(worker.project == project for worker in busy) if project else 0)

    def take(self) -> Worker | None:
        """Return a free worker, which counts as busy from now on, or None if none can be forked.

        If the first spare one is still rehearsing, another one is sooner ready.
        """
        spares = sorted(self._spares, key=lambda pid: self._all[pid].is_rehearsing())
        if spares:
            self._spares.remove(spares[0])
        return self._all.get(spares[0] if spares else self._fork())

    def assign(self, worker: Worker, connection: socket.socket, project: bytes) -> None:
        """Let a worker answer a connection. New workers prepare for another event of its project."""
        worker.connection, worker.project, self._project = connection, project, project

    def stock_up(self) -> None:
        """Fork a worker in advance if one is lacking and it is time to try; let the first one rehearse."""
        if len(self._spares) < SPARES and time.monotonic() >= self._tries_at:
            pid = self._fork()
            if pid:
                self._spares.append(pid)
            else:
                self._pause()
        if self._spares:
            self._all[self._spares[0]].rehearse()

    def due(self, now: float) -> list[float]:
        """Return the times (`time.monotonic()`) at which workers must be forked or killed."""
        moments = [worker.ends_at for worker in self._all.values() if worker.ends_at]
        if len(self._spares) < SPARES:
            answering = any(worker.connection for worker in self.busy())
            moments.append(max(now + (BUSY_S if answering else QUIET_S), self._tries_at))
        return moments

    def watch(self, poll: select.poll) -> None:
        """Register busy workers and their callers with `poll`."""
        for worker in self.busy():
            if worker.control.fileno() >= 0:
                poll.register(worker.control, select.POLLIN)
            if worker.connection:
                poll.register(worker.connection, GONE)

    def hear(self, ready: dict[int, int]) -> int:
        """Read the workers' messages, and drop the connections of callers that have got their answer.

        After that the caller's end is no reason to end the worker. Returns how many events were answered.
        """
        answered = 0
        for worker in self.busy():
            if worker.control.fileno() not in ready:
                continue
            said = b""
            with suppress(OSError):
                said = worker.control.recv(MESSAGE_LIMIT_BYTES, socket.MSG_DONTWAIT)
            *lines, worker.heard = (worker.heard + said).split(b"\n")
            for line in lines:
                if line + b"\n" == turn.ANSWERED:
                    answered += 1
                    self._failed = 0
                    worker.forget()
                elif line.startswith(turn.SILENT):
                    self.told(line[len(turn.SILENT) :])
            if not said:
                worker.control.close()  # the worker has closed its end
        return answered

    def end_unwanted(self, ready: dict[int, int]) -> None:
        """Send SIGTERM to workers whose caller is gone, and kill those that didn't end in time."""
        now = time.monotonic()
        for pid, worker in self._all.items():
            if worker.connection and not worker.ends_at and ready.get(worker.connection.fileno(), 0) & GONE:
                worker.ends_at = now + GRACE_S
                _kill(pid, signal.SIGTERM)
            elif worker.ends_at and now >= worker.ends_at:
                worker.ends_at = now + GRACE_S
                _kill(pid, signal.SIGKILL)

    def bury(self) -> None:
        """Reap the workers that have ended."""
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

    def _fork(self) -> int:
        """Fork a worker. Return its process id, or 0 if that failed."""
        try:
            loader.preload()
            ours, its = socket.socketpair()
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, turn.HANDED_LIMIT_BYTES)
            try:
                pid = os.fork()
            except OSError:
                ours.close()
                its.close()
                raise
        except OSError as error:
            log.write("warning", f"the server can't fork: {error}")
            return 0
        if pid == 0:
            try:
                self._become_worker(ours)
                turn.wait(its, os.fsdecode(self._project))
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
