"""A forked process that answers requests through pipes: the parent's side."""

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
    from collections.abc import Callable, Iterator

CAPTURE_LIMIT_BYTES = 8_192  # how much of what is printed is kept
CHUNK_BYTES = 65_536
BURIAL_TIMEOUT_S = 0.2  # a process that closed its pipe should end within this time


@dataclass(eq=False)
class Child:
    """A forked process, with the pipes between it and its parent.

    Attributes:
        pid: its process id; 0 once it has been waited for.
        messages: read end of its messages, one JSON object a line.
        captured: read end of what it and the processes it starts print.
        requests: write end of what the parent asks it, one JSON object a line.
        silent: whether it closed its pipe: it is dead or about to end.
    """

    pid: int
    messages: int
    captured: int
    requests: int
    silent: bool = False
    _buffer: bytearray = field(default_factory=bytearray)

    @classmethod
    def fork(cls, work: Callable[[int, int, int], None]) -> Child:
        """Start a child, in a process group of its own.

        Args:
            work: what the child runs before it ends. It gets the child's ends of the pipes: where to write messages,
                where to read what was printed, and where to read requests.

        Raises:
            OSError: the system gives no process, or no pipe.
        """
        pipes: list[int] = []
        try:
            for _ in range(3):
                pipes += os.pipe()
            messages, report, captured, printed, asked, requests = pipes
            os.set_blocking(messages, False)
            os.set_blocking(requests, False)
            os.set_blocking(captured, False)  # both sides read it: the child after each call, the parent meanwhile
            pid = os.fork()
        except OSError:
            for each in pipes:
                os.close(each)
            raise
        if pid == 0:
            try:
                os.setpgid(0, 0)
                os.close(messages)
                os.close(requests)
                os.dup2(printed, 1)
                os.dup2(printed, 2)
                work(report, captured, asked)
            finally:
                os._exit(0)
        for descriptor in (report, printed, asked):
            os.close(descriptor)
        return cls(pid, messages, captured, requests)

    def ask(self, request: object, until: float) -> None:
        """Send a request. Nothing happens if the child is gone or takes nothing until a `time.monotonic()`."""
        data = memoryview((dumps(request) + "\n").encode())
        poll = select.poll()
        poll.register(self.requests, select.POLLOUT)
        with suppress(OSError):
            while data and (left := until - time.monotonic()) > 0:
                if poll.poll(left * 1000):
                    data = data[os.write(self.requests, data) :]

    def receive(self, until: float, printed: bytearray) -> dict[str, Any] | None:
        """Return the child's next message, or None if it is dead, writes garbage or the time is up.

        Args:
            until: the `time.monotonic()` at which to give up.
            printed: gets what is printed meanwhile.
        """
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0:
                return None
            poll = select.poll()
            poll.register(self.messages, select.POLLIN)
            if self.captured >= 0:
                poll.register(self.captured, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll(left * 1000)}
            if self.messages not in ready:  # messages first: they say which handler printed
                self._capture(printed)
                continue
            chunk = os.read(self.messages, CHUNK_BYTES)
            if not chunk:
                self.silent = True
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
        """Read what handlers have printed, at most a pipe's content, and keep the first `CAPTURE_LIMIT_BYTES` bytes.

        Everything is read, so that no handler blocks; but only one read at a time, or a flood would never let go.
        """
        if self.captured < 0:
            return
        chunk = read_some(self.captured)
        if chunk == b"":
            os.close(self.captured)
            self.captured = -1
        printed += (chunk or b"")[: CAPTURE_LIMIT_BYTES - len(printed)]

    def end(self) -> str:
        """Kill a stuck child with everything it started, or reap a dead one. Return a sentence on how it ended."""
        pid, status = self._wait(time.monotonic() + BURIAL_TIMEOUT_S if self.silent else 0.0)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            said = f"ended its process (signal {-code})" if code < 0 else f"ended its process (exit code {code})"
        elif self.silent:
            said = "closed descriptors that are not its own, and its process was ended"
        else:
            said = "took longer than it may, did not obey its interrupt, and its process was ended"
        self.kill()
        return said

    def close(self, grace_s: float) -> None:
        """Ask nothing more, and wait until the child ends; kill it and what it has left running after some seconds."""
        if self.requests >= 0:
            os.close(self.requests)
            self.requests = -1
        if self.pid:
            self._wait(time.monotonic() + grace_s)
        self.kill()

    def kill(self) -> None:
        """Kill the child and everything in its process group, and close the pipes."""
        if self.pid:
            for kill in (os.killpg, os.kill):
                with suppress(OSError):
                    kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
        self.disown()

    def disown(self) -> None:
        """Close this process's ends of the pipes."""
        for descriptor in (self.messages, self.captured, self.requests):
            if descriptor >= 0:
                os.close(descriptor)
        self.messages = self.captured = self.requests = -1

    def _wait(self, until: float) -> tuple[int, int]:
        """Wait for the child to end, at most until `until`; return its pid and status, or a pid of 0.

        The processes it started are killed too, except those with a session or process group of their own.
        """
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                with suppress(OSError):  # the group is empty
                    os.killpg(pid, signal.SIGKILL)
                self.pid = 0
            left = until - time.monotonic()
            if pid or left <= 0:
                return pid, status
            _sleep(self.pid, left)


def _sleep(pid: int, seconds: float) -> None:
    """Wait up to `seconds` for a child to exit; without pidfd, sleep for at most a millisecond."""
    try:
        ended = os.pidfd_open(pid)
    except (AttributeError, OSError):  # no Linux, or an old kernel
        time.sleep(min(seconds, 0.001))
        return
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.poll(seconds * 1000)
    os.close(ended)


def read_some(descriptor: int) -> bytes | None:
    """Return what a non-blocking pipe holds, at most CHUNK_BYTES; None if it is empty, b"" at its end."""
    try:
        return os.read(descriptor, CHUNK_BYTES)
    except BlockingIOError:
        return None


def write(descriptor: int, message: object) -> None:
    """Write a complete JSON message with a newline. Raises OSError if nobody reads any more."""
    data = memoryview((dumps(message) + "\n").encode())
    while data:
        data = data[os.write(descriptor, data) :]


def requests(descriptor: int) -> Iterator[Any]:
    """Yield the parent's requests in the child, until the parent closes its end or dies."""
    data = bytearray()
    while chunk := os.read(descriptor, CHUNK_BYTES):
        data += chunk
        while b"\n" in data:
            line, _, data = data.partition(b"\n")
            yield loads(line)
