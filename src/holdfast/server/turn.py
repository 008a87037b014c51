"""One event in the server's child: it takes the place of who asks, says that it is ready, and answers when told to."""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast import engine, relay
from holdfast.dispatch.output import Streams
from holdfast.process.spare import Spare, Told
from holdfast.server import handlers_child, rehearsal
from holdfast.server.handlers_child import Place

if TYPE_CHECKING:
    from holdfast.dispatch.output import Reply

REQUEST_TIMEOUT_S = 1.0
"""Seconds who asks has to send what it asks."""
GO_TIMEOUT_S = 60.0
"""Seconds it has to say `GO`: it does so at once, and if it were stopped just then its event must not be lost."""
MARGIN_S = 2
"""Seconds after our own deadline, one at least, at which who asks gives us up."""
ANSWERED = b"a"
"""What a child tells the server when who asked may go: what it still does is nobody's loss then."""
_LENGTH_DIGITS = 8  # digits of a request's length
_REQUEST_LIMIT_BYTES = 8 << 20
_CHUNK_BYTES = 32_768
_STATUS_LIMIT_BYTES = 8192  # bytes the server says of itself


class Relayed(Streams):
    """The streams of a client that waits for another process than this one: it goes on when it is told its code."""

    def __init__(self, connection: socket.socket, control: socket.socket) -> None:
        """Take what came as this process's standard descriptors.

        Args:
            connection: to the process that the client waits for.
            control: to the server.
        """
        super().__init__((connection.fileno(), control.fileno()))
        self._connection = connection
        self._control = control
        self._waits = True

    def expect(self, until: float) -> None:
        """Have the relay wait a little longer than we may take."""
        seconds = int(max(until - time.monotonic(), 0.0)) + MARGIN_S
        with suppress(OSError):  # who asked has gone
            self._connection.send(relay.LONGER + seconds.to_bytes(2, "big"))

    def write(self, reply: Reply) -> None:
        """Write the reply, and tell the relay that it must not refuse in our place any more."""
        super().write(reply)
        with suppress(OSError):  # who asked has gone
            self._connection.send(relay.WRITTEN)

    def answerable(self) -> bool:
        """Tell whether anybody waits: a relay that has ended may have left its event to somebody else."""
        poll = select.poll()
        poll.register(self._connection, 0)  # POLLHUP is always told; a relay that only stopped sending still listens
        return super().answerable() and self._waits and not poll.poll(0)

    def let_go(self, code: int) -> bool:
        """Tell it once; what comes later is too late."""
        if self._waits:
            self._waits = False
            engine.passed("let_go")
            self.close()
            with suppress(OSError):  # the server has ended meanwhile
                self._control.send(ANSWERED)
            with suppress(OSError):  # who asked has gone
                self._connection.send(bytes([code]))
        return True


@dataclass
class Request:
    """What comes over a connection first.

    Attributes:
        kind: `event`, or `status` for what the server has to say of itself.
        argument: the event's name on the command line, or None.
        place: where it is to be answered.
    """

    kind: bytes
    argument: str | None
    place: Place


def wait(control: socket.socket, *, early: bool) -> None:
    """Be a child of the server: answer the one connection that comes over `control`, or end with the server.

    Args:
        control: to the server.
        early: whether there is time to rehearse before it comes.
    """

    def handle(told: Told, report: int, captured: int, heard: int) -> None:
        control.close()
        if early:
            rehearsal.of_handlers()
        handlers_child.handle(told, report, captured, heard)

    spare = Spare.fork(handle)
    if early:
        rehearsal.of_engine()
    said, descriptors, _, _ = socket.recv_fds(control, _STATUS_LIMIT_BYTES, 1)
    if descriptors:  # else the server has ended
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
        return  # who asks answers for itself: it has not said `GO`
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
        OSError: it does not come.
        ValueError: it is none.
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
    environ = dict(pair.split(b"=", 1) for pair in pairs if pair.find(b"=") > 0)  # no name can be empty here
    place = Place(environ, folder, int(mask), peer(connection))
    return Request(kind, os.fsdecode(argument) or None, place)


def _ours(place: Place) -> bool:
    """Tell whether the folders of who asks are the ones that this server has read."""
    return all(place.environ.get(name) == os.environb.get(name) for name in relay.FOLDERS)


def _together(process: int) -> bool:
    """Tell whether who asks sees the same system as we do, in no sandbox that our handlers are not in (Linux)."""
    names = [*(f"ns/{each}" for each in relay.SPACES), "root"]
    try:
        ours = [os.stat(f"/proc/self/{each}") for each in names]  # noqa: PTH116 - for each event
    except OSError:
        return True  # no Linux
    theirs = [os.stat(f"/proc/{process}/{each}") for each in names]  # noqa: PTH116 - for each event
    return all(map(os.path.samestat, ours, theirs))


def _take_descriptors(connection: socket.socket) -> bool:
    """Wait for the word `GO` and take the standard descriptors that come with it; False where it does not come."""
    word, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    if word != relay.GO or len(descriptors) != 3:
        return False
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    return True


def peer(connection: socket.socket) -> int:
    """Return the process id of who asks; our own where it cannot be told."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.getpid()
    return int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
