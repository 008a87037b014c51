"""The server's workers: how many, for whom, how they are ended, and what they inherit."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.plugins import loader
from holdfast.server import pool, turn
from holdfast.server.pool import Worker, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not hasattr(select, "poll"), reason="needs poll(2)")

LONG_S = 60.0  # what takes moments may take this long on a busy machine


def until(true: Callable[[], bool]) -> None:
    """Wait for something that is about to become true."""
    end = time.monotonic() + LONG_S
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.005)


def obey(control: socket.socket, root: str) -> None:
    """Be a child that does what it is told over `control`, until nobody can tell it anything any more."""
    early = False
    while order := control.recv(100):
        early = early or order.startswith(turn.REHEARSE)
        order = order.removeprefix(turn.REHEARSE)  # both may come at once
        if order == b"who":
            said = {"pid": os.getpid(), "group": os.getpgid(0), "early": early, "root": root}
            control.send(json.dumps(said).encode())
        elif order == b"answer":
            control.send(turn.ANSWERED)
        elif order == b"done":
            control.send(turn.REHEARSED)
        elif order == b"deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            control.send(b"deaf\n")
        elif order == b"mute":
            control.close()
            signal.pause()
        elif order == b"end":
            return


@dataclass
class Clock:
    """A clock that the test sets."""

    now: float = 1000.0

    def monotonic(self) -> float:
        """Return the moment it shows."""
        return self.now


@dataclass
class Crew:
    """Workers whose work is `obey`.

    Attributes:
        all: they.
        clock: theirs.
        forked: the process ids of all that were forked, in order.
        broken: whether none can be forked.
    """

    all: Workers
    clock: Clock
    forked: list[int] = field(default_factory=list)
    broken: bool = False
    callers: list[socket.socket] = field(default_factory=list)

    def give(self, project: bytes = b"") -> tuple[Worker, socket.socket]:
        """Give a worker an event; return it and the caller's end of the connection."""
        worker = self.all.take()
        assert worker
        connection, caller = socket.socketpair()
        self.all.assign(worker, connection, project)
        self.callers.append(caller)
        return worker, caller

    def rehearsed(self) -> None:
        """Let the first that was forked say that it has rehearsed, and wait until it has."""
        worker = self.all._all[self.forked[0]]
        worker.control.send(b"done")
        select.select([worker.control], [], [], LONG_S)

    def ready(self) -> dict[int, int]:
        """Wait until `poll` has something to tell of them; return it."""
        poll = select.poll()
        self.all.watch(poll)
        return dict(poll.poll(LONG_S * 1000))

    def stirs(self) -> bool:
        """Return whether `poll` would wake the server for them."""
        poll = select.poll()
        self.all.watch(poll)
        return bool(poll.poll(0))

    def bury_until(self, true: Callable[[], bool]) -> None:
        """Bury the dead until something is true."""

        def buried() -> bool:
            self.all.bury()
            return true()

        until(buried)


def told(worker: Worker, order: bytes = b"who") -> dict[str, Any]:
    """Return what a child says of itself."""
    worker.control.settimeout(LONG_S)
    worker.control.send(order)
    said: dict[str, Any] = json.loads(worker.control.recv(1000))
    return said


def alive(pid: int) -> bool:
    """Return whether a process has not ended; it stays to be buried by others."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def silent(caller: socket.socket) -> bool:
    """Return whether the other end of a connection is closed; waits for it."""
    caller.settimeout(LONG_S)
    return caller.recv(1) == b""


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    """Workers that can be told what to do; they are ended afterwards."""

    def shed() -> None:
        for caller in made.callers:  # a caller is another process in truth: no worker has its end
            caller.close()

    made = Crew(Workers(shed), Clock())
    fork = os.fork

    def counted() -> int:
        if made.broken:
            raise BlockingIOError(errno.EAGAIN, "no more processes")
        pid = fork()
        if pid:
            made.forked.append(pid)
        return pid

    monkeypatch.setattr(pool, "time", made.clock)
    monkeypatch.setattr(os, "fork", counted)
    monkeypatch.setattr(loader, "preload", lambda: None)
    monkeypatch.setattr(turn, "wait", obey)
    yield made
    for pid in made.forked:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
    made.broken = True
    while made.all.take():
        pass
    for worker in made.all.busy():
        worker.close()
    for caller in made.callers:
        caller.close()


# --- how many, and for whom ---------------------------------------------------------------------------------------


def test_a_project_leaves_workers_to_the_others(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one to come gets half of them at most, the next half of what is left, and the last one is left."""
    monkeypatch.setattr(pool, "MOST", 8)
    given = []
    for project in (b"a", b"b", b"c", b"d"):
        times = 0
        while crew.all.has_room(project):
            crew.give(project)
            times += 1
        given.append(times)
    assert given == [4, 2, 1, 1]
    assert not crew.all.has_room(b"") and not crew.all.has_room(b"e")


def test_who_names_no_project_may_have_all_of_them(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be told whose an event is, the share of a project says nothing; the number of all still holds."""
    monkeypatch.setattr(pool, "MOST", 3)
    while crew.all.has_room(b""):
        crew.give()
    assert len(crew.forked) == len(crew.all.busy()) == 3


def test_who_waits_for_an_event_takes_nobodys_place(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that are forked ahead do not count as busy, and one counts from the moment that it is taken."""
    monkeypatch.setattr(pool, "MOST", 1)
    crew.all.stock_up()
    assert crew.all.busy() == [] and crew.all.has_room(b"p")
    crew.give(b"p")
    assert len(crew.all.busy()) == 1 and not crew.all.has_room(b"q")


def test_an_answered_event_keeps_its_place_until_the_worker_has_ended(crew: Crew) -> None:
    """What a worker still does after its answer takes room too."""
    worker, _ = crew.give(b"p")
    told(worker)
    worker.control.send(b"answer")
    assert crew.all.hear(crew.ready()) == 1
    assert crew.all.busy() == [worker]
    worker.control.send(b"end")
    crew.bury_until(lambda: crew.all.busy() == [])


# --- forked ahead -------------------------------------------------------------------------------------------------


def test_two_are_forked_ahead_and_the_elder_one_is_taken_first(crew: Crew) -> None:
    """It had more time to get ready; only where none waits is one forked for an event that is there."""
    for _ in range(4):
        crew.all.stock_up()
    assert len(crew.forked) == 2
    crew.rehearsed()
    taken = [told(crew.give()[0]) for _ in range(3)]
    assert [each["pid"] for each in taken] == crew.forked
    assert [each["early"] for each in taken] == [True, False, False], "only the first one rehearses"
    for _ in range(4):
        crew.all.stock_up()
    assert len(crew.forked) == 5, "those that are busy are not ahead of anything"


def test_who_is_still_rehearsing_is_left_to_it(crew: Crew) -> None:
    """The other one has nothing prepared, and begins at once all the same."""
    crew.all.stock_up()
    crew.all.stock_up()
    assert [told(crew.give()[0])["pid"] for _ in range(2)] == crew.forked[::-1]
    crew.all.stock_up()
    assert told(crew.give()[0])["early"], "it is the only one"


def test_nothing_is_prepared_while_somebody_waits_for_an_answer(crew: Crew) -> None:
    """It would take processor time from that event. A worker that hangs keeps nobody waiting for long."""
    worker, _ = crew.give()
    assert crew.all.due(crew.clock.now) == [crew.clock.now + pool.BUSY_S]
    worker.forget()
    assert crew.all.due(crew.clock.now) == [crew.clock.now + pool.QUIET_S]


def test_one_is_due_soon_while_one_is_lacking(crew: Crew) -> None:
    """A moment after the last event, not at once: an event that is being answered needs the processor."""
    assert crew.all.due(crew.clock.now) == [crew.clock.now + pool.QUIET_S]
    crew.all.stock_up()
    assert crew.all.due(crew.clock.now) == [crew.clock.now + pool.QUIET_S]
    crew.all.stock_up()
    assert crew.all.due(crew.clock.now) == []


def test_what_cannot_be_forked_is_tried_less_and_less(crew: Crew) -> None:
    """After a second, then after twice as long each time, at most about a minute; a failure raises nothing."""
    crew.broken, pauses = True, []
    for _ in range(9):
        began = crew.clock.now
        crew.all.stock_up()
        (at,) = crew.all.due(began)
        pauses.append(at - began)
        crew.clock.now = at
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 64, 64]


def test_nothing_is_tried_before_its_time(crew: Crew) -> None:
    """Not a moment earlier, but then."""
    crew.broken = True
    crew.all.stock_up()
    crew.broken, crew.clock.now = False, crew.clock.now + pool.RETRY_S - 0.01
    crew.all.stock_up()
    assert crew.forked == []
    crew.clock.now += 0.02
    crew.all.stock_up()
    assert len(crew.forked) == 1


def test_an_event_that_is_there_is_tried_at_once(crew: Crew) -> None:
    """A pause is for what is forked ahead. Where that fails again, nobody gets a worker, and it is logged."""
    crew.broken = True
    crew.all.stock_up()
    assert crew.all.take() is None
    assert "can't fork" in paths.log_file().read_text()
    crew.broken = False
    assert crew.all.take()


def test_one_that_dies_before_its_event_makes_a_pause(crew: Crew) -> None:
    """Else one that cannot live would be forked fifty times a second. What died is not given to anybody."""
    crew.all.stock_up()
    crew.all.stock_up()
    os.kill(crew.forked[0], signal.SIGKILL)
    now = crew.clock.now
    crew.bury_until(lambda: crew.all.due(now) == [now + pool.RETRY_S])
    assert told(crew.give()[0])["pid"] == crew.forked[1]


def test_an_answer_makes_the_pauses_short_again(crew: Crew) -> None:
    """What kept workers from being forked, or from living, is over."""
    crew.broken = True
    for _ in range(4):
        crew.all.stock_up()
        crew.clock.now += 100
    crew.broken = False
    worker, _ = crew.give()
    worker.control.send(b"answer")
    assert crew.all.hear(crew.ready()) == 1
    crew.broken = True
    crew.all.stock_up()
    assert crew.all.due(crew.clock.now) == [crew.clock.now + pool.RETRY_S]


def test_one_that_ends_after_its_event_makes_no_pause(crew: Crew) -> None:
    """That is what they all do."""
    worker, _ = crew.give()
    worker.control.send(b"end")
    crew.bury_until(lambda: crew.all.busy() == [])
    assert crew.all.due(crew.clock.now) == [crew.clock.now + pool.QUIET_S]


# --- who waits, and who has gone ----------------------------------------------------------------------------------


def test_who_has_its_answer_may_go_and_the_worker_goes_on(crew: Crew) -> None:
    """Its going away ends nobody: what a worker does after its answer is still to be done."""
    worker, caller = crew.give()
    worker.control.send(b"answer")
    assert crew.all.hear(crew.ready()) == 1
    assert silent(caller)
    caller.close()
    assert not crew.stirs()
    crew.all.end_unwanted({})
    crew.clock.now += 100
    crew.all.end_unwanted({})
    assert told(worker)["pid"] == crew.forked[0]


def test_an_answer_in_the_moment_in_which_the_caller_goes_ends_nobody(crew: Crew) -> None:
    """The server hears first, and looks at who has gone then."""
    worker, caller = crew.give()
    told(worker)
    worker.control.send(b"answer")
    crew.ready()
    caller.close()
    ready = crew.ready()
    assert crew.all.hear(ready) == 1
    crew.all.end_unwanted(ready)
    assert told(worker)["pid"] == crew.forked[0]


def test_only_answers_are_counted(crew: Crew) -> None:
    """Each worker's own, and no other word."""
    (one, _), (_, _), (other, caller) = crew.give(), crew.give(), crew.give()
    assert crew.all.hear({}) == 0
    for worker in (one, other):
        worker.control.send(b"answer")
    until(lambda: len(crew.ready()) == 2)
    assert crew.all.hear(crew.ready()) == 2
    assert silent(caller)
    one.control.send(b"deaf")
    assert crew.all.hear(crew.ready()) == 0
    one.control.send(b"answer")
    assert crew.all.hear(crew.ready()) == 1, "another word is not its last one"


def test_a_worker_that_says_no_more_wakes_the_server_once(crew: Crew) -> None:
    """It may live on for what its event left to do, and the server must not spin meanwhile; who waits still counts."""
    worker, caller = crew.give()
    worker.control.send(b"mute")
    assert crew.all.hear(crew.ready()) == 0
    assert not crew.stirs()
    assert crew.all.hear({}) == 0
    caller.close()
    crew.all.end_unwanted(crew.ready())
    crew.bury_until(lambda: crew.all.busy() == [])


def test_whose_caller_has_gone_is_told_to_end(crew: Crew) -> None:
    """That one only, and with the signal that a handler can obey; who says something more has not gone."""
    worker, caller = crew.give()
    _, other = crew.give()
    other.send(b"more")
    assert not crew.stirs()
    told(worker)
    caller.close()
    crew.all.end_unwanted(crew.ready())
    _, status = os.waitpid(crew.forked[0], 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGTERM
    assert alive(crew.forked[1])


def test_a_caller_that_only_stopped_sending_is_told_apart(crew: Crew) -> None:
    """It has no more time, which it says in this way: its worker is told to end, and can still answer it."""
    if not hasattr(select, "POLLRDHUP"):
        pytest.skip("the system does not tell")
    worker, caller = crew.give()
    told(worker, b"who")
    caller.shutdown(socket.SHUT_WR)
    crew.all.end_unwanted(crew.ready())
    assert os.waitpid(crew.forked[0], 0)[0]


def test_who_does_not_obey_is_ended_with_all_that_it_started(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a time of grace, which nothing prolongs."""
    reading, writing = os.pipe()

    def stubborn(control: socket.socket, root: str) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 60"], os.environ) and control.send(b"deaf"):
            signal.pause()

    monkeypatch.setattr(turn, "wait", stubborn)
    os.set_inheritable(writing, True)
    worker, caller = crew.give()
    os.close(writing)
    assert worker.control.recv(10) == b"deaf"
    caller.close()
    gone = crew.ready()
    crew.all.end_unwanted(gone)
    asked_at = crew.clock.now
    assert asked_at + pool.GRACE_S in crew.all.due(asked_at)
    crew.clock.now += pool.GRACE_S - 0.1
    crew.all.end_unwanted(gone)
    assert asked_at + pool.GRACE_S in crew.all.due(asked_at)
    assert alive(crew.forked[0])

    crew.clock.now += 0.1
    crew.all.end_unwanted({})
    assert os.waitstatus_to_exitcode(os.waitpid(crew.forked[0], 0)[1]) == -signal.SIGKILL
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    assert poll.poll(LONG_S / 2 * 1000), "what it started holds its end of the pipe"
    os.close(reading)


def test_one_that_cannot_be_ended_yet_is_tried_again(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """After another time of grace, not in a loop without a rest; each signal is sent once."""
    sent: list[int] = []
    worker, caller = crew.give()
    told(worker)
    caller.close()
    gone = crew.ready()
    with monkeypatch.context() as patch:
        for name in ("killpg", "kill"):
            patch.setattr(os, name, lambda pid, number: sent.append(number))
        for _ in range(3):
            crew.all.end_unwanted(gone)
            crew.all.end_unwanted(gone)
            assert crew.clock.now + pool.GRACE_S in crew.all.due(crew.clock.now)
            crew.clock.now += pool.GRACE_S
    assert sent == [signal.SIGTERM, signal.SIGKILL, signal.SIGKILL]


def test_one_that_has_no_group_of_its_own_yet_is_ended_too(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller may go before it has done anything at all; the server's own group is not what is ended then."""
    monkeypatch.setattr(os, "setpgid", lambda *_: None)
    worker, caller = crew.give()
    assert told(worker)["group"] == os.getpgid(0)
    caller.close()
    crew.all.end_unwanted(crew.ready())
    assert os.waitstatus_to_exitcode(os.waitpid(crew.forked[0], 0)[1]) == -signal.SIGTERM


# --- their end ----------------------------------------------------------------------------------------------------


def test_the_dead_are_buried_all_at_once(crew: Crew) -> None:
    """One signal may stand for several of them; those that live stay."""
    for _ in range(3):
        crew.give()
    for pid in crew.forked[:2]:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not any(map(alive, crew.forked[:2])))
    crew.all.bury()
    (left,) = crew.all.busy()
    assert told(left)["pid"] == crew.forked[2]


def test_who_waits_for_a_worker_that_has_died_hears_of_it(crew: Crew) -> None:
    """The connection is closed, however many other workers there are, forked before and since."""
    crew.give()
    worker, caller = crew.give()
    crew.give()
    crew.all.stock_up()
    told(worker)
    os.kill(crew.forked[1], signal.SIGKILL)
    crew.bury_until(lambda: len(crew.all.busy()) == 2)
    assert silent(caller)
    assert worker.control.fileno() == -1


def test_without_children_there_is_nobody_to_bury(crew: Crew) -> None:
    """Also where somebody else was told of their end."""
    crew.all.bury()
    crew.give()
    os.kill(crew.forked[0], signal.SIGKILL)
    os.waitpid(crew.forked[0], 0)
    crew.all.bury()


# --- what they inherit --------------------------------------------------------------------------------------------


def test_each_ends_with_the_server(crew: Crew) -> None:
    """Where the server lets go of one, or is killed, that one hears of it, whichever were forked after it."""
    first, _ = crew.give()
    crew.give()
    told(first)
    first.control.close()
    until(lambda: not alive(crew.forked[0]))
    assert alive(crew.forked[1])


def test_each_has_a_group_and_signals_of_its_own(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server does at a signal is not for a worker to do, nor to tell the server of."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
    before = {number: signal.getsignal(number) for number in numbers}

    def report(control: socket.socket, root: str) -> None:
        usual = [signal.getsignal(number) == signal.SIG_DFL for number in numbers]
        said = {"usual": usual, "woken": signal.set_wakeup_fd(-1), "group": os.getpgid(0), "pid": os.getpid()}
        control.send(json.dumps(said).encode())

    monkeypatch.setattr(turn, "wait", report)
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    try:
        for number in numbers:
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(woken)
        worker, _ = crew.give()
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(waking)
        os.close(woken)
    said = json.loads(worker.control.recv(1000))
    assert said == {"usual": [True, True, True], "woken": -1, "group": crew.forked[0], "pid": crew.forked[0]}


def test_what_is_the_servers_alone_is_closed_in_each(crew: Crew) -> None:
    """In the worker, not in the server."""
    far, near = socket.socketpair()
    crew.all.shed = near.close
    worker, _ = crew.give()
    told(worker)
    near.send(b"here")
    near.close()
    assert far.recv(10) == b"here"
    assert silent(far)
    far.close()


def test_what_is_known_of_handlers_is_looked_at_before_each_is_forked(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the server, once for all that are forked after an edit; each would have to read it all else."""
    looked: list[int] = []
    monkeypatch.setattr(loader, "preload", lambda: looked.append(len(crew.forked)))
    crew.all.stock_up()
    crew.all.stock_up()
    for _ in range(3):
        crew.give()
    assert looked == [0, 1, 2]


def test_whatever_happens_in_one_happens_to_it_alone(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error there goes no further up: it must not become a second server."""

    def fail(control: socket.socket, root: str) -> None:
        raise ValueError("worker")

    monkeypatch.setattr(turn, "wait", fail)
    worker, _ = crew.give()
    assert worker.control.recv(1) == b""
    assert os.waitpid(crew.forked[0], 0)[0]


def test_a_new_one_hears_of_the_last_project(crew: Crew) -> None:
    """It prepares for it, because the next event is probably of that project, too."""
    first, _ = crew.give(b"/home/me/one")
    second, _ = crew.give(b"/home/me/two \xff")
    third, _ = crew.give()

    assert [told(each)["root"] for each in (first, second, third)] == ["", "/home/me/one", "/home/me/two \udcff"]


def test_no_descriptors_are_left(crew: Crew) -> None:
    """A server lives for days."""
    listed = SimpleNamespace(now=lambda: sorted(os.listdir("/proc/self/fd")))  # noqa: PTH208
    if not os.path.exists("/proc/self/fd"):  # noqa: PTH110
        pytest.skip("asks /proc")
    before = listed.now()
    crew.all.stock_up()
    worker, caller = crew.give()
    worker.control.send(b"answer")
    crew.all.hear(crew.ready())
    worker.control.send(b"end")
    crew.bury_until(lambda: crew.all.busy() == [])
    caller.close()
    assert listed.now() == before
