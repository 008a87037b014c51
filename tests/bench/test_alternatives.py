"""The ways that Holdfast doesn't ship speak the server's protocol, so they do the same work as those compared."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from bench import place as places
from bench.alternatives import starting
from holdfast import relay

if TYPE_CHECKING:
    from pathlib import Path

_LONGER = relay.LONGER + (2).to_bytes(2, "big")


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler here")
@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"\x00", 0),
        (b"\x02", 2),
        (relay.WRITTEN + b"\x02", 2),
        (_LONGER + relay.WRITTEN + b"\x00", 0),
        (_LONGER + b"\x02", 2),
        (relay.WRITTEN, 0),
        (b"", 0),
    ],
)
def test_the_c_client_waits_for_the_childs_exit_code(short_folder: Path, said: bytes, code: int) -> None:
    """What the child says before is no exit code; its reply is written while the client waits (relay.py)."""
    place = places.at(short_folder)
    folder = place.home / ".local/state/holdfast/server"
    folder.mkdir(parents=True, mode=0o700)
    server = socket.socket(socket.AF_UNIX)
    server.settimeout(60)
    server.bind(str(folder / "0"))
    server.listen()
    program = starting.compiled(place)
    assert program

    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1 << 20)
            connection.sendall(relay.ALIVE + relay.WAIT + relay.READY_NOW)
            word, passed, *_ = socket.recv_fds(connection, 1, 3)
            assert word == relay.GO
            os.write(passed[1], b"reply")
            for each in passed:
                os.close(each)
            connection.sendall(said)

    child = threading.Thread(target=answer)
    child.start()
    done = subprocess.run(
        [program, "PreToolUse"], stdin=subprocess.DEVNULL, capture_output=True, env={}, check=False, timeout=500
    )
    child.join(60)
    server.close()

    assert (done.stdout, done.returncode) == (b"reply", code)
