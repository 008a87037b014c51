"""Find servers, ask for their status and stop them, even if something else is in their place."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.server import control, protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="a lock's holder is known on Linux")

HOLDS = """
import fcntl, os, signal, sys, time
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
file.write(str(os.getpid()))
file.flush()
print("ready", flush=True)
time.sleep(60)
"""
"""A process that holds a server's lock and says nothing."""


@pytest.fixture
def place(short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a server would listen, in a home of its own; its folder is there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(short_folder))
    monkeypatch.setattr(control, "END_TIMEOUT_S", 0.3)
    folder = paths.ensure_private(control.folder())
    assert folder == short_folder / "holdfast" / "server"
    return folder / "0123456789abcdef"


@contextmanager
def held(place: Path, kind: str = "obedient") -> Iterator[int]:
    """Have a process hold the lock of a place; it is given with its number."""
    command = [sys.executable, "-c", HOLDS, str(place.with_suffix(".lock")), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        # Whoever starts a server is not its parent, so nobody is left to bury it.
        burial = threading.Thread(target=process.wait)
        burial.start()
        yield process.pid
        process.kill()
        burial.join()


@contextmanager
def listening(place: Path, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    """Listen at a place, and treat who asks as `answer` says."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        listener.settimeout(20)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join()


def test_where_there_is_no_folder_none_runs(place: Path) -> None:
    """Nor is one made."""
    place.parent.rmdir()
    assert control.running_servers() == []
    assert control.holder(place) == 0
    assert control.ask(place) is None
    assert not control.stop(place)
    assert control.stop_of(Path("/run")) == []
    assert not place.parent.exists()


def test_what_a_dead_server_left_is_no_server(place: Path) -> None:
    """A lock that nobody holds, with the number of a process that lives: that one is not sent anything."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as innocent:
        place.with_suffix(".lock").write_text(f"{innocent.pid}\n")
        place.write_text("")

        assert control.running_servers() == []
        assert control.holder(place) == 0
        assert not control.stop(place)
        assert innocent.poll() is None
        innocent.kill()


def test_who_looks_is_not_taken_for_a_server(place: Path) -> None:
    """Several may look at once, and the number of one that ended is there still."""
    place.with_suffix(".lock").write_text(f"{os.getpid()}\n")
    with place.with_suffix(".lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert control.holder(place) == 0
        assert control.running_servers() == []


def test_a_lock_without_a_number_is_held_by_somebody(place: Path) -> None:
    """One that has just begun: it runs, and it cannot be ended by guessing."""
    with place.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("no number")
        file.flush()
        assert control.holder(place) == -1
        assert control.running_servers() == [control.Running(place, 0)]
        assert not control.stop(place)


def test_a_lock_names_its_holder_alone(place: Path) -> None:
    """An earlier server's longer number leaves no digits behind."""
    place.with_suffix(".lock").write_text("4194304000\n")
    claimed = control.claim(place)
    assert claimed
    listener, lock = claimed
    assert control.holder(place) == os.getpid()
    listener.close()
    os.close(lock)


def test_a_link_in_the_locks_place_is_not_followed(place: Path, tmp_path: Path) -> None:
    """Somebody else's locked file makes no server."""
    with held(tmp_path / "theirs"):
        place.with_suffix(".lock").symlink_to(tmp_path / "theirs.lock")
        assert control.holder(place) == 0
        assert control.running_servers() == []


@pytest.mark.parametrize("kind", ["obedient", "stubborn", "stopped"])
def test_a_server_is_asked_to_end_and_killed_if_it_does_not(
    place: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """By asking, or by force where that does not help; what it had there goes, but for the lock's file."""
    sent: list[int] = []
    kill = os.kill

    def count(pid: int, number: int) -> None:
        sent.append(number)
        kill(pid, number)

    with held(place, kind) as pid:
        for each in (place, place.with_suffix(".tried")):
            each.write_text("")
        if kind == "stopped":
            os.kill(pid, signal.SIGSTOP)

        if kind == "obedient":
            monkeypatch.setattr(control, "END_TIMEOUT_S", 60.0)
        monkeypatch.setattr(os, "kill", count)
        assert control.stop(place)
        assert sent[0] == signal.SIGTERM
        assert kind == "stopped" or sent[1:] == [signal.SIGKILL] * (kind == "stubborn")
        assert control.holder(place) == 0
        assert [each.name for each in place.parent.iterdir()] == [place.name + ".lock"]


def test_a_server_that_may_not_be_signalled_has_not_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs only itself."""

    def refuse(pid: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    with held(place):
        with monkeypatch.context() as changed:
            changed.setattr(os, "kill", refuse)
            changed.setattr(control, "END_TIMEOUT_S", 0.1)
            assert not control.stop(place)
            assert control.stop_of(Path("/run")) == []
        assert control.holder(place)


@pytest.mark.parametrize("said", [b"", b"...", b"nonsense", b"[1]", b"{", b"\xff\xfe", b'{"pid": 1}'])
def test_whoever_talks_nonsense_or_is_somebody_else_has_not_answered(
    place: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    """Whatever listens there. What a stranger says would be shown, and the process that it names ended."""
    monkeypatch.setattr(protocol, "ours", lambda _: b"pid" not in said)

    def answer(connection: socket.socket) -> None:
        with suppress(BrokenPipeError):
            connection.sendall(said)

    with listening(place, answer):
        assert control.ask(place) is None


def test_the_place_of_one_that_is_ended_may_be_anothers_by_then(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waited for it to end listens there now."""
    place.touch()
    holders = [100, 100]
    monkeypatch.setattr(control, "holder", lambda address: holders.pop(0) if holders else 200)
    monkeypatch.setattr(os, "kill", lambda pid, number: None)
    assert control.stop(place)
    assert place.exists()


def test_one_of_another_version_that_says_less_runs_all_the_same(place: Path) -> None:
    """What it does not say is not known, and that is no reason for a command to fail."""
    with held(place) as pid, listening(place, lambda connection: connection.sendall(b'{"answered": 7}')):
        (found,) = control.running_servers()
    assert (found.pid, found.answers, found.answered, found.entry) == (pid, True, 7, "")
