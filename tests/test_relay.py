"""The address of a server, who may answer there, and what switches the server off."""

from __future__ import annotations

import _socket
import os
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import engine, relay
from holdfast.clients import claude
from holdfast.server import turn
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

HOME = {b"HOME": b"/home/me"}
ENTRY = "/opt/holdfast/run"

posix = pytest.importorskip("posix")


def place(changes: dict[bytes, bytes] | None = None, entry: str = ENTRY) -> bytes:
    """Return an address in a small environment with changes."""
    return relay.address(entry, HOME | (changes or {}))


def test_it_lies_in_the_state_folder() -> None:
    """The one of XDG, or the system's below the home; its name is one of sixteen digits."""
    usual = b"/Library/Application Support" if sys.platform == "darwin" else b"/.local/state"
    folder, _, name = place().rpartition(b"/")
    assert folder == b"/home/me" + usual + b"/holdfast/server"
    assert len(name) == 16 and int(name, 16)
    assert place({b"XDG_STATE_HOME": b"/s"}).startswith(b"/s/holdfast/server/")


def test_it_is_the_same_for_the_same_and_whatever_else_a_session_has() -> None:
    """Sessions, projects and terminals of one user share a server."""
    session = {b"CLAUDE_PROJECT_DIR": b"/p", b"PATH": b"/bin", b"TERM": b"dumb", b"LANG": b"C", b"PWD": b"/"}
    assert place() == place() == place(session)


@each_row("name", [b"HOME", *(b"XDG_%s_HOME" % each for each in (b"CONFIG", b"STATE", b"DATA", b"CACHE"))])
def test_other_folders_mean_another_address(name: bytes) -> None:
    """Each variable that moves one of Holdfast's folders counts, and unset is not the same as empty."""
    given = place({name: b"/elsewhere"})
    assert given.rpartition(b"/")[2] != place().rpartition(b"/")[2]
    if name != b"HOME":
        assert place({name: b""}).rpartition(b"/")[2] not in (place().rpartition(b"/")[2], given.rpartition(b"/")[2])


def test_two_folders_cannot_be_mistaken_for_each_other() -> None:
    """Which variable holds a folder counts, not only that one does."""
    one, other = place({b"XDG_DATA_HOME": b"/x"}), place({b"XDG_CACHE_HOME": b"/x"})
    assert one != other


def test_another_entrypoint_interpreter_encoding_or_user_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server has loaded or is would be wrong for it."""
    found = {place(), place(entry="/opt/holdfast/run2"), place(entry="/opt/holdfast/r\u00fcn"), place(entry="/\udcff")}
    with monkeypatch.context() as changed:
        changed.setattr(sys, "executable", "/usr/bin/other")
        found.add(place())
    with monkeypatch.context() as changed:
        changed.setattr(sys, "getfilesystemencoding", lambda: "ascii")
        found.add(place())
    with monkeypatch.context() as changed:
        changed.setattr(posix, "getuid", lambda: 4711)
        found.add(place())
    assert len(found) == 7


@pytest.mark.skipif(not os.path.exists("/proc/self/ns/mnt"), reason="Linux")  # noqa: PTH110
def test_another_sandbox_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each namespace and the root folder count: a handler must not run outside of who asks."""
    stat, usual = posix.stat, place()
    for inside in ("/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/user", "/proc/self/ns/pid", "/"):

        def other(path: str, inside: str = inside) -> os.stat_result:
            found = stat(path)
            return os.stat_result((found[0], found[1] + 1, *found[2:10])) if path == inside else found

        monkeypatch.setattr(posix, "stat", other)
        assert place() != usual, inside


@each_row("changes", [{b"HOME": b""}, {b"HOME": b"relative"}, {b"XDG_STATE_HOME": b"state"}])
def test_without_an_absolute_folder_there_is_none(changes: dict[bytes, bytes]) -> None:
    """A socket in whatever folder a session is in would be asked by that session alone."""
    assert place(changes) == b""
    assert relay.address(ENTRY, {}) == b""


def test_a_path_that_no_socket_can_have_is_none() -> None:
    """The longest that is returned can be bound, with the ending that it has at first."""
    lengths = [len(place({b"XDG_STATE_HOME": b"/" + b"x" * size})) for size in range(120)]
    longest = max(lengths)

    assert 90 < longest < 100
    assert lengths[lengths.index(longest) + 1] == 0
    assert set(lengths[lengths.index(longest) + 1 :]) == {0}
    with socket.socket(socket.AF_UNIX) as listener, pytest.raises(FileNotFoundError):  # too long is another error
        listener.bind("/nowhere/" + "x" * (longest + len(".new") - 9))


@each_row("word", ["off", "OFF", "0", "no", "No", "false", "FALSE"])
def test_switched_off_nobody_is_asked(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """In any spelling: not even where one would listen is looked for."""
    monkeypatch.setattr(relay, "address", lambda *_: pytest.fail("it looked"))
    monkeypatch.setattr(posix, "environ", HOME | {b"HOLDFAST_SERVER": word.encode()})
    assert relay.ask(ENTRY, "Stop") is None


@each_row("mode, trusted", [(0o700, True), (0o500, True), (0o701, False), (0o720, False), (0o777, False)])
def test_only_a_folder_that_is_ours_alone_is_trusted(tmp_path: Path, mode: int, trusted: bool) -> None:
    """Whoever else could get at the socket could be who answers."""
    tmp_path.chmod(mode)
    assert relay.private(bytes(tmp_path / "socket")) is trusted
    tmp_path.chmod(0o700)


def test_a_folder_of_somebody_elses_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its mode."""
    tmp_path.chmod(0o700)
    monkeypatch.setattr(posix, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert not relay.private(bytes(tmp_path / "socket"))


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="Linux")
def test_whose_the_other_end_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system says so."""
    one, other = socket.socketpair()
    with one, other:
        assert relay.ours(one)
        monkeypatch.setattr(posix, "getuid", lambda: 4711)
        assert not relay.ours(one)


# --- what is asked, and how long for ------------------------------------------------------------------------------

LONG = 60.0  # seconds; nothing here takes that long on any machine


class Ended(_socket.socket):
    """The relay's end of a connection, whose process is told to end as soon as the system gave it so many bytes."""

    bytes_taken: int

    def recv(self, *arguments: int) -> bytes:
        said = super().recv(*arguments)
        if len(arguments) == 1:
            self.bytes_taken -= 1
            if self.bytes_taken == 0:
                signal.raise_signal(signal.SIGTERM)
        return said


@each_row("bytes_taken", [1, 2, 3, 4])
@each_row("seconds", [26, 306])
def test_a_client_that_ends_us_within_a_message_hears_the_refusal(bytes_taken: int, seconds: int) -> None:
    """No byte is lost: the rest of a limit read as an exit code, 0 in most, would let the call pass unrefused."""
    before = signal.getsignal(signal.SIGTERM)
    listening, child = socket.socketpair()
    child.sendall(relay.LONGER + seconds.to_bytes(2, "big") + relay.WRITTEN + b"\7")
    ours = Ended(fileno=listening.detach())
    ours.bytes_taken = bytes_taken
    try:
        relay._catch_sigterm()
        assert relay._code(ours) == 7
        child.setblocking(False)  # it has happened, or never will
        assert child.recv(1) == b""  # the server was told to end the child, so that it refuses
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
        signal.signal(signal.SIGTERM, before)
        ours.close()
        child.close()


def test_who_waits_is_more_patient_than_the_engine() -> None:
    """Until handlers are chosen, and until they have answered; what is late the engine says itself."""
    assert engine.PREPARE_LIMIT_S < relay.ANSWER_TIMEOUT_S

    ours, theirs = socket.socketpair()
    streams: Any = SimpleNamespace(_connection=ours)
    until = time.monotonic() + 7.9
    with ours, theirs:
        turn.Relayed.expect(streams, until)
        word = theirs.recv(3)

    assert word[:1] == relay.LONGER
    assert time.monotonic() + int.from_bytes(word[1:], "big") > until


@each_row("event", relay.STRICT_EVENTS)
def test_a_second_signal_does_not_end_a_refusal(monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    """A client may be impatient; what it ended is refused all the same, and silence would allow it."""

    def ask(entry: str, argument: str | None) -> int | None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(LONG)
        return 0

    def refuse(root: str, argument: str | None, why: str, failure: str = "") -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return 42

    monkeypatch.setattr(relay, "ask", ask)
    monkeypatch.setattr(relay, "refuse", refuse)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert relay.main(ENTRY, "/root", event) == 42
    finally:
        signal.signal(signal.SIGTERM, before)


def test_every_event_that_a_guard_may_stand_at_is_refused_when_it_is_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the shell, with the event and why; any other event is met with silence, unless there is a line to log."""
    assert set(relay.STRICT_EVENTS) == set(claude.STRICT_EVENTS)
    run: list[tuple[str | bytes, ...]] = []
    monkeypatch.setattr(posix, "execv", lambda program, arguments: run.append(arguments))
    script = tmp_path / "holdfast" / "refuse.sh"
    script.parent.mkdir()
    script.touch()
    for event in (*relay.STRICT_EVENTS, "PostToolUse", "Stop", None):
        assert relay.refuse(str(tmp_path), event, "why") == 0
    assert relay.refuse(str(tmp_path), "Stop", "why", "is\0 lost\ud800") == 0
    assert run == [
        *(("sh", str(script), event, "why", "", "", b"") for event in relay.STRICT_EVENTS),
        ("sh", str(script), "Stop", "why", "", "", b"is  lost?"),
    ]


def test_without_the_refusing_script_the_launcher_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is told so: a shell that finds no script refuses nothing, and is no longer ours to stop."""
    monkeypatch.setattr(posix, "execv", lambda *_: pytest.fail("a shell was started"))
    with pytest.raises(FileNotFoundError):
        relay.refuse(str(tmp_path), "PreToolUse", "why")


SOCKET = """
import sys
{change}
names = {{"__name__": "relay"}}
exec(open({relay!r}).read(), names)
found = names["_load_socket"]()
searched = sys.path[-1] in sys.path_importer_cache
import _socket
print(found is _socket, found.AF_UNIX, names["_load_socket"]() is found, searched)
"""


@each_row("change", ["", "sys.path.append('/nowhere')", "sys.path.reverse()"])
def test_the_socket_module_is_found_wherever_it_lies(change: str) -> None:
    """Straight from the folder of extension modules, unsearched, or, if that isn't the last one, by `import`."""
    text = SOCKET.format(change=change, relay=relay.__file__)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", text], capture_output=True, text=True, check=False)
    *found, searched = done.stdout.split()
    assert found == ["True", str(int(socket.AF_UNIX)), "True"], done.stderr
    assert searched == "False" or change


def test_cold_the_packages_own_folder_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version may be installed elsewhere; what is in place already stays in its place."""
    monkeypatch.setattr(engine, "main", lambda argument, entry: 3)
    monkeypatch.setattr(sys, "path", ["/first", "/elsewhere"])
    for root, after in (
        ("/root", ["/root", "/first", "/elsewhere"]),
        ("/elsewhere", ["/root", "/first", "/elsewhere"]),
    ):
        assert relay.cold(ENTRY, root, "Stop") == 3
        assert sys.path == after
