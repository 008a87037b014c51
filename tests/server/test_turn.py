"""What a worker refuses to answer: what is no request, and who is in another sandbox."""

from __future__ import annotations

import os
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.server import turn
from tests.tables import each_row

LONG_S = 60.0  # what takes moments may take this long on a busy machine


def request(*words: bytes, kind: bytes = b"event", folder: bytes = b"/", mask: bytes = b"18") -> bytes:
    """Return a request of an event named Stop, with an environment."""
    body = b"\0".join([kind, b"Stop", folder, mask, *words])
    return b"%8d" % len(body) + body


@each_row(
    "data",
    [
        b"",
        b"       0",
        b"      -5event\0\0/\0" + b"18",
        b"  letter",
        request(b"A=b")[:-1],
        b"%8d" % 9 + b"event\0\0/\0",
        b"%8d" % 5 + b"event",
        b"%8d" % 12 + b"event\0\0/\0mask",
        b"%8d" % (9 << 20) + b"event\0\0/\0" + b"18",
    ],
)
def test_what_is_no_request_is_refused_without_waiting_for_its_end(data: bytes) -> None:
    """It costs its sender the answer and nothing else."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(LONG_S)
        theirs.sendall(data)
        if not data.startswith(b" 9437184"):
            theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ValueError):
            turn.receive(ours)


@each_row("other", ["", "ns/mnt", "ns/net", "ns/user", "ns/pid", "root"])
def test_each_wall_of_a_sandbox_counts(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    """Its files, its network, its users, its processes, and a root of its own."""

    def status(path: str) -> Any:
        _, _, process, name = path.split("/", 3)
        return SimpleNamespace(st_dev=1, st_ino=2 if process == "77" and name == other else 1)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", status)
        turn.own_surroundings.cache_clear()
        together = turn._together(77)
    turn.own_surroundings.cache_clear()
    assert together is not bool(other)
