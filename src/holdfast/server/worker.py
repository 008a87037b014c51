"""A child of the server: it warms up, waits for one event, takes over the caller's surroundings, answers, and ends."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import select
import signal
import socket
import time
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import engine, log, paths
from holdfast.config import Config
from holdfast.dispatch import intake
from holdfast.dispatch.interrupts import EventEnded
from holdfast.dispatch.output import Streams
from holdfast.files import status_file
from holdfast.memory.store import Ledger
from holdfast.plugins import discovery
from holdfast.process import set_caller
from holdfast.project import OpenProject
from holdfast.server import protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.dispatch.output import Reply
    from holdfast.server.preload import Stamp
    from holdfast.server.protocol import Request

REQUEST_TIMEOUT_S = 1.0
GO_TIMEOUT_S = 60.0
"""Time for the caller to send *go*; long in case its process is stopped just then."""
WRITTEN_TIMEOUT_S = 5.0
"""Time for the caller to write the reply, if a handler wants to know."""
REST_S = 0.03
"""Pause after an answer: the caller, its shell and the client need the processor now."""
MARGIN_S = 2
"""Time after our own deadline at which the caller gives up."""
ANSWERS, STALE = b"+\n", b"!\n"
"""A child's messages to the server: it answers an event, not a question for the status; the code has changed."""
_SURROUNDINGS = (*(f"ns/{each}" for each in protocol.SPACES), "root")  # in /proc/PID


class Relayed(Streams):
    """The streams of a client that waits for the relay: it writes the reply, and this process has none of them."""

    def __init__(self, connection: socket.socket) -> None:
        """Ask the kernel for a SIGIO when the caller hangs up, because then the client has ended the event."""
        self.private, self._connection, self._waits = (connection.fileno(),), connection, True
        signal.signal(signal.SIGIO, engine.end_event)
        fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
        self._flags = fcntl.fcntl(connection, fcntl.F_GETFL)
        fcntl.fcntl(connection, fcntl.F_SETFL, self._flags | os.O_ASYNC)
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        if poll.poll(0):  # it has hung up already
            raise EventEnded

    def expect(self, until: float) -> None:
        """Announce by which `time.monotonic()` the reply comes."""
        self._send(protocol.frame(protocol.READY, first=int(max(until - time.monotonic(), 0.0)) + MARGIN_S))

    def write(self, reply: Reply) -> None:
        """Send the whole reply to the relay."""
        out, error = (text.encode("utf-8", errors="replace") for text in (reply.stdout, reply.stderr))
        self._last(protocol.frame(protocol.REPLY, reply.exit_code, out, error))

    def refuse(self, event: str, why: str, guard: str) -> None:
        """Have the relay refuse the event."""
        self._last(protocol.frame(protocol.REFUSE, 0, why.encode("utf-8", "replace"), guard.encode("utf-8", "replace")))

    def delivered(self) -> bool:
        """Return whether the relay has written the reply; wait until it says so."""
        self._connection.settimeout(WRITTEN_TIMEOUT_S)
        with suppress(OSError):
            return self._connection.recv(1) == protocol.WRITTEN
        return False

    def release(self) -> None:
        """Let the relay end; an event without a reply ends with 0."""
        if self._waits:
            if not self.answered:
                self._last(protocol.frame(protocol.REPLY))
            self._waits = False
            self._connection.close()
            time.sleep(REST_S)

    def close(self) -> None:
        """Let the relay end."""
        self.release()

    def _last(self, message: bytes) -> None:
        """Send the answer. From now on the caller may hang up."""
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        fcntl.fcntl(self._connection, fcntl.F_SETFL, self._flags)
        self._connection.settimeout(None)
        self.answered = True
        self._send(message)

    def _send(self, message: bytes) -> None:
        with suppress(OSError):  # the caller is gone
            self._connection.sendall(message)


def serve(
    listener: socket.socket, lifeline: int, takes: int, stamp: Stamp, status: Callable[[], object], *, warm_up: bool
) -> None:
    """Wait for an event and answer it.

    Args:
        listener: the listening socket, non-blocking.
        lifeline: a pipe that ends with the server.
        takes: a pipe to the server, to say that a connection was taken: this process's id and a newline.
        stamp: what is loaded.
        status: returns the status that `holdfast server` prints.
        warm_up: whether there is time to answer sample events first.
    """
    os.setpgid(0, 0)
    gc.disable()  # so short a process has little garbage
    if warm_up:
        answer_samples()
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(lifeline, 0)
    while True:
        if any(descriptor == lifeline for descriptor, _ in poll.poll()):
            return
        with suppress(BlockingIOError, ConnectionAbortedError):  # another child was quicker
            connection, _ = listener.accept()
            break
    started = time.monotonic()
    listener.close()
    _tell(takes, b"%d\n" % os.getpid())
    os.close(lifeline)
    with connection, suppress(OSError, ValueError):  # before *go* the caller answers for itself
        if not protocol.ours(connection):
            return
        connection.settimeout(REQUEST_TIMEOUT_S)
        request = protocol.receive(connection)
        if request.kind != b"event":
            connection.sendall(json.dumps(status()).encode())
        elif stamp.changed(whole=False):
            _tell(takes, STALE)  # and the caller goes cold
        elif _take_place(connection, request):
            _tell(takes, ANSWERS)
            os.close(takes)
            _answer(connection, os.fsdecode(request.argument), started)


def _tell(takes: int, message: bytes) -> None:
    """Send the server a message. If it has died, no event is lost."""
    with suppress(OSError):
        os.write(takes, message)


def answer_samples() -> None:
    """Have the shipped handlers answer the client's sample events, in a project without files; never raises.

    A forked process copies each memory page on first use. That takes longer than answering an event does,
    so it is done before the event comes. None of the user's handlers runs.
    """
    client, environ = engine.CLIENT, {engine.CLIENT.ROOT_VARIABLE: os.devnull}
    surroundings_of("self")
    shipped = [each for each in discovery.offered(client, "shipped", paths.shipped("handlers")) if each.active]
    with suppress(Exception), Ledger.open(None) as memory:
        for payload in client.samples():
            with Path(os.devnull).open("rb") as nothing:
                read = intake.read(nothing.fileno(), json.dumps(payload).encode())
            client.foreign(read, environ)
            nobody = engine.open_project(environ, tell=False)
            engine.choose(read, discovery.find(client, nobody, for_event=True))
            project = OpenProject(Path(os.devnull), Config(), client=client)
            vars(project)["ledger"] = memory
            plan, event = engine.choose(read, shipped)
            if plan and event:
                engine.answer(project, plan, event, environ, time.monotonic(), _Nowhere())
    log.set_project(None)


class _Nowhere(Streams):
    """Streams that lead nowhere."""

    def __init__(self) -> None:
        self.private = ()

    def write(self, reply: Reply) -> None:
        """Write nothing."""


def _take_place(connection: socket.socket, request: Request) -> bool:
    """Take the caller's surroundings, and its stdin once it says *go*. Return whether the event is this process's."""
    caller = protocol.process_of(connection)
    if surroundings_of(caller) != surroundings_of("self"):
        return False  # it runs in a sandbox
    if any(request.environ.get(name) != os.environb.get(name) for name in protocol.FOLDERS):
        return False  # it has other Holdfast folders than this server
    os.chdir(request.folder)
    connection.sendall(protocol.frame(protocol.READY, first=int(engine.PREPARE_LIMIT_S) + MARGIN_S))
    zone = os.environb.get(b"TZ")
    os.umask(request.mask)
    os.environb.clear()
    os.environb.update(request.environ)
    if request.environ.get(b"TZ") != zone:
        time.tzset()
    set_caller(caller)
    connection.settimeout(GO_TIMEOUT_S)
    word, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    if word != protocol.GO or len(descriptors) != 1:
        return False
    os.dup2(descriptors[0], 0)
    os.close(descriptors[0])
    connection.settimeout(None)
    return True


def _answer(connection: socket.socket, argument: str, started: float) -> None:
    """Answer the event, or print the client's status line. An exception leaves it to the relay."""
    if argument == status_file.ARGUMENT:
        connection.sendall(protocol.frame(protocol.REPLY, 0, status_file.text(), b""))
        return
    engine.dispatch(argument or None, partial(Relayed, connection), started)


@cache
def surroundings_of(process: int | str) -> list[tuple[int, int]]:
    """Return the identity of a process's namespaces and root folder; empty on systems other than Linux."""
    if not os.path.exists("/proc/self/ns"):  # noqa: PTH110 - for each event
        return []
    found = [os.stat(f"/proc/{process}/{each}") for each in _SURROUNDINGS]  # noqa: PTH116
    return [(each.st_dev, each.st_ino) for each in found]
