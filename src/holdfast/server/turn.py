"""Answer one event in a worker: take over the caller's surroundings, say `READY_NOW`, and answer after `GO`.

The caller is the relay's process, which the client has started and waits for.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from holdfast import engine, relay
from holdfast.dispatch.output import Streams
from holdfast.process.spare import Spare, Told
from holdfast.server import handlers_child, rehearsal
from holdfast.server.handlers_child import Place

if TYPE_CHECKING:
    from holdfast.dispatch.output import Reply

REQUEST_TIMEOUT_S = 1.0
"""Time for the caller to send its request."""
GO_TIMEOUT_S = 60.0
"""Time for the caller to send `GO`. It does so at once; this is long in case the process is stopped just then."""
MARGIN_S = 2
"""Time after our own deadline, at least a second, at which the caller gives up."""
ANSWERED = b"a"
"""A worker's message to the server that the caller was released: the worker no longer works for anybody."""
_LENGTH_DIGITS = 8  # of a request's length
_REQUEST_LIMIT_BYTES = 8 << 20
_CHUNK_BYTES = 32_768
_STATUS_LIMIT_BYTES = 8192  # of the server's status
_SURROUNDINGS = (*(f"ns/{each}" for each in relay.SPACES), "root")  # in /proc/PID


class Relayed(Streams):
    """The streams of a client that waits for the caller; the caller ends when it gets the exit code."""

    def __init__(self, connection: socket.socket, control: socket.socket) -> None:
        """Take over this process's standard descriptors, which are the caller's.

        Args:
            connection: to the caller.
            control: to the server.
        """
        super().__init__((connection.fileno(), control.fileno()))
        self._connection = connection
        self._control = control
        self._waits = True

    def expect(self, until: float) -> None:
        """Make the caller wait a little longer than this process may take."""
        seconds = int(max(until - time.monotonic(), 0.0)) + MARGIN_S
        with suppress(OSError):  # the caller is gone
            self._connection.send(relay.LONGER + seconds.to_bytes(2, "big"))

    def write(self, reply: Reply) -> None:
        """Write the reply, and tell the caller that it must not refuse any more."""
        super().write(reply)
        with suppress(OSError):  # the caller is gone
            self._connection.send(relay.WRITTEN)

    def answerable(self) -> bool:
        """Return whether the caller still waits; one that has ended may have left the event to `refuse.sh`."""
        poll = select.poll()
        poll.register(self._connection, 0)  # POLLHUP needs no flag; it isn't set if the caller only stopped sending
        return super().answerable() and self._waits and not poll.poll(0)

    def let_go(self, code: int) -> bool:
        """Send the exit code to the caller, once; later calls do nothing."""
        if self._waits:
            self._waits = False
            engine.passed("let_go")
            self.close()
            with suppress(OSError):  # the server has ended
                self._control.send(ANSWERED)
            with suppress(OSError):  # the caller is gone
                self._connection.send(bytes([code]))
        return True


@dataclass
class Request:
    """A caller's request, the first thing it sends.

    Attributes:
        kind: `event`, or `status` to ask for the server's status.
        argument: the event's name on the command line, or None.
        place: the caller's surroundings.
    """

    kind: bytes
    argument: str | None
    place: Place


def wait(control: socket.socket, *, early: bool) -> None:
    """Run in a worker: answer the one connection that comes over `control`, or end with the server.

    Args:
        control: to the server.
        early: whether there is time to rehearse before the connection comes.
    """

    def handle(told: Told, report: int, captured: int, heard: int) -> None:
        control.close()
        if early:
            rehearsal.of_handlers()
        handlers_child.handle(told, report, captured, heard)

    spare = Spare.fork(handle)
    if early:
        rehearsal.of_engine()
        own_surroundings()
    said, descriptors, _, _ = socket.recv_fds(control, _STATUS_LIMIT_BYTES, 1)
    if descriptors:  # otherwise the server has ended
        with socket.socket(fileno=descriptors[0]) as connection:
            _answer(connection, control, spare, said)
    spare.close()


def _answer(connection: socket.socket, control: socket.socket, spare: Spare, said: bytes) -> None:
    started = json.loads(said)["accepted"]
    connection.settimeout(REQUEST_TIMEOUT_S)
    try:
        request = receive(connection)
        if request.kind != b"event":
            connection.sendall(said)
            return
        if not _ours(request.place) or not _together(request.place.process):
            return
        request.place.enter()
        spare.tell(request.place, request.argument, started)
        connection.sendall(relay.READY_NOW)
        connection.settimeout(GO_TIMEOUT_S)
        request.place.take()
        engine.passed("ready")
        if not _take_descriptors(connection):
            return
    except (OSError, ValueError):
        return  # the caller hasn't sent `GO`, so it answers for itself
    connection.settimeout(None)
    engine.passed("accepted", at=started)
    streams: list[Relayed] = []

    def take() -> Relayed:
        streams.append(Relayed(connection, control))
        return streams[0]

    code = engine.dispatch(request.argument, take, started, spare)
    for each in streams:
        each.let_go(code)
    engine.passed("over")


def receive(connection: socket.socket) -> Request:
    """Read a request.

    Raises:
        OSError: it doesn't come in time.
        ValueError: it is malformed.
    """
    parts = bytearray(connection.recv(_CHUNK_BYTES))
    length = int(parts[:_LENGTH_DIGITS])
    if not 0 < length <= _REQUEST_LIMIT_BYTES:
        raise ValueError(f"a request of {length} bytes")
    while len(parts) < _LENGTH_DIGITS + length:
        part = connection.recv(_LENGTH_DIGITS + length - len(parts))
        if not part:
            raise ValueError("a request that ends too soon")
        parts += part
    kind, argument, folder, mask, *pairs = bytes(parts[_LENGTH_DIGITS:]).split(b"\0")
    environ = dict(pair.split(b"=", 1) for pair in pairs if pair.find(b"=") > 0)  # `os.environ` takes no empty names
    place = Place(environ, folder, int(mask), peer(connection))
    return Request(kind, os.fsdecode(argument) or None, place)


def _ours(place: Place) -> bool:
    """Return whether the caller has the same Holdfast folders as this server."""
    return all(place.environ.get(name) == os.environb.get(name) for name in relay.FOLDERS)


def _together(process: int) -> bool:
    """Return whether the caller runs in the same namespaces as this process, and not in a sandbox (Linux)."""
    ours = own_surroundings()
    return not ours or ours == _surroundings(process)


@cache  # they never change, so a worker finds out before its event comes
def own_surroundings() -> list[tuple[int, int]]:
    """Return what identifies this process's namespaces and root folder; nothing if this is no Linux."""
    try:
        return _surroundings("self")
    except OSError:
        return []


def _surroundings(process: int | str) -> list[tuple[int, int]]:
    found = [os.stat(f"/proc/{process}/{each}") for each in _SURROUNDINGS]  # noqa: PTH116 - for each event
    return [(each.st_dev, each.st_ino) for each in found]


def _take_descriptors(connection: socket.socket) -> bool:
    """Wait for `GO` and take over the standard descriptors that come with it. Return whether it came."""
    word, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    if word != relay.GO or len(descriptors) != 3:
        return False
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    return True


def peer(connection: socket.socket) -> int:
    """Return the process id of the caller, or of this process if the system doesn't tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.getpid()
    return int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
