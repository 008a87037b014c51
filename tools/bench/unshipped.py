"""The trivial job by each relay and in ways that Holdfast doesn't ship: whole processes, or questions to a server."""

from __future__ import annotations

import json
import socket
import subprocess
from functools import partial
from typing import TYPE_CHECKING

from holdfast.install import register
from holdfast.testkit.client import encoded
from tools.bench.alternatives import starting
from tools.bench.client import ways
from tools.bench.race import Contestant

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from tools.bench.place import Place

_HEAD = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def contestants(place: Place, stack: ExitStack, *, server: bool) -> list[Contestant]:
    """Return a contestant for each way that can be tried here.

    Args:
        place: the home and project of the event.
        stack: ends the started processes when closed.
        server: whether a warm server answers; without one, only the ways that don't need it are returned.
    """
    data = encoded(
        place.payload("PreToolUse-Bash", tool_input={"command": "printenv SECRET", "description": "Show it"})
    )
    found = [
        _asking("mcp_tool, by itself: one question", _mcp(place, stack), data),
        _asking("HTTP, by itself: one question", _http(place, stack), data),
    ]
    if not server:
        return found
    found += [
        _asking("mcp_tool, to the server: one question", _mcp(place, stack, place.entry), data),
        _asking("HTTP, to the server: one question", _http(place, stack, place.entry), data),
    ]
    relays: list[tuple[str, tuple[str, ...]]] = []
    if place.native:
        relays += [
            (ways.NATIVE, ("/bin/sh", "-c", register.command(ways.EVENT))),
            (ways.NO_SHELL, (str(place.launcher), ways.EVENT)),
        ]
    return found + [_process(name, command, data) for name, command in relays]


def _process(name: str, command: tuple[str, ...], data: bytes) -> Contestant:
    return Contestant(name, "way", command, data, ways.REFUSED, asks=True)


def _asking(name: str, ask: partial[bytes], data: bytes) -> Contestant:
    return Contestant(name, "way", stdin=data, says=ways.REFUSED, ask=ask, asks="to the server" in name)


def _http(place: Place, stack: ExitStack, *launcher: Path) -> partial[bytes]:
    return partial(_post, starting.http(place, stack, *launcher))


def _post(port: int, data: bytes) -> bytes:
    """Send an event over its own connection, and return head and body of the answer."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(_HEAD % len(data) + data)
        answer = b""
        while ways.REFUSED.encode() not in answer:
            part = connection.recv(1 << 16)
            if not part:
                break
            answer += part
        return answer


def _mcp(place: Place, stack: ExitStack, *launcher: Path) -> partial[bytes]:
    process = subprocess.Popen(
        starting.mcp(*launcher),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=starting.environ(place),
        cwd=place.root,
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    return partial(_call, process)


def _call(process: subprocess.Popen[bytes], data: bytes) -> bytes:
    """Call the tool with an event, and return the line with the answer."""
    assert process.stdin
    assert process.stdout
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "event", "arguments": json.loads(data)},
    }
    process.stdin.write(json.dumps(call).encode() + b"\n")
    process.stdin.flush()
    return process.stdout.readline()
