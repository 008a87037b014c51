"""One event in a worker: what it takes over from the caller, what it sends, and what it leaves alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import engine, relay
from holdfast.dispatch.output import Reply
from holdfast.server import handlers_child, rehearsal, turn
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONG_S = 60.0  # what takes moments may take this long on a busy machine
SAID = json.dumps({"accepted": 12.5, "answered": 3}).encode()


def request(*words: bytes, kind: bytes = b"event", folder: bytes = b"/", mask: bytes = b"18") -> bytes:
    """Return a request of an event named Stop, with an environment."""
    body = b"\0".join([kind, b"Stop", folder, mask, *words])
    return b"%8d" % len(body) + body


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's and the caller's end of a connection; both are patient."""
    ours, theirs = socket.socketpair()
    for each in (ours, theirs):
        each.settimeout(LONG_S)
    with ours, theirs:
        yield ours, theirs


# --- a request ----------------------------------------------------------------------------------------------------


def test_a_request_says_where_an_event_is_to_be_answered(pair: tuple[socket.socket, socket.socket]) -> None:
    """Its environment as it is: values with any sign in them, and nothing that is no variable."""
    ours, theirs = pair
    theirs.sendall(request(b"A=b=c", b"EMPTY=", b"=C:=no", b"nothing", b"\xff=\xfe", folder=b"/tmp", mask=b"63"))
    heard = turn.receive(ours)
    assert (heard.kind, heard.argument) == (b"event", "Stop")
    assert heard.place.environ == {b"A": b"b=c", b"EMPTY": b"", b"\xff": b"\xfe"}
    assert (heard.place.folder, heard.place.mask, heard.place.process) == (b"/tmp", 63, os.getpid())


def test_an_event_may_have_no_name(pair: tuple[socket.socket, socket.socket]) -> None:
    """One that an earlier registration started; the payload says it."""
    ours, theirs = pair
    theirs.sendall(b"%8d" % 11 + b"event\0\0/\0" + b"18")
    assert turn.receive(ours).argument is None


def test_a_request_may_be_large_and_come_in_parts(pair: tuple[socket.socket, socket.socket]) -> None:
    """An environment has a megabyte now and then; what is sent after it is left for later."""
    ours, theirs = pair
    data = request(b"LARGE=" + b"x" * 1_000_000, b"LAST=1")

    def send() -> None:
        theirs.sendall(data[:20_000])
        time.sleep(0.01)
        theirs.sendall(data[20_000:] + relay.GO)

    thread = threading.Thread(target=send)
    thread.start()
    heard = turn.receive(ours)
    thread.join()
    assert {name: len(value) for name, value in heard.place.environ.items()} == {b"LARGE": 1_000_000, b"LAST": 1}
    assert ours.recv(10) == relay.GO


@pytest.mark.parametrize(
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
def test_what_is_no_request_is_an_error(pair: tuple[socket.socket, socket.socket], data: bytes) -> None:
    """Of a kind that costs its sender's answer and nothing else; one that is too long is not waited for."""
    ours, theirs = pair
    theirs.sendall(data)
    if not data.startswith(b" 9437184"):
        theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(ValueError):
        turn.receive(ours)


# --- an event -----------------------------------------------------------------------------------------------------


@dataclass
class Child:
    """A child of a server that is played by the test.

    Attributes:
        control: the server's end of the way to it.
        caller: who asks, once that was handed over.
        notes: where it notes what it does, a word a line.
        pid: its process id.
        lives: pipe that ends with the last process that was forked for it.
    """

    control: socket.socket
    notes: Path
    pid: int
    caller: socket.socket = field(init=False)

    def hand_over(self, data: bytes) -> None:
        """Hand over who asks something; the request is there already."""
        ours, self.caller = socket.socketpair()
        self.caller.settimeout(LONG_S)
        with ours:
            self.caller.sendall(data)
            socket.send_fds(self.control, [SAID], [ours.fileno()])

    def go(self, count: int = 3, word: bytes = relay.GO) -> list[int]:
        """Say that the event is the child's; return our ends of stdin, stdout and stderr."""
        pipes = [os.pipe() for _ in range(3)]
        passed = [pipes[0][0], pipes[1][1], pipes[2][1]]
        socket.send_fds(self.caller, [word], passed[:count])
        for each in passed:
            os.close(each)
        return [pipes[0][1], pipes[1][0], pipes[2][0]]

    def noted(self) -> list[str]:
        """Return what it has noted."""
        return self.notes.read_text().split()

    def wait(self) -> int:
        """Wait until it has ended; return its exit code."""
        pid, self.pid = self.pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@dataclass
class Nursery:
    """Makes children. What they do is played: see `begin`."""

    notes: Path
    made: list[Child] = field(default_factory=list)

    def note(self, word: object) -> None:
        """Note something, from whichever process."""
        with self.notes.open("a") as file:
            file.write(f"{word}\n")

    def begin(self) -> Child:
        """Fork one that waits for an event."""
        control, its = socket.socketpair()
        pid = os.fork()
        if not pid:
            try:
                os.setpgid(0, 0)
                control.close()
                turn.wait(its)
                os._exit(0)
            finally:
                os._exit(1)
        its.close()
        control.settimeout(LONG_S)
        self.made.append(Child(control, self.notes, pid))
        return self.made[-1]


@pytest.fixture
def nursery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    """Children in which nothing is loaded or dispatched: each notes what it would do."""
    (tmp_path / "notes").touch()
    made = Nursery(tmp_path / "notes")

    def dispatch(argument: str | None, take: Callable[[], Any], started: float, spare: Any, data: bytearray) -> int:
        made.note(f"{argument}:{started}:{os.getcwd()}:{os.environ.get('WHO')}:{os.umask(0)}")  # noqa: PTH109
        said = os.read(0, 100).decode()
        streams = take()
        print("a handler's")
        streams.write(Reply(f"out {said}", "err"))
        return 7

    monkeypatch.setattr(engine, "dispatch", dispatch)
    monkeypatch.setattr(
        handlers_child, "handle", lambda told, *_: made.note("told") if told.next() else made.note("nothing")
    )
    monkeypatch.setattr(rehearsal, "of_engine", lambda: made.note("engine"))
    monkeypatch.setattr(rehearsal, "of_handlers", lambda: made.note("handlers"))
    yield made
    for child in made.made:
        child.control.close()
        if hasattr(child, "caller"):
            child.caller.close()
        if child.pid:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                os.kill(child.pid, signal.SIGKILL)
            child.wait()


def environ(**changes: str | None) -> list[bytes]:
    """Return the words of an environment that has this server's folders."""
    given = {name: os.environ.get(name) for name in map(os.fsdecode, relay.FOLDERS)} | changes
    return [os.fsencode(f"{name}={value}") for name, value in given.items() if value is not None]


def test_an_event_is_answered_in_the_callers_place(nursery: Nursery) -> None:
    """With its descriptors, folder, umask and environment, and counted from the moment it was accepted."""
    child = nursery.begin()
    child.hand_over(request(*environ(WHO="me"), folder=b"/usr", mask=b"%d" % 0o27))
    assert child.caller.recv(1) == relay.READY_NOW
    stdin, stdout, stderr = child.go()
    os.write(stdin, b"payload")
    os.close(stdin)

    assert child.caller.recv(1) == relay.WRITTEN
    assert child.caller.recv(1) == b"\7"
    assert child.control.recv(10) == turn.ANSWERED
    assert (os.read(stdout, 100), os.read(stderr, 100)) == (b"out payload", b"err")
    assert (os.read(stdout, 100), os.read(stderr, 100)) == (b"", b"")
    assert child.caller.recv(1) == b"", "and it says nothing more"
    assert child.wait() == 0
    assert sorted(child.noted()) == [f"Stop:12.5:/usr:me:{0o27}", "told"]
    for each in (stdout, stderr):
        os.close(each)


def test_the_client_goes_on_while_the_child_still_has_something_to_do(
    nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the client's is open in it any more, and its own end is nobody's answer: it has answered once."""

    def dispatch(argument: str | None, take: Callable[[], Any], started: float, spare: Any, data: bytearray) -> int:
        streams = take()
        before = streams.answerable()
        streams.let_go(5)
        nursery.note((before, streams.answerable()))
        signal.pause()
        return 0

    monkeypatch.setattr(engine, "dispatch", dispatch)
    child = nursery.begin()
    child.hand_over(request(*environ()))
    assert child.caller.recv(1) == relay.READY_NOW
    stdin, stdout, stderr = child.go()
    assert child.control.recv(10) == turn.ANSWERED
    assert child.caller.recv(1) == b"\5"
    assert (os.read(stdout, 1), os.read(stderr, 1)) == (b"", b"")
    with pytest.raises(BrokenPipeError):
        os.write(stdin, b"x")
    while "(True,False)" not in "".join(child.noted()):
        assert os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG) is None
        time.sleep(0.01)
    for each in (stdin, stdout, stderr):
        os.close(each)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks /proc")
def test_no_handler_gets_hold_of_the_way_to_the_server_or_to_who_asks(
    nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One could answer in our name, or keep them open for ever: they are among what is closed to handlers."""

    def sockets() -> set[int]:
        return {int(each.name) for each in Path("/proc/self/fd").iterdir() if each.is_socket()}

    def dispatch(argument: str | None, take: Callable[[], Any], started: float, spare: Any, data: bytearray) -> int:
        new = sockets() - known
        nursery.note(f"{len(new)}:{sorted(new - set(take().private))}")
        return 0

    monkeypatch.setattr(engine, "dispatch", dispatch)
    known = sockets()
    child = nursery.begin()
    child.hand_over(request(*environ()))
    child.caller.recv(1)
    for each in child.go():
        os.close(each)
    assert child.wait() == 0
    assert "2:[]" in child.noted()


def test_an_event_is_answered_once(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has let go early has a code later too; the first one counts, for the server and for who asks."""

    def dispatch(argument: str | None, take: Callable[[], Any], started: float, spare: Any, data: bytearray) -> int:
        take().let_go(5)
        return 9

    monkeypatch.setattr(engine, "dispatch", dispatch)
    child = nursery.begin()
    child.hand_over(request(*environ()))
    child.caller.recv(1)
    ends = child.go()
    assert child.wait() == 0
    assert (child.caller.recv(10), child.control.recv(10)) == (b"\5", turn.ANSWERED)
    for each in ends:
        os.close(each)


@pytest.mark.parametrize(("how", "answerable"), [("stays", True), ("listens", True), ("goes", False)])
def test_who_only_stopped_sending_can_still_be_answered(
    nursery: Nursery, monkeypatch: pytest.MonkeyPatch, how: str, answerable: bool
) -> None:
    """It may be refused then. Who has gone altogether may have left its event to somebody else."""

    def dispatch(argument: str | None, take: Callable[[], Any], started: float, spare: Any, data: bytearray) -> int:
        streams = take()
        nursery.note(os.read(0, 10) and streams.answerable())
        streams.write(Reply("", ""))
        nursery.note(streams.answerable())
        return 0

    monkeypatch.setattr(engine, "dispatch", dispatch)
    child = nursery.begin()
    child.hand_over(request(*environ()))
    child.caller.recv(1)
    stdin, *others = child.go()
    if how == "listens":
        child.caller.shutdown(socket.SHUT_WR)
    elif how == "goes":
        child.caller.close()
    os.write(stdin, b"x")
    assert child.wait() == 0
    assert [word for word in child.noted() if word in ("True", "False")] == [str(answerable), "False"]
    for each in (stdin, *others):
        os.close(each)


@pytest.mark.parametrize("count", [2, 0])
@pytest.mark.parametrize("word", [relay.GO, b"x"])
def test_without_its_word_or_its_descriptors_an_event_is_not_answered(
    nursery: Nursery, count: int, word: bytes
) -> None:
    """Who asks answers for itself then, and nothing may run twice."""
    child = nursery.begin()
    child.hand_over(request(*environ()))
    assert child.caller.recv(1) == relay.READY_NOW
    ends = child.go(count if word == relay.GO else 3, word)
    assert child.caller.recv(1) == b""
    assert child.wait() == 0
    assert not any(each.startswith("Stop") for each in child.noted())
    for each in ends:
        os.close(each)


def test_the_word_may_come_late(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks may be stopped just then for longer than a request may take; its event must not be lost."""
    monkeypatch.setattr(turn, "REQUEST_TIMEOUT_S", 0.05)
    child = nursery.begin()
    child.hand_over(request(*environ()))
    assert child.caller.recv(1) == relay.READY_NOW
    time.sleep(0.3)
    ends = child.go()
    os.close(ends[0])
    assert child.caller.recv(1) + child.caller.recv(1) == relay.WRITTEN + b"\7"
    assert turn.GO_TIMEOUT_S >= 30 * relay.READY_TIMEOUT_S
    for each in ends[1:]:
        os.close(each)


@pytest.mark.parametrize(
    "changes",
    [{name.decode(): value} for name in relay.FOLDERS for value in ("/elsewhere", None, "")],
)
def test_whose_folders_are_others_is_not_answered_here(nursery: Nursery, changes: dict[str, str | None]) -> None:
    """What this server has read lies elsewhere; unset is another setting than empty. Its handlers are not found."""
    child = nursery.begin()
    child.hand_over(request(*environ(**changes)))
    assert child.caller.recv(1) == b""
    assert child.wait() == 0
    assert child.noted() == ["nothing"]


def test_unset_is_the_same_as_unset(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most users set one of those variables only, and one that is empty is another setting."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    for value, said in ((None, relay.READY_NOW), ("", b"")):
        child = nursery.begin()
        child.hand_over(request(*environ(XDG_CACHE_HOME=value)))
        assert child.caller.recv(1) == said


def test_who_is_in_another_sandbox_is_not_answered_here(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our handlers are not in it: what is forbidden there would be done here."""
    monkeypatch.setattr(turn, "_together", lambda process: process != os.getppid())
    child = nursery.begin()
    child.hand_over(request(*environ()))
    assert child.caller.recv(1) == b""
    assert child.wait() == 0
    assert child.noted() == ["nothing"]


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


def test_who_says_nothing_is_not_waited_for_long(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a worker's place from others."""
    monkeypatch.setattr(turn, "REQUEST_TIMEOUT_S", 0.05)
    child = nursery.begin()
    child.hand_over(b"")
    assert child.caller.recv(1) == b""
    assert child.wait() == 0


def test_who_wants_to_know_is_told_of_the_server(nursery: Nursery) -> None:
    """What the server said with the connection, and no event is answered for it."""
    child = nursery.begin()
    child.hand_over(request(kind=b"status"))
    assert child.caller.recv(1000) == SAID
    assert child.caller.recv(1) == b""
    assert child.wait() == 0
    assert child.noted() == ["nothing"]


@pytest.mark.parametrize("data", [b"garbage!", b"       9event\0\0/\0", request(folder=b"/nowhere at all")])
def test_garbage_ends_one_child_without_noise(nursery: Nursery, data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """It says nothing anywhere and ends as usual."""
    child = nursery.begin()
    child.hand_over(data)
    child.caller.shutdown(socket.SHUT_WR)
    assert child.caller.recv(1) == b""
    assert child.wait() == 0
    assert capfd.readouterr() == ("", "")
    assert child.noted() == ["nothing"]


def test_it_ends_with_the_server(nursery: Nursery) -> None:
    """Both processes do, though nothing has come."""
    child = nursery.begin()
    child.control.close()
    assert child.wait() == 0
    assert child.noted() == []


@pytest.mark.parametrize(
    ("order", "rehearsed"), [(turn.REHEARSE, ["engine", "handlers", "nothing"]), (SAID, ["nothing"]), (b"", [])]
)
def test_only_who_has_time_rehearses(nursery: Nursery, order: bytes, rehearsed: list[str]) -> None:
    """A child that gets an event before it was told to answers it at once; its handlers' process begins only then."""
    child = nursery.begin()
    child.control.send(order)
    child.control.shutdown(socket.SHUT_WR)
    assert child.wait() == 0
    assert sorted(child.noted()) == rehearsed


def test_who_has_rehearsed_answers_an_event(nursery: Nursery) -> None:
    """Also one that came with the order to rehearse."""
    child = nursery.begin()
    child.control.send(turn.REHEARSE)
    child.hand_over(request(*environ(WHO="me")))
    assert child.caller.recv(1) == relay.READY_NOW
    os.close(child.go()[0])
    assert child.wait() == 0
    assert {"engine", "handlers", "told"} <= set(child.noted())


def test_the_death_of_a_child_shows_though_its_handlers_live_on(
    nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server hears of it: nothing of the way between the two is open in the handlers' process."""
    monkeypatch.setattr(handlers_child, "handle", lambda *_: signal.pause())
    child = nursery.begin()
    child.hand_over(request(*environ()))
    assert child.caller.recv(1) == relay.READY_NOW
    os.kill(child.pid, signal.SIGKILL)
    assert child.control.recv(1) == b""
    assert child.caller.recv(1) == b""


@pytest.mark.parametrize(("left", "least"), [(-5.0, 1), (0.0, 1), (300.5, 301), (3_000.0, 3_000)])
def test_who_asks_waits_at_least_as_long_as_the_answer_may_take(
    pair: tuple[socket.socket, socket.socket], left: float, least: int
) -> None:
    """And a little longer, also than the longest that may be configured; not for ever."""
    ours, theirs = pair
    streams: Any = type("Any", (), {"_connection": ours})()
    turn.Relayed.expect(streams, time.monotonic() + left)
    word, seconds = theirs.recv(1), int.from_bytes(theirs.recv(2), "big")
    assert word == relay.LONGER
    assert least - (0 if left < 1 else 1) < seconds <= least + turn.MARGIN_S


@pytest.mark.parametrize("gone", ["caller", "server"])
def test_who_has_gone_is_nobodys_error(pair: tuple[socket.socket, socket.socket], gone: str) -> None:
    """What is to be done after the answer is done all the same, and who is still there hears its word."""
    broken, far = socket.socketpair()
    far.close()
    ours, theirs = pair
    streams: Any = turn.Relayed.__new__(turn.Relayed)
    streams._connection, streams._control = (broken, ours) if gone == "caller" else (ours, broken)
    streams._waits, streams.close = True, lambda: None
    with broken:
        streams.expect(time.monotonic())
        assert streams.let_go(5) is True
    heard = theirs.recv(10)
    assert heard == turn.ANSWERED if gone == "caller" else heard.endswith(b"\5")
