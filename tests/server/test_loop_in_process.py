"""How the server's loop treats its callers, with simulated workers and only this process."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import engine, paths, relay
from holdfast.server import loop as serverloop
from holdfast.server import standby
from holdfast.server.pool import GONE, Worker

if TYPE_CHECKING:
    import select
    from collections.abc import Callable, Iterator

LONG_S = 60.0  # what takes moments may take this long on a busy machine


@dataclass
class Clock:
    """A clock that the test sets."""

    now: float = 1000.0

    def monotonic(self) -> float:
        """Return the moment it shows."""
        return self.now

    time = monotonic


@dataclass
class Staff:
    """Plays the workers.

    Attributes:
        full: projects that have no room.
        idle: workers that can be taken.
        at_work: those that were.
        ends: the far ends of their controls.
        heard: how many answers are heard, one number each time.
        moments: when something is due for them.
        stocked: how often it was told to fork one ahead.
        hearing: what happens when it listens to the workers.
        taking: what happens when a worker is taken.
    """

    full: set[bytes] = field(default_factory=set)
    idle: list[Worker] = field(default_factory=list)
    at_work: list[Worker] = field(default_factory=list)
    ends: list[socket.socket] = field(default_factory=list)
    heard: list[int] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)
    stocked: int = 0
    hearing: Callable[[], object] = lambda: None
    taking: Callable[[], object] = lambda: None

    def hire(self) -> None:
        """Have one more that can be taken."""
        control, end = socket.socketpair()
        self.idle.append(Worker(control))
        self.ends.append(end)

    def has_room(self, project: bytes) -> bool:
        """Return whether a project may have one."""
        return project not in self.full

    def take(self) -> Worker | None:
        """Return one, None where there is none."""
        self.taking()
        if not self.idle:
            return None
        self.at_work.append(self.idle.pop(0))
        return self.at_work[-1]

    def assign(self, worker: Worker, connection: socket.socket, project: bytes) -> None:
        """Let one answer a connection."""
        worker.connection, worker.project = connection, project

    def busy(self) -> list[Worker]:
        """Return those at work."""
        return self.at_work

    def due(self, now: float) -> list[float]:
        """Return when something is."""
        return list(self.moments)

    def watch(self, poll: select.poll) -> None:
        """Do without."""

    def hear(self, ready: dict[int, int]) -> int:
        """Return how many answers there were."""
        self.hearing()
        return self.heard.pop(0) if self.heard else 0

    def end_unwanted(self, ready: dict[int, int]) -> None:
        """Do without."""

    def bury(self) -> None:
        """Do without."""

    def stock_up(self) -> None:
        """Count it."""
        self.stocked += 1


@dataclass
class Watched:
    """Plays what is loaded: whether it has changed, and when that is told."""

    changed: str = ""
    told: int = -1
    closed: bool = False
    since: Callable[[float], str] = lambda moment: ""

    def found(self) -> str:
        """Return what has changed."""
        return self.changed

    def fileno(self) -> int:
        """Return what can be read when something has."""
        return self.told

    def close(self) -> None:
        """Note it."""
        self.closed = True


class Listener(socket.socket):
    """A listening socket that fails at first, as the test says."""

    errors: tuple[OSError, ...] = ()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept one."""
        if self.errors:
            error, *rest = self.errors
            self.errors = (*rest,)
            raise error
        return super().accept()


@dataclass
class Loop:
    """A server whose workers and changes are played.

    Attributes:
        serves: it.
        staff: its workers.
        changes: what it has loaded.
        clock: its clock.
        projects: of those who ask, in turn.
    """

    serves: serverloop.Server
    listener: Listener
    staff: Staff
    changes: Watched
    clock: Clock
    projects: list[bytes] = field(default_factory=list)
    callers: list[socket.socket] = field(default_factory=list)

    def ask(self, project: bytes = b"p") -> socket.socket:
        """Ask it something for a project; return the caller's end."""
        self.projects.append(project)
        caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        caller.connect(str(self.serves.address))
        self.callers.append(caller)
        return caller

    def go_round(self) -> None:
        """Wait until something is due, and do it."""
        self.serves._serve(self.serves._poll(-1, self.clock.now))

    @property
    def mark(self) -> Path:
        """The file that says when a server was tried."""
        return standby.mark(self.serves.address)


@pytest.fixture
def loop(short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    """A server that listens, and nobody has asked yet."""
    address = short_folder / "socket"
    listener = Listener(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(address))
    listener.listen()
    listener.setblocking(False)
    lock = os.open(short_folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    changes: Any = Watched()
    serves = serverloop.Server(address, "/entry", listener, lock, changes)
    staff: Any = Staff()
    serves._workers = staff
    made = Loop(serves, listener, staff, changes, Clock())
    monkeypatch.setattr(serverloop, "time", made.clock)
    monkeypatch.setattr(serverloop, "project_of", lambda connection: made.projects.pop(0))
    made.mark.touch()
    yield made
    serves.close()
    for worker in staff.idle + staff.at_work:
        worker.close()
    for each in staff.ends + made.callers:
        each.close()
    with suppress(OSError):
        os.close(lock)


def words(caller: socket.socket) -> bytes:
    """Return what the server has said to a caller by now."""
    with suppress(BlockingIOError):
        return caller.recv(100, socket.MSG_DONTWAIT)
    return b""


def closed(caller: socket.socket) -> bool:
    """Return whether the server has closed a caller's connection; what it said before is left out."""
    try:
        while caller.recv(100, socket.MSG_DONTWAIT):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


# --- who asks -----------------------------------------------------------------------------------------------------


def test_who_comes_hears_of_us_at_once_and_is_handed_over(loop: Loop) -> None:
    """The worker gets the connection, and what the server has to say of itself."""
    loop.staff.hire()
    loop.serves.answered = 5
    caller = loop.ask(b"mine")
    loop.clock.now = 1234.5
    loop.go_round()

    assert words(caller) == relay.ALIVE
    (worker,) = loop.staff.at_work
    assert worker.project == b"mine" and worker.connection
    said, (descriptor,), _, _ = socket.recv_fds(loop.staff.ends[0], 8192, 1)
    with socket.socket(fileno=descriptor) as connection:
        connection.send(b"to the caller")
    assert words(caller) == b"to the caller"
    assert json.loads(said) == {
        "pid": os.getpid(),
        "started": pytest.approx(loop.serves._started, abs=1),
        "entry": "/entry",
        "answered": 5,
        "answering": 0,
        "waiting": 0,
        "accepted": 1234.5,
    }


def test_all_who_come_hear_of_us_before_the_first_is_handed_over(loop: Loop) -> None:
    """Handing over may mean a fork; so it is done for one at a time, and for the next one without any wait."""
    loop.staff.hire()
    loop.staff.hire()
    callers = [loop.ask(), loop.ask()]
    loop.go_round()
    assert [words(each)[:1] for each in callers] == [relay.ALIVE] * 2
    assert len(loop.staff.at_work) == 1
    assert loop.serves._patience(0.0) == 0
    loop.go_round()
    assert len(loop.staff.at_work) == 2
    said = json.loads(loop.staff.ends[1].recv(8192))
    assert (said["answering"], said["waiting"]) == (1, 0)


def test_who_is_handed_over_waits_until_its_worker_is_there(loop: Loop) -> None:
    """One that is forked for it closes the connections of all who wait; it is given this one, and keeps no second."""
    loop.staff.hire()
    waiting: list[int] = []
    loop.staff.taking = lambda: waiting.append(len(loop.serves._waiting))
    loop.ask()
    loop.go_round()
    assert waiting == [1] and loop.serves._waiting == {}


def test_whose_project_has_no_room_lets_the_next_one_pass(loop: Loop) -> None:
    """And gets its turn when there is room; the accepted moment is that of its coming."""
    for _ in range(2):
        loop.staff.hire()
    loop.staff.full = {b"full"}
    loop.ask(b"full")
    loop.ask(b"other")
    loop.go_round()
    assert [worker.project for worker in loop.staff.at_work] == [b"other"]
    loop.clock.now += 7
    loop.staff.full.clear()
    loop.go_round()
    assert [worker.project for worker in loop.staff.at_work] == [b"other", b"full"]
    assert json.loads(loop.staff.ends[1].recv(8192))["accepted"] == loop.clock.now - 7


def test_who_waits_is_told_so_now_and_then(loop: Loop) -> None:
    """Often enough that it does not give us up, and no more often; also beside one that has just gone."""
    loop.staff.full = {b"p"}
    gone, caller = loop.ask(), loop.ask()
    loop.go_round()
    loop.clock.now += 1
    loop.go_round()
    gone.close()
    assert words(caller) == relay.ALIVE + relay.WAIT * 2
    loop.clock.now += serverloop.BEAT_S - 0.01
    loop.serves._serve({})
    assert words(caller) == b""
    assert 0 < loop.serves._patience(0.0) <= 12
    loop.clock.now += 0.02
    loop.serves._serve({})
    assert words(caller) == relay.WAIT
    assert serverloop.BEAT_S < relay.READY_TIMEOUT_S / 2


def test_who_has_gone_while_waiting_is_forgotten(loop: Loop) -> None:
    """No worker is taken for it; the others go on waiting."""
    loop.staff.full = {b"p"}
    caller, other = loop.ask(), loop.ask()
    loop.go_round()
    caller.close()
    loop.clock.now += 1
    loop.go_round()
    assert len(loop.serves._waiting) == 1
    assert not closed(other)


def test_a_number_that_was_anothers_says_nothing_of_who_comes(loop: Loop) -> None:
    """What is closed in a round leaves its number to who is accepted in it, of whom `poll` has told nothing yet."""
    old, far = socket.socketpair()
    number = old.fileno()
    loop.staff.hearing = old.close
    loop.staff.full = {b"p"}
    caller = loop.ask()
    loop.serves._serve({loop.listener.fileno(): 1, number: GONE})
    assert [each.fileno() for each in loop.serves._waiting] == [number], "the test is about nothing else"
    assert not closed(caller)
    far.close()


def test_another_user_hears_nothing(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does who cannot be told; each finds its connection closed."""

    def refuse(connection: socket.socket) -> bool:
        raise OSError("who is that")

    for answer in (lambda connection: False, refuse):
        monkeypatch.setattr(relay, "ours", answer)
        caller = loop.ask()
        loop.go_round()
        assert words(caller) == b"" and closed(caller)
        assert loop.serves._waiting == {}


def test_who_went_before_it_was_accepted_is_nobodys_error(loop: Loop) -> None:
    """The next one is accepted in the same round."""
    loop.listener.errors = (ConnectionAbortedError(),)
    loop.staff.hire()
    caller = loop.ask()
    loop.go_round()
    assert words(caller) == relay.ALIVE
    assert not loop.serves._ended and loop.staff.at_work


def test_a_server_that_can_take_nobody_ends(loop: Loop) -> None:
    """Who wait then are let go, and answer for themselves."""
    loop.staff.full = {b"p"}
    caller = loop.ask()
    loop.go_round()
    loop.listener.errors = (OSError(errno.EMFILE, "no descriptors"),)
    loop.ask()
    loop.go_round()
    assert loop.serves._ended
    assert "can't accept an event" in paths.log_file().read_text()
    loop.serves.close()
    assert closed(caller)
    assert not loop.serves.address.exists()


# --- the hand-over ------------------------------------------------------------------------------------------------


def test_without_a_worker_who_asks_is_let_go(loop: Loop) -> None:
    """It answers for itself, and the server goes on."""
    caller = loop.ask()
    loop.go_round()
    assert closed(caller)
    assert not loop.serves._ended and loop.serves._waiting == {}


def test_with_a_worker_that_is_dead_who_asks_is_let_go(loop: Loop) -> None:
    """At once: nobody has told the server of its death yet."""
    loop.staff.hire()
    loop.staff.ends[0].close()
    caller = loop.ask()
    loop.go_round()
    assert closed(caller)
    assert not loop.serves._ended


def test_after_an_upgrade_nobody_is_handed_over(loop: Loop) -> None:
    """Who asks goes cold, which loads what is there now; and the next event may start another server at once."""
    loop.staff.hire()
    loop.staff.full = {b"p"}
    waits = loop.ask()
    loop.go_round()
    loop.changes.changed = "/some/file"
    caller = loop.ask(b"q")
    loop.go_round()
    assert closed(caller) and not closed(waits)
    assert loop.staff.at_work == []
    assert loop.serves._ended and not loop.mark.exists()
    loop.staff.full.clear()
    loop.changes.changed = ""
    loop.serves._serve({})
    assert loop.staff.at_work == [], "it has ended"


def test_an_upgrade_ends_a_server_that_nobody_asks(loop: Loop) -> None:
    """It ends when it is told of the change, not at the next event; a word about nothing ends nobody."""
    loop.changes.told, told = os.pipe()
    os.write(told, b"x")
    loop.go_round()
    assert not loop.serves._ended
    loop.changes.changed = "/some/file"
    loop.go_round()
    assert loop.serves._ended and not loop.mark.exists()
    os.close(told)
    os.close(loop.changes.told)


def test_answers_are_counted_and_the_first_one_shows_that_it_works(loop: Loop) -> None:
    """From then on another one may be started at once, should this one be killed; before it would be a waste."""
    loop.staff.heard = [0, 2]
    loop.serves._serve({})
    assert loop.mark.exists() and loop.serves.answered == 0
    loop.serves._serve({})
    assert not loop.mark.exists() and loop.serves.answered == 2
    loop.mark.touch()
    loop.staff.heard = [3]
    loop.serves._serve({})
    assert loop.mark.exists() and loop.serves.answered == 5


# --- when something is due ----------------------------------------------------------------------------------------


def test_workers_are_forked_ahead_only_while_nothing_happens(loop: Loop) -> None:
    """Not in a round that had something to do, nor while somebody waits."""
    loop.serves._serve({-1: 1})
    assert loop.staff.stocked == 0
    loop.staff.full = {b"p"}
    loop.ask()
    loop.go_round()
    loop.serves._serve({})
    assert loop.staff.stocked == 0
    loop.staff.full.clear()
    loop.serves._serve({})
    loop.serves._serve({})
    assert loop.staff.stocked == 2


def test_it_sleeps_until_something_is_due(loop: Loop) -> None:
    """Its own end where nobody works; what is due for its workers; and else for as long as nothing happens."""
    now = loop.clock.now
    idle_ms = loop.serves._patience(now - serverloop.IDLE_TIMEOUT_S + 5)
    assert 5_000 < idle_ms < 6_000
    loop.staff.moments = [now + 3, now + 2]
    assert 2_000 <= loop.serves._patience(now) <= 2_001
    loop.staff.moments = [now - 3]
    assert loop.serves._patience(now) <= 1
    loop.staff.hire()
    loop.staff.take()
    loop.staff.moments = []
    assert loop.serves._patience(now) == -1


@pytest.fixture
def signals() -> Iterator[None]:
    """Give this process its signals back."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    signal.set_wakeup_fd(-1)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_it_does_at_once(loop: Loop, number: signal.Signals) -> None:
    """Also out of its sleep; who waits is let go, and nobody else finds it."""
    loop.staff.full = {b"p"}
    caller = loop.ask()
    loop.staff.hearing = lambda: os.kill(os.getpid(), number) if loop.serves._waiting else None
    assert loop.serves.run() == 0
    assert closed(caller)
    assert not loop.serves.address.exists()
    for each in loop.serves._waking:
        os.close(each)


@pytest.mark.usefixtures("signals")
def test_the_end_of_a_worker_wakes_it(loop: Loop) -> None:
    """It would sleep on else, with a dead worker's caller still waiting; and it sleeps again after that."""
    loop.staff.hire()
    loop.staff.take()  # somebody is at work, so nothing at all is due
    woken: list[bool] = []
    children: list[int] = []

    def hear() -> None:
        woken.append(bool(children) and os.waitpid(children[-1], os.WNOHANG)[0] > 0)
        if len(woken) == 3:
            loop.serves._ended = True
            return
        children.append(os.fork())
        if not children[-1]:
            time.sleep(0.2)
            os._exit(0)

    loop.staff.hearing = hear
    loop.ask()  # the first round
    assert loop.serves.run() == 0
    assert woken == [False, True, True]
    for each in loop.serves._waking:
        os.close(each)


@pytest.mark.usefixtures("signals")
def test_it_ends_some_time_after_the_last_work_not_the_last_word(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that takes longer than that keeps it, and when that has ended it waits as long as ever for another."""
    loop.staff.hire()
    loop.staff.take()
    loop.staff.moments = [loop.clock.now]  # no sleep: time goes by as the test says
    rounds = 0

    def hear() -> None:
        nonlocal rounds
        rounds += 1
        loop.clock.now += serverloop.IDLE_TIMEOUT_S * 0.6
        if rounds == 4:
            loop.staff.at_work.pop().close()

    loop.staff.hearing = hear
    assert loop.serves.run() == 0
    assert rounds == 6
    assert not loop.serves.address.exists()
    for each in loop.serves._waking:
        os.close(each)


def test_a_worker_has_nothing_of_the_servers_own(loop: Loop) -> None:
    """Neither its lock nor its socket nor the connections of those who wait, or its end would go unnoticed."""
    loop.staff.full = {b"p"}
    caller = loop.ask()
    loop.go_round()
    loop.serves._waking = os.pipe()
    own = [*loop.serves._waking, loop.serves.lock, loop.listener.fileno()]
    loop.serves._shed()
    for descriptor in own:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    assert loop.changes.closed and closed(caller)


# --- the project of who asks --------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")
@pytest.mark.parametrize("project", ["/the/project", ""])
def test_the_project_is_that_of_the_callers_environment(short_folder: Path, project: str) -> None:
    """However large that is, and whatever else has a similar name."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(short_folder / "socket"))
    listener.listen()
    listener.settimeout(LONG_S)
    script = "import socket, sys; it = socket.socket(socket.AF_UNIX); it.connect(sys.argv[1]); it.recv(1)"
    command = [sys.executable, "-IS", "-c", script, str(short_folder / "socket")]
    environ = {"A": "x" * 100_000, "B": "x" * 100_000, "CLAUDE_PROJECT_DIRECTORY": "/no", "X": "CLAUDE_PROJECT_DIR=/no"}
    if project:
        environ["CLAUDE_PROJECT_DIR"] = project
    with subprocess.Popen(command, env=environ) as process:
        with listener, listener.accept()[0] as connection:
            assert serverloop.project_of(connection) == os.fsencode(project)
        assert process.wait(LONG_S) == 0


# --- its beginning ------------------------------------------------------------------------------------------------


@dataclass
class Start:
    """A server that is about to be started, with everything that takes long played.

    Attributes:
        entry: the entrypoint.
        changes: what it has loaded.
        claimed: what claiming the address gives.
        served: whether it served.
    """

    entry: Path
    changes: Watched
    claimed: Any = ("listener", 0)
    served: int = 0

    def main(self) -> int:
        """Start it."""
        return serverloop.main("--serve", str(self.entry))

    @property
    def mark(self) -> Path:
        """The file that says when a server was tried."""
        return standby.mark(Path(os.fsdecode(relay.address(str(self.entry), dict(os.environb)))))


@pytest.fixture
def start(short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """A home with an entrypoint."""
    monkeypatch.setenv("XDG_STATE_HOME", str(short_folder))
    made = Start(short_folder / "run", Watched())
    made.entry.touch()
    paths.ensure_private(made.mark.parent)
    made.mark.touch()

    def claim(address: Path) -> Any:
        if isinstance(made.claimed, Exception):
            raise made.claimed
        return made.claimed

    def run(serves: serverloop.Server) -> int:
        made.served += 1
        return 0

    monkeypatch.setattr(serverloop, "warm_up", lambda: None)
    monkeypatch.setattr(serverloop, "Changes", lambda entry: made.changes)
    monkeypatch.setattr(serverloop, "claim", claim)
    monkeypatch.setattr(serverloop.Server, "run", run)
    return made


def test_it_serves(start: Start) -> None:
    """What was tried is still marked: it has shown nothing yet."""
    assert (start.main(), start.served, start.mark.exists()) == (0, 1, True)


def test_where_another_one_listens_it_leaves(start: Start) -> None:
    """That is no failure."""
    start.claimed = None
    assert (start.main(), start.served) == (0, 0)


def test_what_was_uninstalled_meanwhile_is_not_served(start: Start) -> None:
    """Nobody would ever ask it, and its sockets would be left behind."""
    start.entry.unlink()
    assert (start.main(), start.served) == (1, 0)


def test_what_changed_while_it_was_loaded_is_not_served(start: Start) -> None:
    """It may be half of each version. The next event may try again at once."""
    start.changes.since = lambda moment: "/some/file"
    assert (start.main(), start.served, start.mark.exists()) == (1, 0, False)


def test_the_time_in_which_it_was_loaded_begins_with_the_process(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with the moment at which it looks, when all is loaded already; and what is older does not count."""
    moments: list[float] = []

    def since(moment: float) -> str:
        moments.append(moment)
        return ""

    start.changes.since = since
    monkeypatch.setattr(serverloop, "time", Clock())
    monkeypatch.setattr(engine, "age", lambda: 5.0)
    start.main()
    assert 1000 - 5 < moments[0] < 1000 - 4.9


@pytest.mark.parametrize("error", [PermissionError("no"), FileNotFoundError("no"), OSError(errno.ENOSPC, "full")])
def test_where_nobody_can_listen_that_is_a_line_in_the_log(start: Start, error: OSError) -> None:
    """Events are answered without a server."""
    start.claimed = error
    assert (start.main(), start.served) == (1, 0)
    assert "the server didn't start" in paths.log_file().read_text()


def test_without_an_address_there_is_no_server(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """For instance where the path is too long for a socket."""
    monkeypatch.setenv("XDG_STATE_HOME", "/" + "x" * 200)
    assert (start.main(), start.served) == (1, 0)
