"""Hand an event from another transport to the warm server, as the relay does."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
from contextlib import suppress
from pathlib import Path

from holdfast.server import protocol

TIMEOUT_S = 20.0


class Relay:
    """A client of the warm server in a long-lived process; it answers one event at a time."""

    def __init__(self, launcher: Path) -> None:
        self._launcher = launcher

    def ask(self, event: str, payload: bytes) -> bytes:
        """Return the server's reply to an event; if the server doesn't answer, run the launcher cold."""
        data = os.memfd_create("payload")
        os.write(data, payload)
        os.lseek(data, 0, os.SEEK_SET)
        try:
            with suppress(OSError):
                return self._warm(event, data)
            return self._cold(event, payload)
        finally:
            os.close(data)

    def _warm(self, event: str, data: int) -> bytes:
        """Raises OSError if the server doesn't answer."""
        words = [b"event", event.encode(), os.fsencode(Path.cwd()), b"18"]
        request = b"\0".join([*words, *(name + b"=" + value for name, value in os.environb.items())])
        with socket.socket(socket.AF_UNIX) as server:
            server.settimeout(TIMEOUT_S)
            server.connect(protocol.address(str(self._launcher), dict(os.environb)))
            server.sendall(b"%8d" % len(request) + request)
            kind = self._frame(server)[0]
            socket.send_fds(server, [protocol.GO], [data])
            while kind == protocol.READY:
                kind, out, error = self._frame(server)
            said = self._read(server, out + error)[:out]
            server.sendall(protocol.WRITTEN)
            return said

    def _frame(self, server: socket.socket) -> tuple[bytes, int, int]:
        kind, _, first, second = struct.unpack("!cBII", self._read(server, 10))
        return kind, first, second

    def _read(self, server: socket.socket, size: int) -> bytes:
        said = b""
        while len(said) < size:
            if not (part := server.recv(size - len(said))):
                raise OSError("the server hung up")
            said += part
        return said

    def _cold(self, event: str, payload: bytes) -> bytes:
        environ = {**os.environ, "HOLDFAST_SERVER": "off"}
        done = subprocess.run([self._launcher, event], input=payload, env=environ, capture_output=True, check=False)
        return done.stdout
