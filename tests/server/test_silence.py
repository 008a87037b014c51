"""Events that nobody wants: the server's loop answers them, and only while nothing has changed."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.files.file_memo import SETTLED_NS
from holdfast.server import held, servers, silence, turn
from holdfast.server.handlers_child import Place
from holdfast.server.held import Held, Silences
from holdfast.server.silence import Silence
from tests import warmth
from tests.processes import grant
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.warmth import Warm

pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")

BASH = warmth.SAYS.replace("@hookimpl", '@hookimpl(match="Bash")')
EVERYTHING = warmth.SAYS.replace('"warm"', '"new"')


def glob(place: Warm) -> dict[str, Any]:
    """Return a call that no handler wants."""
    return place.payload("PreToolUse-Bash", tool_name="Glob", tool_input={"pattern": "*"})


def workers(place: Warm) -> set[int]:
    """Return the processes that the server has forked."""
    found = set[int]()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int((process / "stat").read_text().rpartition(")")[2].split()[1]) == place.pid:
                found.add(int(process.name))
    return found


def answered_by_the_loop(place: Warm) -> bool:
    """Fire an event that nobody wants, and tell whether no worker was spent on it."""
    place.until(lambda: len(workers(place)) == 2)
    before = workers(place)
    ended = place.fire(glob(place), "PreToolUse")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    return workers(place) == before


@pytest.fixture
def quiet(warm: Warm) -> Warm:
    """A place whose server knows that nobody wants Glob."""
    warm.user_handler("says", BASH)
    time.sleep(SETTLED_NS / 1e9 + 0.1)  # files that changed just now may change again
    warm.until(lambda: answered_by_the_loop(warm))
    return warm


def test_what_nobody_wants_costs_no_worker_and_the_rest_is_answered(quiet: Warm) -> None:
    """Also in turns, and the server counts both."""
    before = servers.ask(quiet.socket)
    for _ in range(2):
        assert quiet.advice() == "warm"
        quiet.until(lambda: answered_by_the_loop(quiet))
    after = servers.ask(quiet.socket)
    assert before
    assert after
    assert int(after["answered"]) - int(before["answered"]) >= 4


def test_a_handler_that_wants_it_now_is_called_at_once(quiet: Warm) -> None:
    """Whether it was edited in place, or is new."""
    quiet.user_handler("another", EVERYTHING)
    assert quiet.fire(glob(quiet), "PreToolUse").advice == "new"
    (quiet.home / ".config/holdfast/handlers/another.py").unlink()
    file = quiet.home / ".config/holdfast/handlers/says.py"
    file.write_text(file.read_text().replace('match="Bash"', 'match="Glob"'))
    assert quiet.fire(glob(quiet), "PreToolUse").advice == "warm"


def test_a_project_handler_counts_once_it_is_trusted(quiet: Warm) -> None:
    """An untrusted one stays silent, in the loop too; trust is in no folder of the project."""
    text = "from holdfast import *\n@hookimpl(match='Glob')\ndef on_pre_tool_use(event):\n    return advise('own')\n"
    file = quiet.project_handler("own", text)
    time.sleep(SETTLED_NS / 1e9 + 0.1)
    quiet.until(lambda: answered_by_the_loop(quiet))
    grant(quiet, file)
    assert quiet.fire(glob(quiet), "PreToolUse").advice == "own"


@pytest.mark.parametrize(("tool", "said"), [("Glob", ""), ("Bash", "warm")])
def test_a_slow_stdin_keeps_nobody_waiting(quiet: Warm, tool: str, said: str) -> None:
    """The event goes to a worker with what was read; others are answered meanwhile."""
    data = json.dumps(glob(quiet) | {"tool_name": tool}).encode()
    slow = quiet.begin("PreToolUse")
    assert slow.stdin
    slow.stdin.write(data[:40])
    slow.stdin.flush()
    quiet.until(lambda: len(workers(quiet)) == 3)  # the slow one's, and two that wait
    assert quiet.advice() == "warm"
    slow.stdin.write(data[40:])
    out, _ = slow.communicate(timeout=warmth.LONG)
    assert slow.returncode == 0
    assert (json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else "") == said


def test_a_large_input_is_answered_whole(quiet: Warm) -> None:
    """More than the loop parses: a worker gets the beginning from the loop, and reads the rest."""
    call = quiet.payload("PreToolUse-Bash", tool_input={"command": "true " + "#" * 3 * held.INPUT_LIMIT_BYTES})
    ended = quiet.fire(call, "PreToolUse")
    assert (ended.exit_code, ended.advice) == (0, "warm")


# --- what is known --------------------------------------------------------------------------------------------------


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Silence:
    """What is known of a project's calls of tools: a handler wants Bash."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    seen = {str(tmp_path / "file"): silence._look(str(tmp_path / "file")), str(tmp_path / "none"): None}
    return Silence(str(tmp_path), "PreToolUse", silence._identity(str(tmp_path)) or (0, 0), seen, ("Bash|Read",))


PAYLOAD = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Glob"}


@pytest.mark.parametrize(
    ("payload", "covered"),
    [
        (PAYLOAD, True),
        (PAYLOAD | {"tool_name": "Read"}, False),
        (PAYLOAD | {"tool_name": 3}, False),
        (PAYLOAD | {"hook_event_name": "PostToolUse"}, False),
        (PAYLOAD | {"cursor_version": "1"}, False),
        ([PAYLOAD], False),
    ],
)
def test_only_what_surely_nobody_wants_is_covered(known: Silence, payload: object, covered: bool) -> None:
    """Another event, another client's and what isn't told is for a worker."""
    environ = {"CLAUDE_PROJECT_DIR": known.root, "CLAUDECODE": "1"}
    assert known.covers(payload, environ) is covered
    assert silence.parsed(known.message()) == known


def test_it_holds_until_something_changes(known: Silence, tmp_path: Path) -> None:
    """A file that changed in place, one that is new, and another root at the same path."""
    assert known.holds()
    (tmp_path / "none").touch()
    assert not known.holds()
    (tmp_path / "none").unlink()
    (tmp_path / "file").write_text("changed")
    assert not known.holds()
    assert not known._replace(seen={}, identity=(0, 0)).holds()


def test_what_no_longer_holds_is_forgotten(known: Silence, tmp_path: Path) -> None:
    """Else each further event would come to the loop first, and then to a worker."""
    silences = Silences()
    silences.learn(known.message())
    ours, theirs = socket.socketpair()
    with ours, theirs:
        place = Place({b"CLAUDECODE": b"1", b"CLAUDE_PROJECT_DIR": os.fsencode(known.root)}, b"/", 0o022, 1)
        event = Held(ours, b"", turn.Request(b"event", known.event, place), known, 0.0, b"")
        event.data += json.dumps(PAYLOAD).encode()
        assert silences.silent(event)
        assert silences._known
        (tmp_path / "none").touch()
        assert not silences.silent(event)
        assert not silences._known
        assert not silences.silent(event)


@each_row("message", [b"", b"[]", b"nonsense", b'["r", "e", 1, {}, []]', b'["r", "e", [1, 2], [], []]'])
def test_nonsense_teaches_nothing(message: bytes) -> None:
    """Whatever a worker says."""
    assert silence.parsed(message) is None


def test_so_many_kinds_are_remembered(known: Silence) -> None:
    """The oldest is forgotten."""
    memory = Silences()
    for number in range(held.KNOWN + 3):
        memory.learn(known._replace(event=str(number)).message())
    assert [event for _, event in memory._known] == [str(number) for number in range(3, held.KNOWN + 3)]


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A caller's connection: its end, and the server's."""
    theirs, ours = socket.socketpair()
    ours.setblocking(False)
    yield theirs, ours
    theirs.close()
    ours.close()


@pytest.fixture
def event(known: Silence, pair: tuple[socket.socket, socket.socket]) -> Iterator[Held]:
    """An event of a caller that hasn't said `GO`."""
    made = Held(pair[1], b"", turn.Request(b"event", "PreToolUse", Place({}, b"/", 0o22, os.getpid())), known, 0.0, b"")
    yield made
    made.drop_streams()


def test_a_terminal_is_never_read_and_a_caller_that_left_is_dropped(
    event: Held, pair: tuple[socket.socket, socket.socket]
) -> None:
    """Reading a terminal could keep the loop waiting; a worker does that."""
    with pytest.raises(BlockingIOError):
        event.read()
    far, terminal = os.openpty()
    os.write(far, b"{}\n")
    socket.send_fds(pair[0], [b"g"], [terminal] * 3)
    assert not event.read()
    assert event.due <= time.monotonic()
    assert event.data == b""
    event.drop_streams()
    event.due = 0.0
    pair[0].close()
    with pytest.raises(OSError, match="gone"):
        event.read()
    os.close(far)
    os.close(terminal)


@pytest.mark.parametrize("kind", ["socket", "pipe", "file"])
def test_what_cannot_keep_the_loop_waiting_is_read(
    event: Held, pair: tuple[socket.socket, socket.socket], tmp_path: Path, kind: str
) -> None:
    """Claude Code gives its hooks a socket, other callers a pipe or a file."""
    data = json.dumps(PAYLOAD).encode()
    if kind == "file":
        (tmp_path / "stdin").write_bytes(data)
        reading = os.open(tmp_path / "stdin", os.O_RDONLY)
    elif kind == "pipe":
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
    else:
        near, far = socket.socketpair()
        far.sendall(data)
        far.close()
        reading = near.detach()
    socket.send_fds(pair[0], [b"g"], [reading] * 3)
    os.close(reading)
    assert event.read()
    assert event.data == data


def test_a_stdin_that_cannot_be_read_is_left_to_a_worker(
    event: Held, pair: tuple[socket.socket, socket.socket]
) -> None:
    """The event isn't lost: a worker says what is wrong, and refuses it if a guard is known for it."""
    with socket.socket(socket.AF_UNIX) as unconnected:
        socket.send_fds(pair[0], [b"g"], [unconnected.fileno()] * 3)
    assert not event.read()
    assert event.due <= time.monotonic()
    assert event.data == b""
