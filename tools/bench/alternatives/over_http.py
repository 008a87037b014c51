"""A minimal HTTP server for hooks of the type `http`: it prints its port and serves until it is killed.

python -m tools.bench.alternatives.over_http [LAUNCHER]
"""

from __future__ import annotations

import re
import socket
import sys
import threading

from tools.bench.alternatives.answering import Answering

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def main() -> None:
    """Listen on a free port of the loopback interface."""
    answering = Answering(sys.argv[1] if len(sys.argv) > 1 else None)
    lock = threading.Lock()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, answering, lock), daemon=True).start()


def serve(connection: socket.socket, answering: Answering, lock: threading.Lock) -> None:
    """Answer the requests of one connection, one after another."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb") as stream:
        while True:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = stream.readline()
                if not line:
                    return
                head += line
            length = _LENGTH.search(head)
            body = stream.read(int(length[1]) if length else 0)
            with lock:
                said = answering.answer(body)
            connection.sendall(_HEAD % len(said) + said)


if __name__ == "__main__":
    main()
