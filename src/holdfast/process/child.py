"""A forked process that reports through pipes, as its parent sees it."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from json import dumps, loads  # by name: a handler that changes the json module changes it for itself
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CAPTURE_LIMIT_BYTES = 8_192  # bytes of what is printed that are kept
CHUNK_BYTES = 65_536
BURIAL_TIMEOUT_S = 0.2  # seconds in which a process that closed its pipe is expected to be dead


@dataclass
class Child:
    """A forked process, with the pipes between it and us.

    Attributes:
        pid: its process id; 0 once it is buried.
        messages: read end of what it reports, one JSON object a line.
        captured: read end of what is printed in it and by what it starts.
        verdict: write end of what it waits to hear.
        waits: whether it said that it waits for the verdict; one that does not ends by itself.
    """

    pid: int
    messages: int
    captured: int
    verdict: int
    waits: bool = False
    _buffer: bytearray = field(default_factory=bytearray)
    _silent: bool = False  # it closed its pipe: it is dead, or about to be

    @classmethod
    def fork(cls, work: Callable[[int, int, int], None]) -> Child:
        """Start a child.

        Args:
            work: what it does before it ends, given its own ends of the pipes: where it reports, where it can read
                what was printed, where it hears a verdict.
        """
        messages, report = os.pipe()
        captured, printed = os.pipe()
        heard, verdict = os.pipe()
        os.set_blocking(messages, False)
        os.set_blocking(captured, False)  # both sides read it: the child what a call printed, we what one floods
        pid = os.fork()
        if pid == 0:
            try:
                for descriptor in (messages, verdict):
                    os.close(descriptor)
                os.dup2(printed, 1)
                os.dup2(printed, 2)
                work(report, captured, heard)
            finally:
                os._exit(0)
        for descriptor in (report, printed, heard):
            os.close(descriptor)
        return cls(pid, messages, captured, verdict)

    def receive(self, until: float, printed: bytearray) -> dict[str, Any] | None:
        """Return the child's next message, or None when it is dead, talks nonsense or the time is up."""
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0:
                return None
            poll = select.poll()
            poll.register(self.messages, select.POLLIN)
            if self.captured >= 0:
                poll.register(self.captured, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll(left * 1000)}
            if self.messages not in ready:  # messages first: they tell whose words the captured ones are
                self._capture(printed)
                continue
            chunk = os.read(self.messages, CHUNK_BYTES)
            if not chunk:
                self._silent = True
                self._capture(printed)
                return None
            self._buffer += chunk
        line, _, rest = self._buffer.partition(b"\n")
        self._buffer = rest
        try:
            message = loads(line)
        except ValueError:
            return None
        return message if isinstance(message, dict) else None

    def _capture(self, printed: bytearray) -> None:
        """Take what handlers have printed by now, a pipe's fill at most, and keep only the first part of it all.

        Nobody may block on us, so everything is read; but one read each time, or a flood would hold us up for ever.
        """
        if self.captured < 0:
            return
        chunk = read_some(self.captured)
        if chunk == b"":
            os.close(self.captured)
            self.captured = -1
        printed += (chunk or b"")[: CAPTURE_LIMIT_BYTES - len(printed)]

    def end(self) -> str:
        """End a child that is stuck, with all it started, or bury a dead one; say which it was."""
        pid, status = self._wait(time.monotonic() + BURIAL_TIMEOUT_S if self._silent else 0.0)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return f"ended its process (signal {-code})" if code < 0 else f"ended its process (exit code {code})"
        self.kill()
        if self._silent:
            return "closed descriptors that are not its own, and its process was ended"
        return "took longer than it may, did not obey its interrupt, and its process was ended"

    def tell(self, wanted: Sequence[dict[str, Any]]) -> None:
        """Tell the child what was delivered; one that has gone had nothing to be told."""
        with suppress(OSError):
            write(self.verdict, wanted)

    def bury(self, deadline: float) -> None:
        """Wait for the child's own end, at most until the deadline, then end it; and close our ends of the pipes."""
        if self.pid:
            self._wait(deadline)
            self.kill()
        self.close()

    def close(self) -> None:
        """Close our ends of the pipes."""
        for descriptor in (self.messages, self.captured, self.verdict):
            if descriptor >= 0:
                os.close(descriptor)

    def _wait(self, until: float) -> tuple[int, int]:
        """Wait for the child's end, at most until a moment; return its pid and status, or a pid of 0.

        What it started ends with it, unless that has a session or a process group of its own.
        """
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                with suppress(OSError):  # there is nobody left in it
                    os.killpg(pid, signal.SIGKILL)
                self.pid = 0
            left = until - time.monotonic()
            if pid or left <= 0:
                return pid, status
            _sleep(self.pid, left)

    def kill(self) -> None:
        """End the child and everything in its process group."""
        if not self.pid:
            return
        for kill in (os.killpg, os.kill):
            try:
                kill(self.pid, signal.SIGKILL)
            except OSError:
                continue
        os.waitpid(self.pid, 0)
        self.pid = 0


def _sleep(pid: int, seconds: float) -> None:
    """Sleep until a child ends, at most some seconds; where nobody wakes us for that, a moment."""
    try:
        ended = os.pidfd_open(pid)
    except (AttributeError, OSError):  # no Linux, or an old one
        time.sleep(min(seconds, 0.001))
        return
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.poll(seconds * 1000)
    os.close(ended)


def read_some(descriptor: int) -> bytes | None:
    """Return what a non-blocking pipe holds, a fill at most; None when it is empty, b"" when nobody can write."""
    try:
        return os.read(descriptor, CHUNK_BYTES)
    except BlockingIOError:
        return None


def write(descriptor: int, message: object) -> None:
    """Write one JSON message and its line end, whole. Raises OSError when nobody reads any more."""
    data = memoryview(dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(descriptor, data) :]
