"""Whatever is said to the server and whoever kills its processes, each event is answered once, and as without it."""

from __future__ import annotations

import json
import os
import signal
import socket
from array import array
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from termios import FIONREAD
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.torture import scratch
from tests.torture.scratch import Scratch, report
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.warmth import Warm

pytestmark = [pytest.mark.slow, scratch.ON_LINUX]

NOTES = """
    import os
    from holdfast import *

    def note(name):
        with open(os.path.expanduser("~/noted"), "a") as file:
            file.write(name + " ")

    note("loaded")

    @hookimpl
    def on_pre_tool_use(event):
        note("called")
        return advise(f"{os.getpid()} {os.getppid()}")

    @hookimpl
    def on_post_tool_use(event):
        note("called")

    @hookimpl
    def on_user_prompt_submit(event):
        note("called")

    @hookimpl
    def on_pre_compact(event):
        note("called")
    """
PIPE_BYTES = 65_536
CONFIG = "timeout = 300.0\ndeadline = 300.0\n"


@pytest.fixture
def place() -> Iterator[Scratch]:
    """A home with a handler that notes when it is loaded and called, and a server that has answered nothing yet."""
    made = scratch.make(config=CONFIG)
    made.user_handler("notes", NOTES)
    scratch.install(made, native=True)
    made.start_server()
    yield made
    made.close()


def server(place: Scratch) -> dict[str, Any]:
    """Return what the one server says of itself."""
    (said,) = json.loads(place.holdfast("server", "--json").stdout)["servers"]
    return dict(said)


def children(pid: int) -> set[int]:
    """Return the children of a process."""
    return {int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def noted(place: Scratch) -> list[str]:
    """Return what the handler has noted."""
    file = place.home / "noted"
    return file.read_text().split() if file.exists() else []


def test_a_new_server_ends_one_that_hangs(place: Scratch) -> None:
    """It takes the address over, and answers there."""
    hanging = server(place)["pid"]
    for pid in (hanging, *children(hanging)):
        os.kill(pid, signal.SIGSTOP)

    place.start_server()

    assert server(place)["pid"] != hanging
    assert place.fire(place.call()).advice


def test_a_module_that_is_edited_in_place_ends_the_server(fresh: Warm) -> None:
    """The next event may still have the old code; then the server looks, and stops."""
    edited = fresh.entry.parent / "own/holdfast/clock.py"
    text = edited.read_text()
    edited.unlink()  # a link to the checkout's
    edited.write_text(text)
    fresh.warm_up()
    with edited.open("a") as file:
        file.write("# edited\n")
    assert fresh.advice()
    fresh.until(lambda: not fresh.sockets)


def test_an_idle_child_answers_samples_without_your_handlers(place: Scratch) -> None:
    """It loads and calls yours for real events only, and what it does with the shipped ones leaves nothing."""
    (place.home / ".config/holdfast/holdfast.toml").unlink()  # which switches the shipped ones off
    place.holdfast("server", "--stop")
    place.start_server()
    pid = server(place)["pid"]
    until(lambda: len(children(pid)) == 2, "two children wait")
    calls = [place.fire(place.call()) for _ in range(4)]
    assert all(got.advice for got in calls)
    assert noted(place) == ["loaded", "called"] * 4
    ledgers = list((place.home / ".local/state/holdfast").glob("projects/*.db"))
    assert len(ledgers) <= 1, "one of the project, none of the samples"
    assert "sample" not in place.log()


SURROUNDINGS = """
    import os, sys, time
    from holdfast import *

    @hookimpl
    def on_pre_tool_use(event):
        words = [os.environ[f"WORD{number}"] for number in range(8)]
        return advise(f"{sys.argv[1]} {os.getcwd()} {os.umask(0):o} {time.strftime('%Z')} {len(''.join(words))}")
    """


def test_an_event_has_its_callers_surroundings(place: Scratch) -> None:
    """Its folder, umask, time zone and environment, however large; they aren't the server's."""
    (place.home / ".config/holdfast/handlers/notes.py").unlink()
    place.user_handler("surroundings", SURROUNDINGS)
    environ = place.environ(TZ="Asia/Tokyo") | {f"WORD{number}": "x" * 100_000 for number in range(8)}
    mask = os.umask(0o027)
    try:
        got = place.fire(place.call(), environ=environ)
    finally:
        os.umask(mask)
    assert got.advice == f"--serve {place.root} 27 JST 800000"


def request(*words: bytes) -> bytes:
    """Return a request as the protocol has it."""
    body = b"\0".join(words)
    return b"%8d" % len(body) + body


GARBAGE = {
    "nothing": b"",
    "a word": b"hello",
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "zeros": bytes(64),
    "a huge length": b"99999999" + b"x" * 1000,
    "a negative length": b"      -1" + b"x" * 64,
    "no length": b"       0",
    "too few words": request(b"event", b"Stop"),
    "no umask": request(b"event", b"Stop", b"/", b"x"),
    "no folder": request(b"event", b"Stop", b"/nowhere/at/all", b"18"),
    "another one's folders": request(b"event", b"Stop", b"/", b"18", b"HOME=/root"),
}


def test_garbage_costs_only_its_sender(place: Scratch) -> None:
    """The server is the same as before, gets no event ready, and answers the next one."""
    address = server(place)["address"]
    pid = server(place)["pid"]
    found = []
    for name, data in GARBAGE.items():
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(processes.PATIENCE)
            connection.connect(address)
            said = b""
            with suppress(ConnectionError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                said = connection.recv(100)
        if said:
            found.append(f"{name}: it says {said!r}")
        if str(server(place)["pid"]) != str(pid) or not place.fire(place.call()).advice:
            found.append(f"{name}: it doesn't answer as before")
    report(found)
    assert not [each for each in noted(place) if each not in ("loaded", "called")]


def test_twenty_events_at_once_are_answered_and_each_once(place: Scratch) -> None:
    """More than may be answered at a time, and more than wait."""
    with ThreadPoolExecutor(20) as pool:
        gots = list(pool.map(lambda _: place.fire(place.call()), range(20)))
    report([str(got) for got in gots if got.exit_code or not got.advice])
    assert noted(place).count("called") == 20


DELIVERED = """
    import os, time
    from pathlib import Path
    from holdfast import *

    def deliver():
        Path("~/delivering").expanduser().touch()
        while not Path("~/go").expanduser().exists():
            time.sleep(0.01)

    @hookimpl(strict=True)
    def on_pre_tool_use(event):
        if event.tool_input["command"] == "long":
            return change_input({"command": "x" * 300_000})
        return advise("once", on_delivered=deliver)
    """
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1)


@pytest.mark.parametrize("server_is", ["on", "off"])
def test_a_signal_behind_a_reply_adds_no_second_one(place: Scratch, server_is: str) -> None:
    """While `on_delivered` still runs, the client's process can't fail any more."""
    place.user_handler("delivered", DELIVERED)
    event = place.begin(place.call(), place.environ(HOLDFAST_SERVER=server_is))
    until((place.home / "delivering").exists, "the reply is written")
    (relay,) = children(event.pid)
    for number in SIGNALS:
        os.kill(relay, number)
    (place.home / "go").touch()
    stdout, _ = event.communicate(timeout=processes.PATIENCE)
    assert event.returncode == 0
    assert "once" in json.loads(stdout)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("server_is", ["on", "off"])
def test_a_long_reply_is_whole_in_a_pipe_that_does_not_block(place: Scratch, server_is: str) -> None:
    """As in a client that sets its pipes so, and reads only when it has time."""
    place.user_handler("delivered", DELIVERED)
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    event = place.begin(place.call("long"), place.environ(HOLDFAST_SERVER=server_is), stdout=writes)
    os.close(writes)
    full = array("i", [0])
    until(lambda: ioctl(reads, FIONREAD, full) or full[0] == PIPE_BYTES or event.poll() is not None, "the pipe is full")
    with os.fdopen(reads, "rb") as pipe:
        reply = json.loads(pipe.read())
    assert reply["hookSpecificOutput"]["updatedInput"]["command"] == "x" * 300_000
    event.communicate(timeout=processes.PATIENCE)
    assert event.returncode == 0


def test_killed_children_are_replaced(place: Scratch) -> None:
    """Those that wait, all at once; the next event is answered in any case, and later ones by the same server."""
    pid = server(place)["pid"]
    until(lambda: len(children(pid)) == 2, "two children wait")
    for child in children(pid):
        os.kill(child, signal.SIGKILL)
    assert place.fire(place.call()).advice
    until(lambda: len(children(pid)) == 2, "two others wait")
    answered = server(place)["answered"]
    until(lambda: place.fire(place.call()).advice and server(place)["answered"] > answered, "it answers")
    assert server(place)["pid"] == pid


def test_the_status_line_is_the_same_from_the_server_and_without_it(place: Scratch) -> None:
    """From stdin, which the server gets; an unknown session has none."""
    folder = place.home / ".local/state/holdfast/status"
    folder.mkdir(mode=0o700)
    (folder / "known").write_text("0\nA plan · phase 1/2\n")
    (folder / "known").chmod(0o600)
    for session, line in {"known": "A plan · phase 1/2\n", "unknown": ""}.items():
        for server_is in ("on", "off"):
            data = json.dumps({"session_id": session}).encode()
            command = [str(place.launcher), "--status"]
            got = processes.run(command, data, place.environ(HOLDFAST_SERVER=server_is), place.root)
            assert (got.exit_code, got.stdout) == (0, line), server_is
