"""Events that the server's loop answers itself: those that no handler matches, as far as it knows (`silence`).

The loop waits for none of them: it reads what is there and goes on. What isn't answered a moment after `GO`, because
its stdin is slow, large or a terminal, or because a handler matches after all, goes to a worker with what was read.
"""

from __future__ import annotations

import json
import os
import select
import socket
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast import relay
from holdfast.server import silence, turn

if TYPE_CHECKING:
    from holdfast.server.silence import Silence

MOST = 8
"""How many events the loop holds at a time; others go to workers."""
KNOWN = 64
"""How many kinds of event are remembered, over all projects."""
SLOW_S = 0.05
"""Time from `GO` until stdin must have ended."""
INPUT_LIMIT_BYTES = 65_536
"""Size of the input that the loop parses; more takes so long that others would wait."""
_REQUEST_LIMIT_BYTES = 65_536


@dataclass
class Held:
    """An event that the loop answers.

    Attributes:
        connection: to the caller.
        raw: what the caller asked, as it came.
        request: the same.
        known: why nobody should want the event.
        accepted: the `time.monotonic()` when the caller was accepted.
        project: the caller's project, as the workers are shared out.
        descriptors: the caller's streams, once it has said `GO`.
        data: what was read of its stdin.
        due: the `time.monotonic()` at which it goes to a worker; 0 before `GO`.
    """

    connection: socket.socket
    raw: bytes
    request: turn.Request
    known: Silence
    accepted: float
    project: bytes
    descriptors: list[int] = field(default_factory=list)
    data: bytearray = field(default_factory=bytearray)
    due: float = 0.0

    def sizes(self) -> dict[str, int]:
        """Return how many bytes of the request and of stdin a worker is handed."""
        return {"request": len(self.raw), "data": len(self.data)}

    def watched(self) -> int:
        """Return the descriptor that becomes readable when there is something to do; -1 for none."""
        if not self.due:
            return self.connection.fileno()
        return self.descriptors[0] if self.due > time.monotonic() else -1

    def read(self) -> bool:
        """Take what the caller has sent, without waiting. Return whether its stdin has ended."""
        if not self.due:
            self._go()
        while self.due > time.monotonic() and _readable(self.descriptors[0]):
            try:
                chunk = os.read(self.descriptors[0], INPUT_LIMIT_BYTES)
            except OSError:
                self.due = time.monotonic()  # a worker says what is wrong
                break
            if not chunk:
                return True
            self.data += chunk
            if len(self.data) > INPUT_LIMIT_BYTES:
                self.due = time.monotonic()
        return False

    def _go(self) -> None:
        """Take over the streams that come with `GO`. Raises OSError, also if the caller is gone."""
        word, descriptors, _, _ = socket.recv_fds(self.connection, 1, 3, socket.MSG_DONTWAIT)
        self.descriptors = descriptors
        if word != relay.GO or len(descriptors) != 3:
            raise OSError("the caller has gone")
        # After `poll` none of these keeps its reader waiting, but a terminal may. Claude Code gives a socket.
        kind = stat.S_IFMT(os.fstat(descriptors[0]).st_mode)
        self.due = time.monotonic() + (SLOW_S if kind in (stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFREG) else 0.0)

    def covered(self) -> bool:
        """Return whether nobody wants the event, now that its stdin has ended, if the files are as they were."""
        try:
            payload = json.loads(self.data.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return False
        return self.known.covers(payload, self.request.place.strings())

    def answer(self) -> None:
        """Let the caller go with nothing said."""
        self.drop_streams()
        with suppress(OSError):  # the caller is gone
            self.connection.send(bytes([0]))
        self.connection.close()

    def close(self) -> None:
        """Close this process's ends; the event belongs to another process, or to nobody any more."""
        self.drop_streams()
        self.connection.close()

    def drop_streams(self) -> None:
        """Close this process's copies of the streams."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []


class Silences:
    """What is known of events that nobody wants."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[tuple[str, str], Silence] = {}

    def learn(self, message: bytes) -> None:
        """Remember what a worker has said."""
        said = silence.parsed(message)
        if said:
            self._known.pop((said.root, said.event), None)
            self._known[said.root, said.event] = said
            if len(self._known) > KNOWN:
                del self._known[next(iter(self._known))]

    def take(self, connection: socket.socket, accepted: float, project: bytes) -> Held | None:
        """Take an event over from a caller that waits for its turn, and say that it may go on.

        Returns:
            The event, or None if a worker must answer it; nothing was read then.
        """
        if not self._known or (project and os.fsdecode(project) not in {root for root, _ in self._known}):
            return None
        try:
            data = connection.recv(_REQUEST_LIMIT_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            request = turn.parsed(data, peer=turn.peer(connection))
            if request is None or request.kind != b"event":
                return None
            environ = request.place.strings()
            known = self._known.get((environ.get(silence.root_variable(), ""), request.argument or ""))
            if known is None or not silence.plain(environ) or not turn.may_answer(request.place):
                return None
            connection.recv(len(data), socket.MSG_DONTWAIT)
            connection.send(relay.READY_NOW)
        except (OSError, ValueError):
            return None
        return Held(connection, data, request, known, accepted, project)

    def silent(self, event: Held) -> bool:
        """Return whether nobody wants an event, now that its stdin has ended; what no longer holds is forgotten."""
        if not event.covered():
            return False
        if event.known.holds():
            return True
        self._known.pop((event.known.root, event.known.event), None)
        return False


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
