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
from holdfast.server import handlers_child, rehearsal, silence
from holdfast.server.handlers_child import Place

if TYPE_CHECKING:
    from holdfast.dispatch.output import Reply

REQUEST_TIMEOUT_S = 1.0
"""Time for the caller to send its request."""
GO_TIMEOUT_S = 60.0
"""Time for the caller to send `GO`. It does so at once; this is long in case the process is stopped just then."""
REST_S = 0.03
"""Time for the caller and its shell to end, and for the client to run the tool, before this process goes on.

There may be fewer processors than processes, and most of what a worker does after its answer takes as long as they do.
"""
MARGIN_S = 2
"""Time after our own deadline, at least a second, at which the caller gives up."""
ANSWERED = b"a\n"
"""A worker's message to the server that the caller was released: the worker no longer works for anybody."""
HANDED_LIMIT_BYTES = 262_144
"""Size of what the server hands to a worker at once: its status, and what it has read of a caller and its stdin."""
REHEARSE = b"r"
"""The server's message to a worker that was forked in advance: there is time to rehearse."""
REHEARSED = b"r\n"
"""The answer to that."""
SILENT = b"s"
"""Begins a worker's line to the server on why no handler wants such an event (`silence`)."""
_LENGTH_DIGITS = 8  # of a request's length
_REQUEST_LIMIT_BYTES = 8 << 20
_CHUNK_BYTES = 32_768
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
            time.sleep(REST_S)
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


def wait(control: socket.socket, root: str = "") -> None:
    """Run in a worker: answer the one connection that comes over `control`, or end with the server.

    Args:
        control: to the server, which may say `REHEARSE` first.
        root: the root of the project whose event it probably is, as the last one's caller named it; empty for none.
    """
    # Only a look: the handlers' child must not get the connection, or its caller wouldn't notice this process's death.
    first = control.recv(len(REHEARSE), socket.MSG_PEEK)
    if not first:  # the server has ended
        return
    early = first == REHEARSE

    def handle(told: Told, report: int, captured: int, heard: int) -> None:
        if early:
            rehearsal.of_handlers()  # it takes longer than the worker's own
            handlers_child.rehearsed_place().take()
            if root:
                handlers_child.hold_ledger(root)
            with suppress(OSError):  # the server has ended
                control.send(REHEARSED)
        control.close()
        handlers_child.handle(told, report, captured, heard)

    spare = Spare.fork(handle)
    if early:
        control.recv(len(REHEARSE))
        rehearsal.of_engine()
        _rehearse()
    said, descriptors, _, _ = socket.recv_fds(control, HANDED_LIMIT_BYTES, 4)
    if descriptors:  # otherwise the server has ended
        with socket.socket(fileno=descriptors[0]) as connection:
            status, _, begun = said.partition(b"\n")
            _answer(connection, control, spare, status, begun, descriptors[1:])
    spare.close()


def _rehearse() -> None:
    """Read a request, look at its caller and take its place, as `_answer` does; the caller is this process."""
    ours, theirs = socket.socketpair()
    with suppress(OSError, ValueError), ours, theirs:
        ours.settimeout(REQUEST_TIMEOUT_S)
        pairs = [b"%b=%b" % pair for pair in handlers_child.rehearsed_place().environ.items()]
        body = b"\0".join((b"event", b"", b"/", b"18", *pairs))
        theirs.sendall(b"%8d%b" % (len(body), body))
        place = receive(ours).place
        may_answer(place)
        place.take()


def _answer(
    connection: socket.socket, control: socket.socket, spare: Spare, said: bytes, begun: bytes, streams: list[int]
) -> None:
    """Answer an event.

    Args:
        connection: to the caller.
        control: to the server.
        spare: the handlers' child.
        said: the server's status, as JSON.
        begun: what the server has read already: the request, followed by the beginning of stdin.
        streams: the caller's streams, if it has said `GO` to the server.
    """
    status = json.loads(said)
    started, given = status["accepted"], status.get("request", 0)
    connection.settimeout(REQUEST_TIMEOUT_S)
    try:
        while len(begun) < given + status.get("data", 0):
            begun += control.recv(HANDED_LIMIT_BYTES)
        known = parsed(begun[:given], peer(connection)) if given else None
        request = known or receive(connection)
        if request.kind != b"event":
            connection.sendall(said)
            return
        if not known and not may_answer(request.place):
            return
        request.place.enter()
        spare.tell(request.place, started)
        if not known:
            connection.sendall(relay.READY_NOW)
        connection.settimeout(GO_TIMEOUT_S)
        request.place.take()
        engine.passed("ready")
        if not streams and not _take_descriptors(connection):
            return
        _put(streams)
    except (OSError, ValueError):
        return  # the caller hasn't sent `GO`, so it answers for itself
    connection.settimeout(None)
    engine.passed("accepted", at=started)
    _dispatch(request.argument, connection, control, spare, started, bytearray(begun[given:]))


def _dispatch(
    argument: str | None,
    connection: socket.socket,
    control: socket.socket,
    spare: Spare,
    started: float,
    data: bytearray,
) -> None:
    """Answer the event on this process's streams, let the caller go, and tell the server if nobody wanted it."""
    streams: list[Relayed] = []

    def take() -> Relayed:
        streams.append(Relayed(connection, control))
        return streams[0]

    code = engine.dispatch(argument, take, started, spare, data)
    for each in streams:
        each.let_go(code)
    engine.passed("over")
    if streams and not streams[0].written:
        with suppress(Exception):  # the next such event goes to a worker, too
            _tell(control, argument)


def _tell(control: socket.socket, argument: str | None) -> None:
    """Tell the server why no handler wanted this event, if that is plain and fits."""
    known = silence.observed(argument)
    said = SILENT + known.message() + b"\n" if known else b""
    if 0 < len(said) <= silence.MESSAGE_LIMIT_BYTES:
        control.sendall(said)


def receive(connection: socket.socket) -> Request:
    """Read a request.

    Raises:
        OSError: it doesn't come in time.
        ValueError: it is malformed.
    """
    parts = bytearray(connection.recv(_CHUNK_BYTES))
    asks = peer(connection)
    while (request := parsed(bytes(parts), asks)) is None:
        part = connection.recv(_length(parts) - len(parts))  # what comes after it is left for later
        if not part:
            raise ValueError("a request that ends too soon")
        parts += part
    return request


def parsed(data: bytes, peer: int) -> Request | None:
    """Return the request in what a caller has sent so far, None if more must come.

    Args:
        data: its bytes.
        peer: the caller's process id.

    Raises:
        ValueError: it is malformed.
    """
    length = _length(data)
    if len(data) > length:
        raise ValueError(f"a request of {len(data)} bytes instead of {length}")
    if len(data) < length:
        return None
    kind, argument, folder, mask, *pairs = data[_LENGTH_DIGITS:].split(b"\0")
    environ = dict(pair.split(b"=", 1) for pair in pairs if pair.find(b"=") > 0)  # `os.environ` takes no empty names
    return Request(kind, os.fsdecode(argument) or None, Place(environ, folder, int(mask), peer))


def _length(data: bytes | bytearray) -> int:
    """Return the size of a request with its head, from its first bytes. Raises ValueError."""
    length = int(data[:_LENGTH_DIGITS])
    if not 0 < length <= _REQUEST_LIMIT_BYTES:
        raise ValueError(f"a request of {length} bytes")
    return _LENGTH_DIGITS + length


def may_answer(place: Place) -> bool:
    """Return whether this server may answer for a place. Raises OSError if its process is gone."""
    return _ours(place) and _together(place.process)


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
    _put(descriptors)
    return True


def _put(descriptors: list[int]) -> None:
    """Make descriptors the standard ones."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)


def peer(connection: socket.socket) -> int:
    """Return the process id of the caller, or of this process if the system doesn't tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.getpid()
    return int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
