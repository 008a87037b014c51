"""The warm server's parent: it keeps idle children that wait for events, and forks the next when one takes an event."""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import config, engine, log
from holdfast.plugins import loader
from holdfast.server import control, protocol, worker
from holdfast.server.preload import Stamp, load_all

if TYPE_CHECKING:
    import socket
    from types import FrameType

IDLE_CHILDREN = 2
"""The end of a tool call and the start of the next come almost together."""
MOST = max(16, 4 * (os.cpu_count() or 1))
"""Events at a time. More wait in the socket's backlog, until their relays start the entrypoint."""
QUIET_S = 0.02
"""Pause after an event was taken: forking the next child would take the processor from it."""
FLUSH_INTERVAL_S = 30.0
"""Time between two starts of `holdfast telemetry flush`, if telemetry is configured."""
FLUSH_QUIET_S = 2.0
"""Time without an event after which it starts: it would take the processor from one."""
RETRY_S = 1.0
"""Pause after a fork that failed, or a child that died before its event."""
IDLE_TIMEOUT_S = 900.0
"""Time without an event after which the server ends."""
LONGEST_S = 2 * 3_600.0
"""Time after which a child that still answers is killed; no event may take so long (`Hook.longest_timeout_s`)."""
_COUNT = struct.Struct("=Q")


def main(entry: str) -> int:
    """Become the server of an entrypoint and run until nobody needs it. Return the exit code."""
    name = protocol.address(entry, dict(os.environb))
    if not name:
        return 1
    address = Path(os.fsdecode(name))
    try:
        load_all()
        stamp = Stamp(entry)
        if changed := stamp.changed_while_loading:
            log.write("info", f"the server didn't start: {changed} changed while it was loading")
            return 1
        claimed = control.claim(address)
    except OSError as error:
        log.write("warning", f"the server didn't start: {error}")
        return 1
    control.mark(address).unlink(missing_ok=True)  # if this one is killed, another may start at once
    if claimed is None:
        return 0
    try:
        Server(*claimed, stamp, entry).run()
    finally:
        address.unlink(missing_ok=True)
    return 0


@dataclass
class Server:
    """The parent.

    Attributes:
        listener: the listening socket, on which every idle child accepts.
        lock: descriptor of the lock that marks this process as the server.
        stamp: the loaded files.
        entry: the entrypoint's path.
    """

    listener: socket.socket
    lock: int
    stamp: Stamp
    entry: str
    _idle: set[int] = field(default_factory=set)
    _busy: dict[int, float] = field(default_factory=dict)  # process id → when it took its event
    _answered: int = 0
    _count: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, _COUNT.size))  # children read it, too
    _started: float = field(default_factory=time.time)
    _ended: bool = False
    _telemetry: bool = field(
        default_factory=lambda: bool(config.load(None, trusted=False).config.telemetry.endpoint)
    )  # a change of the configuration ends the server

    def run(self) -> None:
        """Keep children waiting until there was no event for a while, the code has changed, or SIGTERM comes."""
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, self._end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        taken, self._takes = os.pipe()  # a child writes here when it has taken a connection
        self._lifeline, lives = os.pipe()  # ends with this process, and idle children with it
        waking, woken = os.pipe()
        for descriptor in (taken, waking, woken):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        self._private = (taken, lives, waking, woken, self.lock)
        poll = select.poll()
        poll.register(taken, select.POLLIN)
        poll.register(waking, select.POLLIN)
        last = time.monotonic()
        due = retry_at = flushed = 0.0
        unsent = self._telemetry  # what an earlier server left
        while not self._ended and (self._busy or time.monotonic() - last < IDLE_TIMEOUT_S):
            limit = IDLE_TIMEOUT_S
            if len(self._idle) < IDLE_CHILDREN and len(self._busy) < MOST:
                limit = (max(due, retry_at) if self._idle else retry_at) - time.monotonic()
                if limit <= 0:
                    if changed := self.stamp.changed(whole=True):
                        log.write("info", f"the server stops: {changed} changed since it started")
                        return
                    retry_at = 0.0 if self._fork() else time.monotonic() + RETRY_S
                    continue
            if unsent and not self._busy:
                flush_in = max(last + FLUSH_QUIET_S, flushed + FLUSH_INTERVAL_S) - time.monotonic()
                if flush_in <= 0:
                    flushed, unsent = time.monotonic(), False
                    control.begin_flush()
                else:
                    limit = min(limit, flush_in)
            poll.poll(limit * 1000 + 1)
            with suppress(BlockingIOError):
                os.read(waking, 4096)
            ended = self._ended_children()  # first: what these have written is in the pipe
            with suppress(BlockingIOError):
                for line in os.read(taken, 65_536).splitlines(keepends=True):
                    last = time.monotonic()
                    if line == worker.STALE:
                        log.write("info", "the server stops: its code has changed since it started")
                        return
                    if line == worker.ANSWERS:
                        self._answered += 1
                        unsent = self._telemetry
                        continue
                    self._idle.discard(int(line))
                    self._busy[int(line)] = last
                    due = last + QUIET_S
            if ended & self._idle:
                retry_at = time.monotonic() + RETRY_S
            self._idle -= ended
            self._busy = {pid: since for pid, since in self._busy.items() if pid not in ended}
            _COUNT.pack_into(self._count, 0, self._answered)
            for pid, since in self._busy.items():
                if time.monotonic() - since > LONGEST_S:
                    os.kill(pid, signal.SIGKILL)

    def _fork(self) -> bool:
        """Fork a child, and return in this process whether that worked."""
        loader.preload(engine.CLIENT)
        try:
            pid = os.fork()
        except OSError as error:
            log.write("warning", f"the server can't fork: {error}")
            return False
        if pid:
            self._idle.add(pid)
            return True
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            for descriptor in self._private:
                os.close(descriptor)
            warm_up = bool(self._idle)  # with nobody idle an event may wait already
            worker.serve(self.listener, self._lifeline, self._takes, self.stamp, self._status, warm_up=warm_up)
        finally:
            os._exit(0)

    def _status(self) -> dict[str, object]:
        """Return, in a child, the status that `holdfast server` prints."""
        (answered,) = _COUNT.unpack_from(self._count)
        return {"started": round(self._started), "entry": self.entry, "answered": answered}

    @staticmethod
    def _ended_children() -> set[int]:
        """Wait for the children that have ended, and return their process ids."""
        ended = set()
        with suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                ended.add(pid)
        return ended

    def _end(self, signum: int, frame: FrameType | None) -> None:
        self._ended = True
