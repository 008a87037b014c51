"""The relay has an event answered once, whatever the server says or leaves unsaid, and whoever ends it.

Each test starts the real program, with sanitizers, against a server that the test plays.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude import claude
from holdfast.clients.claude.events import EVENTS
from holdfast.server import protocol
from tests import processes, relays, waiting
from tests.processes import INTERPRETER, SOURCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="Linux")]

COLD = """
import sys
def main(argument, entry):
    print(f"cold {argument} {sys.stdin.read()}", end="", flush=True)
    return 0
"""
"""An engine that says that it was started, and what was left on stdin."""
HASTY_S = 0.3
"""A limit that is meant to run out."""
READY = protocol.frame(protocol.READY, first=500)
SEVEN = protocol.frame(protocol.REPLY, 7)
"""A reply that says nothing but an exit code."""
GUARD = "*\t*\t/x/guard.py\ton_x\n"


@dataclass
class Stage:
    """A home with a relay, and the server's part.

    Attributes:
        top: the folder of it all.
        command: what starts the relay.
        environ: the event's environment.
        heard: the request and the words that the server got.
    """

    top: Path
    command: list[str] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    heard: list[bytes] = field(default_factory=list)
    accepted: int = 0
    _listener: socket.socket | None = None
    _thread: threading.Thread | None = None

    def limit(self, **limits: float) -> None:
        """Put the relay in place, with other limits."""
        package = self.top / "package" / "holdfast"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        (package / "engine.py").write_text(COLD)
        (package / "relay.py").write_bytes((SOURCE / "holdfast" / "relay.py").read_bytes())
        (package / "refuse.sh").write_bytes((SOURCE / "holdfast" / "refuse.sh").read_bytes())
        self.command = relays.put(self.top / "run", package.parent, **limits)

    @property
    def address(self) -> Path:
        """Where the relay looks for its server."""
        entry = self.top / "run.py"
        environ = {os.fsencode(name): os.fsencode(value) for name, value in self.environ.items()}
        return Path(os.fsdecode(protocol.address(str(entry), environ)))

    def guard(self, *events: str) -> None:
        """Have a strict handler be known for events."""
        memory = self.top / "state" / "holdfast" / "strict"
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_text("".join(f"{event}\t{GUARD}" for event in events))

    def serve(self, play: Callable[[socket.socket], None]) -> None:
        """Listen, and have `play` answer each connection."""
        folder = self.address.parent
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._listener = listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.address))
        listener.listen()

        def run() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                self.accepted += 1
                with connection, suppress(ConnectionError):
                    connection.settimeout(relays.LONG_S)
                    play(connection)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def request(self, connection: socket.socket) -> list[bytes]:
        """Read a request and return its words."""
        data = b""
        while len(data) < 8 or len(data) < 8 + int(data[:8]):
            part = connection.recv(65_536)
            if not part:
                raise ConnectionError
            data += part
        self.heard.append(data[8:])
        return data[8:].split(b"\0")

    def go(self, connection: socket.socket, limit_s: int = 500) -> int:
        """Play the handshake to its end and return the client's stdin. Raises ConnectionError if *go* doesn't come."""
        self.request(connection)
        connection.sendall(protocol.frame(protocol.READY, first=limit_s))
        word, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
        if word != protocol.GO:
            raise ConnectionError
        self.heard.append(word)
        (stdin,) = descriptors
        return stdin

    def answer(self, connection: socket.socket, said: bytes = SEVEN) -> None:
        """Play a child that says something, and ends."""
        os.close(self.go(connection))
        connection.sendall(said)

    def fire(self, event: str = "PreToolUse", data: bytes = b"payload", **options: object) -> processes.Ended:
        """Start the relay for an event."""
        done = subprocess.run(
            [*self.command, event], input=data, env=self.environ, cwd=self.top, capture_output=True, check=False,
            timeout=relays.LONG_S, **options,  # type: ignore[call-overload]
        )  # fmt: skip
        return processes.Ended(done.returncode, done.stdout.decode(), done.stderr.decode(), 0.0)

    def begin(self, event: str = "PreToolUse") -> subprocess.Popen[bytes]:
        """Start the relay and leave it at work."""
        return subprocess.Popen(
            [*self.command, event], env=self.environ, cwd=self.top,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    @property
    def log(self) -> str:
        """What was logged."""
        file = self.top / "state" / "holdfast" / "log" / "holdfast.log"
        return file.read_text() if file.exists() else ""

    def close(self) -> None:
        """Listen no more."""
        if self._listener:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()


@pytest.fixture
def stage(short_folder: Path) -> Iterator[Stage]:
    """A home with a relay, which waits as long as it may take."""
    made = Stage(short_folder)
    made.environ = {
        "HOME": str(short_folder), "XDG_STATE_HOME": str(short_folder / "state"), "PATH": os.defpath,
        "CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(short_folder), "LANG": "C.UTF-8",
    }  # fmt: skip
    made.limit()
    yield made
    made.close()


def refusal(ended: processes.Ended) -> str:
    """Return why a tool call was refused."""
    assert ended.exit_code == 0, ended.stderr
    assert ended.specific["permissionDecision"] == "deny"
    return str(ended.specific["permissionDecisionReason"])


# --- asked and answered -------------------------------------------------------------------------------------------


def test_the_child_gets_the_request_and_stdin_and_the_client_its_reply(stage: Stage) -> None:
    """What it is told is all that a process has: the event, the folder, the mask, the environment."""
    stage.environ |= {"ODD": "ü\n=x", "EMPTY": ""}

    def play(connection: socket.socket) -> None:
        stdin = stage.go(connection)
        connection.sendall(protocol.frame(protocol.REPLY, 2, b"got " + os.read(stdin, 99), b"and said"))
        os.close(stdin)
        stage.heard.append(connection.recv(1))

    stage.serve(play)
    mask = os.umask(0o27)
    try:
        ended = stage.fire()
    finally:
        os.umask(mask)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (2, "got payload", "and said")
    request, word, written = stage.heard
    kind, event, folder, umask, *pairs = request.split(b"\0")
    assert (kind, event, folder, int(umask)) == (b"event", b"PreToolUse", bytes(stage.top), 0o27)
    assert sorted(pairs) == sorted(b"%b=%b" % (os.fsencode(n), os.fsencode(v)) for n, v in stage.environ.items())
    assert (word, written) == (protocol.GO, protocol.WRITTEN)


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LANG": "en_US.UTF-8"}, {"LC_ALL": "tr_TR.ISO-8859-9"}, {}])
def test_the_address_is_one_whatever_the_language(stage: Stage, locale: dict[str, str]) -> None:
    """The server's file names are UTF-8, as the client's are; no connection, no answer."""
    stage.serve(stage.answer)
    stage.environ.pop("LANG")
    stage.environ |= locale
    assert stage.fire("Stop").exit_code == 7


@pytest.mark.parametrize("folder", ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"])
@pytest.mark.parametrize("value", ["", "/elsewhere", "ü"])
def test_other_folders_have_another_server(stage: Stage, folder: str, value: str) -> None:
    """Unset, empty and set are three things, and relay and server mean the same by them."""
    stage.serve(stage.answer)
    before = stage.address
    stage.environ[folder] = value
    assert stage.address != before
    assert stage.fire("Stop").stdout == "cold Stop payload"
    stage.close()
    stage.serve(stage.answer)
    assert stage.fire("Stop").exit_code == 7


def test_so_much_environment_that_it_fits_nowhere_is_no_trouble(stage: Stage) -> None:
    """More than the relay's memory: the event goes cold."""
    stage.serve(stage.answer)
    stage.environ |= {f"V{each}": "x" * 120_000 for each in range(10)}
    assert stage.fire("Stop").stdout == "cold Stop payload"


def test_of_two_values_of_a_variable_the_first_one_counts(stage: Stage) -> None:
    """Cold and warm, so that nobody can make a guard see another project than the client named."""
    stage.serve(stage.answer)
    script = (
        "import ctypes, sys\n"
        "given = [name.encode() for name in sys.argv[2:sys.argv.index('--')]]\n"
        "run = [word.encode() for word in sys.argv[sys.argv.index('--') + 1:]]\n"
        "array = lambda words: (ctypes.c_char_p * (len(words) + 1))(*words, None)\n"
        "ctypes.CDLL(None).execve(run[0], array(run), array(given))\n"
    )
    pairs = [f"{name}={value}" for name, value in stage.environ.items()]
    given = [*pairs, "CLAUDE_PROJECT_DIR=/other", "TWICE=1", "TWICE=2", "no pair"]
    done = subprocess.run([INTERPRETER[0], "-c", script, "", *given, "--", *stage.command, "Stop"], check=False)
    assert done.returncode == 7
    relay, child = socket.socketpair()
    with relay, child:
        relay.sendall(b"%8d" % len(stage.heard[0]) + stage.heard[0])
        found = protocol.receive(child).environ
    assert found == {os.fsencode(n): os.fsencode(v) for n, v in {**stage.environ, "TWICE": "1"}.items()}


# --- before GO ----------------------------------------------------------------------------------------------------


def test_without_a_server_the_event_goes_cold(stage: Stage) -> None:
    """Neither folder nor socket, or one that nobody listens at."""
    assert stage.fire("Stop").stdout == "cold Stop payload"
    stage.serve(lambda _: None)
    stage.close()
    assert stage.fire("Stop").stdout == "cold Stop payload"


@pytest.mark.parametrize("said", [b"", b"x", b"r", READY[:-1], SEVEN, protocol.frame(protocol.REFUSE), b"\0" * 10])
def test_any_other_word_before_go_sends_the_event_away_cold(stage: Stage, said: bytes) -> None:
    """stdin is unread, and the streams were handed to nobody."""

    def play(connection: socket.socket) -> None:
        stage.request(connection)
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)
        stage.heard.append(connection.recv(1))

    stage.serve(play)
    assert stage.fire().stdout == "cold PreToolUse payload"
    assert protocol.GO not in stage.heard[1:]
    assert stage.accepted == 1


@pytest.mark.parametrize("said", [b"", READY[:-1]])
def test_a_server_that_hangs_before_go_is_left(stage: Stage, said: bytes) -> None:
    """After the limit; the connection is closed."""
    stage.limit(READY_TIMEOUT_S=HASTY_S)

    def play(connection: socket.socket) -> None:
        with suppress(ConnectionError):
            stage.request(connection)
        connection.sendall(said)
        stage.heard.append(connection.recv(1))

    stage.serve(play)
    assert stage.fire("Stop").stdout == "cold Stop payload"
    assert stage.heard[-1] == b""


def test_a_server_that_takes_no_request_is_left(stage: Stage) -> None:
    """Its receive buffer is full: a request that long waits for room, but not for ever."""
    stage.limit(READY_TIMEOUT_S=HASTY_S)
    stage.environ |= {f"V{each}": "x" * 100_000 for each in range(8)}
    over = threading.Event()

    def play(connection: socket.socket) -> None:
        over.wait()

    stage.serve(play)
    assert stage.fire("Stop").stdout == "cold Stop payload"
    over.set()


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no", "False"])
def test_switched_off_nobody_is_asked(stage: Stage, word: str) -> None:
    """In any spelling."""
    stage.serve(stage.answer)
    stage.environ["HOLDFAST_SERVER"] = word
    assert stage.fire("Stop").stdout == "cold Stop payload"
    assert stage.accepted == 0


def test_a_folder_that_others_can_enter_is_not_trusted(stage: Stage) -> None:
    """Whoever else could get at the socket could be who answers."""
    stage.serve(stage.answer)
    for mode, warm in ((0o701, False), (0o720, False), (0o777, False), (0o700, True)):
        stage.address.parent.chmod(mode)
        assert stage.fire("Stop").exit_code == (7 if warm else 0)
    assert stage.accepted == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("whose", ["process", "folder"])
def test_a_server_of_somebody_elses_hears_nothing(stage: Stage, whose: str) -> None:
    """Neither the environment, which may hold secrets, nor the streams."""
    if whose == "folder":
        stage.serve(stage.answer)
        os.chown(stage.address.parent, 65_534, 65_534)
        assert stage.fire("Stop").stdout == "cold Stop payload"
        assert stage.accepted == 0
        return
    stage.address.parent.mkdir(parents=True)
    stage.address.parent.chmod(0o700)
    ready, heard = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(stage.address))
            os.setuid(65_534)
            listener.listen()  # from now on it is that user's
            os.write(ready[1], b"x")
            connection, _ = listener.accept()
            os.write(heard[1], b"heard %d" % len(connection.recv(9)))
        os._exit(0)
    os.read(ready[0], 1)
    assert stage.fire("Stop").stdout == "cold Stop payload"
    assert os.read(heard[0], 99) == b"heard 0"
    os.waitpid(pid, 0)
    for each in (*ready, *heard):
        os.close(each)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_stream_that_was_closed_is_not_taken_for_the_socket(stage: Stage, number: int) -> None:
    """The socket would have its number."""
    stage.serve(stage.answer)
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec {number}<&-; exec "$@"', "sh", *stage.command, "Stop"],
        stdin=subprocess.DEVNULL, capture_output=True, env=stage.environ, check=False,
    )  # fmt: skip
    assert done.returncode != 7
    assert protocol.GO not in stage.heard


@pytest.mark.parametrize("event", sorted(claude.STRICT_EVENTS))
def test_a_client_that_ends_the_relay_before_go_is_refused(stage: Stage, event: str) -> None:
    """Whoever guards the event has not said yes."""
    stage.guard(event)
    over = threading.Event()

    def play(connection: socket.socket) -> None:
        stage.request(connection)
        over.wait()

    stage.serve(play)
    process = stage.begin(event)
    waiting.until(lambda: stage.heard)
    process.terminate()
    ended = end(process)
    over.set()
    assert ended.exit_code == 0
    assert "the client ended it" in json.dumps(ended.reply)


# --- after GO -----------------------------------------------------------------------------------------------------


def end(process: subprocess.Popen[bytes]) -> processes.Ended:
    """Wait for a relay's end."""
    out, err = process.communicate(timeout=relays.LONG_S)
    return processes.Ended(process.returncode, out.decode(), err.decode(), 0.0)


REPLY = protocol.frame(protocol.REPLY, 0, b'{"whole": "reply"}', b"and stderr")


@pytest.mark.parametrize("said", [b"", READY, READY[:3], *(REPLY[:size] for size in (1, 9, 10, 20, len(REPLY) - 1))])
def test_an_event_that_was_handed_over_is_refused_or_lost_but_never_answered_again(stage: Stage, said: bytes) -> None:
    """Its handlers have run, or may have. Of a reply that isn't whole nothing is printed."""
    stage.serve(lambda connection: stage.answer(connection, said))
    for guarded in (False, True):
        if guarded:
            stage.guard("PreToolUse")
        ended = stage.fire()
        assert "its process ended" in refusal(ended) if guarded else not ended.stdout
    assert stage.log.count("PreToolUse is lost: the warm server did not answer it: its process ended") == 2


def test_a_long_reply_is_printed_whole(stage: Stage) -> None:
    """More than any buffer on its way holds."""
    text = b"x" * 3_000_000
    stage.serve(lambda connection: stage.answer(connection, protocol.frame(protocol.REPLY, 0, text)))
    assert stage.fire().stdout == text.decode()


def test_a_child_that_refuses_has_the_shell_refuse(stage: Stage) -> None:
    """With its reason and the guard that it names."""
    stage.guard("PreToolUse")
    said = protocol.frame(protocol.REFUSE, 0, b"Holdfast failed", b"project/other.py: on_pre_tool_use")
    stage.serve(lambda connection: stage.answer(connection, said))
    reason = refusal(stage.fire())
    assert "other.py" in reason and "Holdfast failed" in reason


def test_an_event_that_nobody_guards_is_lost_in_silence(stage: Stage) -> None:
    """The log says so."""
    stage.guard(*claude.STRICT_EVENTS)
    stage.serve(lambda connection: os.close(stage.go(connection)))
    ended = stage.fire("Stop")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    assert "Stop is lost" in stage.log


def test_each_event_is_refused_in_its_own_form_or_lost_in_silence(stage: Stage) -> None:
    """With the command that lifts it. No event fails, and none ends with 2, which could block something."""
    stage.guard(*EVENTS)
    stage.serve(lambda connection: os.close(stage.go(connection)))
    wrong = []
    for event in EVENTS:
        ended = stage.fire(event)
        form = '"block"' if event.startswith("UserPrompt") else '"deny"'
        words = (
            [form, "guard.py", f"rm -r '{stage.top}/state/holdfast/strict'"] if event in claude.STRICT_EVENTS else []
        )
        if (ended.exit_code, ended.stderr, bool(ended.stdout)) != (0, "", bool(words)):
            wrong.append(f"{event}: {ended}")
        wrong += [f"{event}: no {word} in {ended.reply}" for word in words if word not in json.dumps(ended.reply)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("said", [b"", REPLY[:-1], protocol.frame(protocol.READY, first=1)])
def test_a_child_that_hangs_is_left_and_refused(stage: Stage, said: bytes) -> None:
    """When its time is up: a second from what it said last of that."""
    stage.guard("PreToolUse")

    def play(connection: socket.socket) -> None:
        os.close(stage.go(connection, 500 if said[:1] == protocol.READY else 1))
        connection.sendall(said)
        stage.heard.append(connection.recv(1))

    stage.serve(play)
    assert "its time was up" in refusal(stage.fire())
    waiting.until(lambda: stage.heard[2:] == [b""], "it hangs up, so that the child ends")


def test_a_longer_limit_is_kept(stage: Stage) -> None:
    """A child that has chosen its handlers knows better."""

    def play(connection: socket.socket) -> None:
        os.close(stage.go(connection, 1))
        connection.sendall(READY)
        time.sleep(2.0)
        connection.sendall(SEVEN)

    stage.serve(play)
    assert stage.fire().exit_code == 7


@pytest.mark.parametrize("said", [b"", READY, READY[:3], REPLY[:-1]])
def test_a_client_that_ends_the_relay_after_go_hears_the_refusal(stage: Stage, said: bytes) -> None:
    """Whoever guards the event has not said yes."""
    stage.guard("PreToolUse")
    begun = threading.Event()

    def play(connection: socket.socket) -> None:
        os.close(stage.go(connection))
        connection.sendall(said)
        begun.wait()
        process.send_signal(signal.SIGTERM)
        stage.heard.append(connection.recv(1))
        process.send_signal(signal.SIGTERM)  # a second one changes nothing

    stage.serve(play)
    process = stage.begin()
    begun.set()
    assert "the client ended it" in refusal(end(process))
    waiting.until(lambda: stage.heard[2:] == [b""], "it hangs up, so that the child ends")


def test_an_event_that_cannot_be_strict_is_ended_at_once(stage: Stage) -> None:
    """In silence, and the server hears that."""
    begun, over = threading.Event(), threading.Event()

    def play(connection: socket.socket) -> None:
        os.close(stage.go(connection))
        begun.wait()
        process.send_signal(signal.SIGTERM)
        stage.heard.append(connection.recv(1))
        over.set()

    stage.serve(play)
    process = stage.begin("Stop")
    begun.set()
    ended = end(process)
    assert over.wait(relays.LONG_S)
    assert (ended.exit_code, ended.stdout) == (0, "")


def test_no_descriptor_of_the_relays_reaches_what_it_starts(stage: Stage) -> None:
    """Neither the socket nor run.conf; and signals are as they were."""
    engine = stage.top / "package" / "holdfast" / "engine.py"
    engine.write_text(
        "import os\n"
        "def main(argument, entry):\n"
        "    status = dict(line.split(':\\t') for line in open('/proc/self/status') if line.startswith('Sig'))\n"
        "    print(sorted(os.listdir('/proc/self/fd')), status['SigBlk'].strip(), flush=True)\n"
        "    return 0\n"
    )
    stage.serve(lambda connection: connection.sendall(b"x"))
    descriptors, blocked = stage.fire().stdout.rsplit(" ", 1)
    assert len(json.loads(descriptors.replace("'", '"'))) == 4  # the standard ones, and the one that lists them
    assert int(blocked, 16) == 0
    assert stage.accepted == 1


# --- the relay's own file ----------------------------------------------------------------------------------


GOOD = "holdfast relay 1\n{python}\n{top}/run.py\n{top}/refuse.sh\n"
DAMAGED: dict[str, str] = {
    "empty": "",
    "no end": GOOD[:-1],
    "cut off": GOOD[: GOOD.index("{top}/refuse")],
    "one more line": GOOD + "/x\n",
    "another version": GOOD.replace("relay 1", "relay 2"),
    "a zero": GOOD.replace(".py", ".py\0"),
    "a zero in the head": GOOD.replace("relay 1", "relay 1\0"),
    "relative": GOOD.replace("{python}", "python3"),
    "relative entry": GOOD.replace("{top}/run.py", "run.py"),
    "relative script": GOOD.replace("{top}/refuse.sh", "refuse.sh"),
    "long": GOOD.replace("{python}", "/" + "x" * 4_096),
    "longer": GOOD.replace("{python}", "/" + "x" * 20_000),
}


@pytest.mark.parametrize("name", [*DAMAGED, "missing", "folder", "pipe"])
def test_a_damaged_conf_starts_nothing(stage: Stage, name: str) -> None:
    """A guarded call is refused, another event is met with silence; nothing that the file names is run."""
    conf = stage.top / "run.conf"
    conf.unlink()
    if name in DAMAGED:
        conf.write_bytes(DAMAGED[name].format(python=INTERPRETER[0], top=stage.top).encode())
    elif name == "folder":
        conf.mkdir()
    elif name == "pipe":
        os.mkfifo(conf)
    assert stage.fire().stdout == ""
    stage.guard("PreToolUse")
    assert "Holdfast is not installed whole" in refusal(stage.fire())
    ended = stage.fire("Stop")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    assert "Stop could not be dispatched: run.conf is missing or damaged" in stage.log
    conf.rmdir() if name == "folder" else conf.unlink(missing_ok=True)
    conf.write_text(GOOD.format(python=INTERPRETER[0], top=stage.top))
    assert stage.fire("Stop").stdout == "cold Stop payload"


def test_without_the_refusing_script_the_shell_is_told(stage: Stage) -> None:
    """The registered command then tries to run it; an exit code of 2 would be taken for a decision."""
    stage.guard("PreToolUse")
    for name in ("run.conf", "refuse.sh"):
        (stage.top / name).unlink()
    assert stage.fire().exit_code == 1
    assert stage.fire("Stop").exit_code == 1


@pytest.mark.parametrize("gone", ["entry", "interpreter"])
def test_what_it_starts_may_be_missing(stage: Stage, gone: str) -> None:
    """Python ends with 2 if its script is missing, and on two events that is a decision."""
    python = stage.top / "python" if gone == "interpreter" else Path(INTERPRETER[0])
    (stage.top / "run.conf").write_text(GOOD.format(python=python, top=stage.top))
    if gone == "entry":
        (stage.top / "run.py").unlink()
    ended = stage.fire("TaskCompleted")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    stage.guard("PreToolUse")
    assert "Holdfast did not answer" in refusal(stage.fire())


def test_other_arguments_go_to_the_entrypoint_as_they_are(stage: Stage) -> None:
    """It is asked to serve that way, or to read the event's name from the payload."""
    (stage.top / "run.py").write_text("import sys\nprint(sys.argv[1:], sys.flags.isolated, sys.flags.no_site)\n")
    for given in ([], ["--serve"], ["Stop", "x"], [""], ["-c"]):
        done = subprocess.run([*stage.command, *given], env=stage.environ, capture_output=True, text=True, check=True)
        assert done.stdout == f"{given} 1 1\n"
    assert stage.fire("Stop").stdout == "['Stop', '--start-server'] 1 1\n"


def test_it_says_which_it_is(stage: Stage) -> None:
    """By which an install and the doctor tell that it runs here, and is of this version."""
    from holdfast.install import native as module

    done = subprocess.run([*stage.command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"holdfast relay {module.digest()}\n"


def test_no_variable_names_what_it_starts(stage: Stage) -> None:
    """Neither those of Python, nor those of loaders and shells."""
    (stage.top / "evil").mkdir()
    evil = stage.top / "evil" / "sitecustomize.py"
    evil.write_text("print('evil')\n")
    script = stage.top / "evil.sh"
    script.write_text("echo evil\n")
    stage.environ |= {
        "PYTHONPATH": str(evil.parent), "PYTHONSTARTUP": str(evil), "PYTHONHOME": str(evil.parent),
        "ENV": str(script), "BASH_ENV": str(script),
    }  # fmt: skip
    assert stage.fire("Stop").stdout == "cold Stop payload"


def test_it_is_started_through_a_link_or_a_relative_path(stage: Stage) -> None:
    """What lies beside the link counts, as for the Python launcher; without any folder there is nothing beside."""
    for command in (["./run", "Stop"], ["/bin/sh", "-c", "PATH=. run Stop"]):
        done = subprocess.run(command, input=b"p", env=stage.environ, cwd=stage.top, capture_output=True, check=False)
        assert done.stdout in (b"cold Stop p", b"")
        assert done.returncode in (0, 1)


def test_the_installed_mode_is_not_for_others_to_write() -> None:
    """The program that was compiled for these tests is one that a test may run, and nobody else may change."""
    assert not stat.S_IMODE(relays.limited().stat().st_mode) & 0o022
