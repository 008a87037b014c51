"""The protocol between a relay (`relay.c`) and an idle child of the server, over a Unix socket.

1. The relay connects and sends a *request*: eight digits with its length, then the kind, the event's name, the working
   directory, the umask and the environment, with zeros between them.
2. The child sends *ready* with the seconds until it will have answered. If that doesn't come within a second, the relay
   hangs up and starts the entrypoint: stdin is unread, so nothing is lost. The child sends it again, with
   another limit, once it knows which handlers are called.
3. The relay sends *go* with its stdin. From here on the event is answered once, by this child, or not at all.
4. The child sends the whole *reply* with the exit code, or *refuse* with a reason. The relay writes the reply. If the
   connection ends before the reply is complete, or the limit passes, the relay lets `refuse.sh` decide. So a child that
   dies while it replies leaves no partial reply, and the client never gets two.
5. The relay sends *written*. The child tells the handlers that want to know, and hangs up. The relay ends with the exit
   code.

If the relay hangs up, the client has ended the event.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBER = 2
"""The protocol's number. It is part of the address, so a relay and a server of different protocols never meet."""
GO, WRITTEN = b"g", b"w"
"""The relay's messages."""
READY, REPLY, REFUSE = b"r", b"=", b"!"
"""A child's messages, each in a frame of its own (`frame`)."""
REQUEST_LIMIT_BYTES = 8 << 20

FOLDERS = (b"HOME", b"XDG_CONFIG_HOME", b"XDG_STATE_HOME", b"XDG_DATA_HOME", b"XDG_CACHE_HOME")
"""The variables that decide where Holdfast's folders are; each combination of values has its own server."""
SPACES = ("mnt", "net", "user", "pid")
"""The Linux namespaces that an event must not leave, because its process may run in a sandbox."""
_FRAME = struct.Struct("!cBII")
_HEAD_BYTES = 8
_OFF = (b"off", b"0", b"no", b"false")


class Request(NamedTuple):
    """A relay's request: `event` or `status`, the event's name, and the caller's folder, umask and environment."""

    kind: bytes
    argument: bytes
    folder: bytes
    mask: int
    environ: dict[bytes, bytes]


def frame(kind: bytes, code: int = 0, first: bytes | int = 0, second: bytes | int = 0) -> bytes:
    """Return a message: its kind, the exit code, and two numbers, or two texts after their lengths."""
    texts = [each for each in (first, second) if isinstance(each, bytes)]
    sizes = [len(each) if isinstance(each, bytes) else each for each in (first, second)]
    return b"".join([_FRAME.pack(kind, code, *sizes), *texts])


def receive(connection: socket.socket) -> Request:
    """Read a request.

    Raises:
        OSError: no complete request arrives in time.
        ValueError: the request is malformed.
    """
    data = bytearray(connection.recv(32_768))
    size = _HEAD_BYTES + int(data[:_HEAD_BYTES])
    if not _HEAD_BYTES < size <= REQUEST_LIMIT_BYTES:
        raise ValueError(f"a request of {size} bytes")
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ValueError("a request that ends too soon")
        data += part
    kind, argument, folder, mask, *pairs = bytes(data[_HEAD_BYTES:]).split(b"\0")
    # Of two values the first one counts, as in a process of its own.
    environ = dict(pair.split(b"=", 1) for pair in reversed(pairs) if pair.find(b"=") > 0)
    return Request(kind, argument, folder, int(mask), environ)


def status_request() -> bytes:
    """Return the request for a server's status."""
    request = b"status\0\0/\0" + b"0"
    return b"%8d" % len(request) + request


def off(environ: Mapping[bytes, bytes]) -> bool:
    """Return whether an environment switches the server off (`HOLDFAST_SERVER`)."""
    return environ.get(b"HOLDFAST_SERVER", b"").lower() in _OFF


def address(entry: str, environ: Mapping[bytes, bytes]) -> bytes:
    """Return the socket's path of the server for this user, entrypoint, interpreter, sandbox and set of folders.

    `relay.c` computes the same path.

    Args:
        entry: the entrypoint's path.
        environ: the environment, as in `os.environb`.

    Returns:
        An absolute path, or empty if the path would be relative or too long for a socket.
    """
    base = environ.get(b"XDG_STATE_HOME", b"")
    if not base and environ.get(b"HOME"):
        base = environ[b"HOME"] + (b"/Library/Application Support" if sys.platform == "darwin" else b"/.local/state")
    try:
        seen = [os.stat(f"/proc/self/ns/{each}").st_ino for each in SPACES] + [os.stat("/").st_ino]  # noqa: PTH116
    except OSError:  # no Linux
        seen = []
    words = [b"%d" % os.getuid()]
    words += [text.encode("utf-8", "surrogateescape") for text in (entry, sys.executable, "utf-8")]
    for value in map(environ.get, FOLDERS):
        words += [b"unset"] if value is None else [b"set", value]
    words += [b"%d" % inode for inode in seen]
    key = 14695981039346656037  # FNV-1a is enough: nobody chooses these names
    for byte in b"\0".join([*words, b""]):
        key = (key ^ byte) * 1099511628211 % (1 << 64)
    where = base + b"/holdfast/server/%d-%016x" % (NUMBER, key)
    return where if base[:1] == b"/" and len(where) < 100 else b""  # the limit is 104 bytes, on some systems 108


def ours(peer: socket.socket) -> bool:
    """Return whether the other end of a connection is a process of this user. Raises OSError."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # nobody else can open a socket in the server's folder
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.getuid()


def process_of(peer: socket.socket) -> int:
    """Return the id of the process at the other end, or of this one if the system doesn't say."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.getpid()
    return int.from_bytes(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
