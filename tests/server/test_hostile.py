"""The warm server among links, foreign files, strange callers and few descriptors."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import relay
from holdfast.server import servers
from tests import warmth
from tests.dispatch.test_intake import CURSOR
from tests.processes import INTERPRETER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.warmth import Warm

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")]

NOTES = """
    import os
    from holdfast import *
    @hookimpl
    def on_pre_tool_use(context):
        file = os.open(context.root / "ran", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, b"x")
        os.close(file)
    """
"""A handler that leaves a letter each time it runs."""


def where(place: Warm) -> Path:
    """Return where the server of a place listens, though none does."""
    asked = "import os, sys; sys.path.insert(0, sys.argv[1]); from holdfast import relay; "
    asked += "sys.stdout.buffer.write(relay.address(sys.argv[2], dict(os.environb)))"
    command = [*INTERPRETER, "-c", asked, str(place.entry.parent / "patient"), str(place.entry)]
    found = subprocess.run(command, env=place.environ(), capture_output=True, check=True)
    return Path(os.fsdecode(found.stdout))


# --- what lies in its places --------------------------------------------------------------------------------------


def test_a_link_in_place_of_the_socket_is_replaced(fresh: Warm, tmp_path: Path) -> None:
    """What it points to is not touched, and the server listens where the link was."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    at = where(fresh)
    at.parent.mkdir(parents=True, mode=0o700)
    at.symlink_to(victim)
    at.with_suffix(".new").symlink_to(victim)

    fresh.warm_up()

    assert fresh.advice() == "warm"
    assert at.is_socket() and not at.is_symlink()
    assert victim.read_text() == "precious"


def test_a_link_in_place_of_the_lock_means_cold(fresh: Warm, tmp_path: Path) -> None:
    """It is not followed: the file at its end would be emptied. The log says why there is no server."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    at = where(fresh)
    at.parent.mkdir(parents=True, mode=0o700)
    at.with_suffix(".lock").symlink_to(victim)

    assert fresh.advice() == "cold"
    fresh.until(lambda: "the server didn't start" in fresh.log())
    assert fresh.advice() == "cold"
    assert victim.read_text() == "precious"
    assert not at.exists()


def test_a_link_in_place_of_the_folder_is_as_good_as_what_it_leads_to(fresh: Warm) -> None:
    """A user may have put it elsewhere; it is made private there."""
    elsewhere = fresh.home / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    fresh.folder.parent.mkdir(parents=True)
    fresh.folder.symlink_to(elsewhere)

    fresh.warm_up()

    assert fresh.advice() == "warm"
    assert elsewhere.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_read_is_made_private(fresh: Warm) -> None:
    """By who starts the server; until then nobody asks there."""
    fresh.folder.mkdir(parents=True, mode=0o755)

    assert fresh.advice() == "cold"
    fresh.until(lambda: bool(fresh.sockets) and servers.ask(fresh.socket) is not None)
    assert fresh.folder.stat().st_mode & 0o777 == 0o700
    assert fresh.advice() == "warm"


@pytest.mark.parametrize("what", ["file", "dangling", "socket folder", "lock folder"])
def test_what_is_in_the_way_costs_the_server_and_nothing_else(fresh: Warm, what: str) -> None:
    """Something else where its folder, its lock or its socket is to be: every event is answered, and it stays there."""
    at = where(fresh)
    fresh.folder.parent.mkdir(parents=True)
    if what == "file":
        fresh.folder.write_text("precious")
    elif what == "dangling":
        fresh.folder.symlink_to(fresh.home / "gone")
    else:
        fresh.folder.mkdir(mode=0o700)
        (at if what == "socket folder" else at.with_suffix(".lock")).joinpath("in").mkdir(parents=True)

    assert [fresh.advice(), fresh.advice()] == ["cold", "cold"]
    time.sleep(1)  # one that is being started ends
    assert not fresh.sockets
    if what == "file":
        assert fresh.folder.read_text() == "precious"
    assert servers.stop_of(fresh.entry) == []


# --- who asks it --------------------------------------------------------------------------------------------------


def asked(warm: Warm, data: bytes, *, wait: bool = True) -> bytes:
    """Send bytes to the server and return all that it says until it closes."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(warmth.LONG)
        connection.connect(str(warm.socket))
        try:
            connection.sendall(data)
            said = b""
            while wait and (part := connection.recv(4096)):
                said += part
        except ConnectionError:
            pass  # it did not even want to read all that
        return said


def request(*words: bytes) -> bytes:
    """Return a request as the protocol has it."""
    body = b"\0".join(words)
    return b"%8d" % len(body) + body


def spent(warm: Warm) -> tuple[int, int]:
    """Return how many descriptors the server holds, and how many children it has."""
    children = Path(f"/proc/{warm.pid}/task/{warm.pid}/children").read_text().split()
    return len(list(Path(f"/proc/{warm.pid}/fd").iterdir())), len(children)


def settled(warm: Warm) -> tuple[int, int]:
    """Return the same when its children are ready again."""
    last, since = spent(warm), time.monotonic()
    while time.monotonic() - since < 0.5:
        time.sleep(0.05)
        if (now := spent(warm)) != last:
            last, since = now, time.monotonic()
    return last


GARBAGE = {
    "nothing": b"",
    "a word": b"hello",
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "zeros": bytes(64),
    "a huge length": b"99999999" + b"x" * 1000,
    "a negative length": b"      -1" + b"x" * 64,
    "no length": b"       0",
    "more than it says": request(b"event", b"Stop", b"/", b"18") + b"x" * 100_000,
    "too few words": request(b"event", b"Stop"),
    "no umask": request(b"event", b"Stop", b"/", b"x"),
    "no folder": request(b"event", b"Stop", b"/nowhere/at/all", b"18"),
    "an unknown kind": request(b"shutdown", b"", b"/", b"0"),
    "another one's folders": request(b"event", b"Stop", b"/", b"18", b"HOME=/root"),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_costs_only_its_sender(warm: Warm, name: str) -> None:
    """Whatever comes, the server is the same as before and answers the next event."""
    pid = warm.pid
    said = asked(warm, GARBAGE[name])

    assert said[:1] in (b"", relay.ALIVE)
    assert relay.READY_NOW not in said[1:2]
    assert warm.advice() == "warm"
    assert warm.pid == pid
    assert servers.ask(warm.socket)["answered"] == 1  # type: ignore[index]


@pytest.mark.parametrize("passed", [0, 1, 2])
def test_too_few_descriptors_are_not_taken(warm: Warm, passed: int) -> None:
    """Without the three that belong to an event it is not answered, and no handler runs."""
    warm.user_handler("says", NOTES)
    environ = [f"{name}={value}".encode() for name, value in warm.environ().items()]
    with socket.socket(socket.AF_UNIX) as connection, Path(os.devnull).open() as nothing:
        connection.settimeout(warmth.LONG)
        connection.connect(str(warm.socket))
        connection.sendall(request(b"event", b"PreToolUse", bytes(warm.root), b"18", *environ))
        said = b""
        while relay.READY_NOW not in said:
            part = connection.recv(1)
            assert part
            said += part
        socket.send_fds(connection, [relay.GO], [nothing.fileno()] * passed)
        assert connection.recv(16) == b""

    assert not (warm.root / "ran").exists()
    warm.fire(warm.call(), "PreToolUse")
    assert (warm.root / "ran").exists()


FOR_OTHERS = """
import sys
sys.path.insert(0, sys.argv[1])
from holdfast import relay; from holdfast.server import loop as server
relay.ours = lambda peer: False
sys.exit(server.main("--serve", sys.argv[2]))
"""


def test_somebody_else_is_not_answered(fresh: Warm) -> None:
    """Whoever else gets at the socket: not a word, and nothing that they say is read."""
    command = [sys.executable, "-c", FOR_OTHERS, str(fresh.entry.parent / "patient"), str(fresh.entry)]
    with subprocess.Popen(command, env=fresh.environ(CLAUDECODE=None)) as server:
        fresh.until(lambda: bool(fresh.sockets) and fresh.socket.is_socket())
        said = asked(fresh, request(b"status", b"", b"/", b"0"))
        server.terminate()

    assert said == b""


def silent(warm: Warm) -> None:
    """Connect, say nothing, and go at once."""
    asked(warm, b"", wait=False)


def garbled(warm: Warm) -> None:
    """Say nonsense and wait for the end."""
    asked(warm, b"nonsense")


def half(warm: Warm) -> None:
    """Go in the middle of a request."""
    asked(warm, request(b"event", b"Stop", b"/", b"18")[:-3], wait=False)


def before_go(warm: Warm) -> None:
    """Go when a child is ready."""
    process = warm.begin("PreToolUse")
    process.kill()
    process.communicate(timeout=500)


@pytest.mark.parametrize("who", [silent, garbled, half, before_go])
def test_fifty_of_them_leave_nothing_in_the_server(warm: Warm, who: Callable[[Warm], None]) -> None:
    """Neither a descriptor nor a child, and it is still the same one."""
    warm.advice()
    pid, before = warm.pid, settled(warm)
    for _ in range(50):
        who(warm)

    warm.until(lambda: settled(warm) == before)
    assert warm.pid == pid
    assert warm.advice() == "warm"


def test_those_who_say_nothing_keep_nobody_waiting_for_long(warm: Warm) -> None:
    """Each takes a child for a second at most: the events behind them are answered, warm, and all is given back."""
    warm.advice()
    before = settled(warm)
    with ExitStack() as held:
        for _ in range(20):
            connection = held.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(str(warm.socket))
        assert warm.advice() == "warm"
        warm.until(lambda: spent(warm)[1] <= before[1])  # though nobody has gone yet
    warm.until(lambda: settled(warm) == before)


@pytest.mark.parametrize(
    ("changes", "environ"),
    [
        (CURSOR, {}),
        ({}, {"CLAUDE_PROJECT_DIR": None}),
        ({"turn_id": "t"}, {"CLAUDECODE": None}),
    ],
)
def test_another_clients_event_is_met_with_silence(
    warm: Warm, changes: dict[str, object], environ: dict[str, str | None]
) -> None:
    """As without the server: exit 0, not a word, no handler; it was the server that said nothing."""
    payload = CURSOR if changes is CURSOR else warm.call() | changes
    ended = warm.fire(payload, "PreToolUse", environ=warm.environ(**environ))

    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    assert "PreToolUse ignored: " in warm.log()
    assert servers.ask(warm.socket)["answered"] == 1  # type: ignore[index]
    assert warm.advice() == "warm"


# --- what the system does not give it -----------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [8, 12, 16, 20, 32, 63])
def test_with_few_descriptors_there_is_no_server(fresh: Warm, limit: int) -> None:
    """It would lose events that it has taken: every event is cold instead, and the log says why."""
    with limited(fresh, limit) as server:
        fresh.until(lambda: server.poll() is not None)

    assert not fresh.folder.exists()
    if limit > 12:  # with fewer not even Python gets so far
        assert server.returncode == 1
        assert "the server didn't start: a process may open fewer than 64 files here (ulimit -n)" in fresh.log()


def test_of_a_crowd_none_is_lost_where_descriptors_run_out(fresh: Warm) -> None:
    """Forty at once where a server has no room for them: each is answered once, by it or without it."""
    fresh.user_handler("notes", NOTES)
    with limited(fresh, 64) as server:
        fresh.until(lambda: bool(fresh.sockets) and servers.ask(fresh.socket) is not None)
        assert fresh.advice() == "warm"
        assert busy(server.pid) < 0.5, "it forks for ever"
        (fresh.root / "ran").unlink()
        begun = [fresh.begin("PreToolUse") for _ in range(40)]
        time.sleep(2)  # all of them have connected
        for process in begun:
            assert process.stdin
            process.stdin.write(json.dumps(fresh.call()).encode())
            process.stdin.close()
            process.stdin = None
        said = [process.communicate(timeout=500)[0] for process in begun]

    assert {json.loads(each)["hookSpecificOutput"]["additionalContext"] for each in said} <= {"warm", "cold"}
    assert (fresh.root / "ran").read_text() == "x" * 40


@contextmanager
def limited(place: Warm, limit: int) -> Iterator[subprocess.Popen[bytes]]:
    """Have a server started in a process that may open only so many files."""
    command = ["/bin/sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *INTERPRETER, str(place.entry), "--serve"]
    server = subprocess.Popen(command, env=place.environ(CLAUDECODE=None), stderr=subprocess.DEVNULL)
    try:
        yield server
    finally:
        server.kill()
        server.wait()


def busy(pid: int) -> float:
    """Return the share of a processor that a process and its dead children take for a second."""

    def ticks() -> int:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))

    before = ticks()
    time.sleep(1)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK")
