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

CAPTURE_LIMIT_BYTES = 8_192  # of what a handler prints
CHUNK_BYTES = 65_536
EXIT_TIMEOUT_S = 0.2
"""A process that closed its pipe should end within this time."""
_POLL_PAUSE_S = 0.001


@dataclass(eq=False)
class Child:
    """A forked process, with the pipes between it and its parent.

    Attributes:
        pid: its process id; 0 once it has been waited for.
        messages: read end of its messages, one JSON object a line.
        output: read end of what it and the processes it starts print.
        requests: write end of the parent's requests, one JSON object a line.
        hung_up: whether it closed its pipe: it is dead or about to end.
    """

    pid: int
    messages: int
    output: int
    requests: int
    hung_up: bool = False
    _buffer: bytearray = field(default_factory=bytearray)

    @classmethod
    def fork(cls, work: Callable[[int, int], None]) -> Child:
        """Start a child, in a process group of its own.

        Args:
            work: what the child runs before it ends. It gets the child's ends of the pipes: where to write messages,
                and where to read requests.

        Raises:
            OSError: the system gives no process, or no pipe.
        """
        pipes: list[int] = []
        try:
            for _ in range(3):
                pipes += os.pipe()
            messages, message_end, output, output_end, request_end, requests = pipes
            for descriptor in (messages, output, requests):
                os.set_blocking(descriptor, False)
            pid = os.fork()
        except OSError:
            for each in pipes:
                os.close(each)
            raise
        if pid == 0:
            try:
                os.setpgid(0, 0)
                for descriptor in (messages, output, requests):
                    os.close(descriptor)
                os.dup2(output_end, 1)
                os.dup2(output_end, 2)
                work(message_end, request_end)
            finally:
                os._exit(0)
        for descriptor in (message_end, output_end, request_end):
            os.close(descriptor)
        return cls(pid, messages, output, requests)

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
            printed: gets what was printed before the message, at most `CAPTURE_LIMIT_BYTES` bytes.
        """
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0:
                return None
            poll = select.poll()
            for descriptor in (self.messages, self.output):
                if descriptor >= 0:
                    poll.register(descriptor, select.POLLIN)
            if self.messages in {descriptor for descriptor, _ in poll.poll(left * 1000)}:
                chunk = os.read(self.messages, CHUNK_BYTES)
                self._buffer += chunk
                self.hung_up = not chunk
            self._read_output(printed)
            if self.hung_up:
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            message = loads(line)
        except ValueError:
            return None
        return message if isinstance(message, dict) else None

    def _read_output(self, printed: bytearray) -> None:
        """Read what was printed, so that no handler blocks: at most a pipe's content, or a flood would never let go."""
        if self.output < 0:
            return
        with suppress(BlockingIOError):
            chunk = os.read(self.output, CHUNK_BYTES)
            if not chunk:
                os.close(self.output)
                self.output = -1
            printed += chunk[: CAPTURE_LIMIT_BYTES - len(printed)]

    def end(self) -> str:
        """Kill a stuck child with everything it started, or reap a dead one. Return a sentence on how it ended."""
        code = self._wait(EXIT_TIMEOUT_S if self.hung_up else 0.0)
        self.kill()
        if code is not None:
            return f"ended its process (signal {-code})" if code < 0 else f"ended its process (exit code {code})"
        if self.hung_up:
            return "closed descriptors that are not its own, and its process was ended"
        return "took longer than it may, did not obey its interrupt, and its process was ended"

    def close(self, grace_s: float) -> None:
        """Ask nothing more, and wait until the child ends; kill it and what it has left running after some seconds."""
        if self.requests >= 0:
            os.close(self.requests)
            self.requests = -1
        if self.pid:
            self._wait(grace_s)
        self.kill()

    def kill(self) -> None:
        """Kill the child and everything in its process group, and close the pipes."""
        if self.pid:
            for kill in (os.killpg, os.kill):
                with suppress(OSError):
                    kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
        self.close_pipes()

    def close_pipes(self) -> None:
        """Close this process's ends of the pipes."""
        for descriptor in (self.messages, self.output, self.requests):
            if descriptor >= 0:
                os.close(descriptor)
        self.messages = self.output = self.requests = -1

    def _wait(self, seconds: float) -> int | None:
        """Wait up to `seconds` for the child to end. Return its exit code, or None if it runs on.

        The processes it started are killed too, except those with a session or process group of their own.
        """
        until = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                with suppress(OSError):  # the group is empty
                    os.killpg(pid, signal.SIGKILL)
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() >= until:
                return None
            time.sleep(_POLL_PAUSE_S)


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
