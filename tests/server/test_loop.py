"""The warm server as users have it: real processes, and everything that can go wrong with them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import relay
from holdfast.ledger import context_costs
from holdfast.server import servers
from holdfast.sessions.workspace import Workspace
from tests import warmth
from tests.processes import ENTRYPOINT, INTERPRETER, ROOT
from tests.warmth import gone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.warmth import Warm

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")]

NOTES = """
    import os, sys, time
    from pathlib import Path
    from holdfast import *
    @hookimpl(timeout=300)
    def on_pre_tool_use(event, context):
        with (context.root / "ran").open("a") as file:
            file.write(f"{os.getpid()} {event.session_id}\\n")
        while event.session_id == "long" and not (context.root / "go on").exists():
            time.sleep(0.02)
        return advise("warm" if sys.argv[1:] == ["--serve"] else "cold")
    """
"""A handler that leaves a line each time it runs, and in a session called `long` goes on only when it may."""
SWITCHED_OFF = "server = false\n[handlers]\ntimeout = 300.0\ndeadline = 300.0\n"
"""The server is off; a handler has the time that a busy machine takes."""


@pytest.fixture
def usual(short_folder: Path) -> Iterator[Warm]:
    """A place with the usual entrypoint, which waits for the server no longer than it does for users."""
    made = warmth.make(short_folder, ENTRYPOINT)
    yield made
    made.close()


def ran(place: Warm) -> list[str]:
    """Return the lines that the handler has left."""
    file = place.root / "ran"
    return file.read_text().splitlines() if file.exists() else []


# --- the usual way ------------------------------------------------------------------------------------------------


def test_the_first_event_is_cold_and_starts_the_server(fresh: Warm) -> None:
    """Nobody has to start anything: after one event the next ones are warm, by one server."""
    assert fresh.advice() == "cold"

    fresh.until(lambda: bool(fresh.sockets) and servers.ask(fresh.socket) is not None)
    assert [fresh.advice() for _ in range(3)] == ["warm"] * 3
    assert len(fresh.sockets) == 1


def test_eight_at_once_are_all_warm(warm: Warm) -> None:
    """Several agents' tool calls at one moment: each is answered by the server."""
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda _: warm.advice(), range(8)))

    assert said == ["warm"] * 8


def test_a_burst_of_a_hundred_is_answered_once_each(warm: Warm) -> None:
    """A hundred at once: each is answered, each once, and the server is there afterwards."""
    warm.user_handler("says", NOTES)
    pid = warm.pid
    begun = []
    for number in range(100):
        process = warm.begin("PreToolUse")
        assert process.stdin
        process.stdin.write(json.dumps(warm.payload("PreToolUse-Bash", session_id=f"s{number}")).encode())
        process.stdin.close()  # at once: on a busy machine it takes long until all are there
        process.stdin = None
        begun.append(process)
    said = [json.loads(process.communicate(timeout=500)[0]) for process in begun]

    assert {each["hookSpecificOutput"]["additionalContext"] for each in said} <= {"warm", "cold"}
    assert sorted(line.split()[1] for line in ran(warm)) == sorted(f"s{number}" for number in range(100))
    assert warm.pid == pid
    warm.until(lambda: warm.advice() == "warm")


def test_an_event_is_answered_in_its_callers_place(warm: Warm, tmp_path: Path) -> None:
    """Environment, folder, umask and time zone are those of the hook, in the handler and in what it starts."""
    warm.user_handler(
        "says",
        """
        import os, subprocess, time
        from holdfast import *
        @hookimpl
        def on_pre_tool_use(event, context):
            mask = os.umask(0); os.umask(mask)
            shown = subprocess.run(["sh", "-c", "echo $MINE; pwd; umask"], capture_output=True, text=True)
            here = [os.getcwd(), oct(mask), time.strftime("%Z"), context.environ["MINE"], str("USER" in os.environ)]
            return advise("|".join([*shown.stdout.split(), *here]))
        """,
    )
    environ = warm.environ(MINE="of this call", TZ="Asia/Tokyo")
    command = ["/bin/sh", "-c", 'umask 027; exec "$@"', "sh", *INTERPRETER, str(warm.entry), "PreToolUse"]
    done = subprocess.run(
        command, input=json.dumps(warm.call()).encode(), env=environ, cwd=tmp_path, capture_output=True, check=True
    )
    said = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"].split("|")

    assert said == ["of", "this", "call", str(tmp_path), "0027", str(tmp_path), "0o27", "JST", "of this call", "False"]


def test_an_edited_handler_counts_at_once(warm: Warm) -> None:
    """Handlers load in the child: one that is changed, added or taken away is so at the next event."""
    assert warm.advice() == "warm"
    warm.user_handler("says", warmth.SAYS.replace('"warm"', '"changed"'))
    assert warm.advice() == "changed"
    (warm.home / ".config" / "holdfast" / "handlers" / "says.py").unlink()
    assert warm.advice() == ""


def test_both_kinds_of_no_reach_the_client(warm: Warm) -> None:
    """A refusal in JSON, and the exit code 2 with its reason on stderr."""
    warm.user_handler(
        "no", "from holdfast import *\n@hookimpl(strict=True)\ndef on_pre_tool_use(): return deny('no')\n"
    )
    warm.user_handler("stays", "from holdfast import *\n@hookimpl\ndef on_teammate_idle(): return block('go on')\n")

    refused = warm.fire(warm.call(), "PreToolUse")
    blocked = warm.fire({"hook_event_name": "TeammateIdle", "session_id": "s", "teammate_name": "t"}, "TeammateIdle")

    assert refused.specific["permissionDecision"] == "deny"
    assert (blocked.exit_code, blocked.stdout, blocked.stderr) == (2, "", "go on (user/stays.py)")


def test_the_server_has_nothing_of_the_session_that_started_it(warm: Warm) -> None:
    """Its environment is minimal, its folder `/`, its session its own, and it holds none of the hook's descriptors."""
    process = Path(f"/proc/{warm.pid}")
    names = {each.partition(b"=")[0] for each in (process / "environ").read_bytes().split(b"\0") if each}

    assert not {name for name in names if name.startswith((b"CLAUDE", b"ANTHROPIC", b"AWS"))}
    assert names <= {b"HOME", b"PATH", b"LANG", b"LC_ALL", b"LC_CTYPE", b"TMPDIR", b"TZ", b"USER", b"LOGNAME"} | {
        name for name in names if name.startswith(b"XDG_")
    }
    assert (process / "cwd").readlink() == Path("/")
    assert os.getsid(warm.pid) not in (os.getsid(0), 0)
    assert {(process / "fd" / number).readlink() for number in "012"} == {Path("/dev/null")}


def test_its_folder_and_socket_are_private(warm: Warm) -> None:
    """Only the user gets at what is passed there."""
    assert warm.folder.stat().st_mode & 0o777 == 0o700
    assert warm.socket.stat().st_mode & 0o777 == 0o600


def test_other_folders_have_another_server(warm: Warm) -> None:
    """A session whose configuration lies elsewhere is not answered by a server that has read another one's."""
    elsewhere = warm.environ(XDG_CONFIG_HOME=str(warm.home / "other"))

    ended = warm.fire(warm.call(), "PreToolUse", environ=elsewhere)

    assert ended.advice == ""  # the handler lies in the usual folder
    warm.until(lambda: len(warm.sockets) == 2)


# --- switched off -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["variable", "configuration"])
def test_switched_off_no_server_is_asked_or_started(fresh: Warm, how: str) -> None:
    """By the environment variable or by the user's configuration: every event is cold and nothing runs afterwards."""
    environ = fresh.environ(HOLDFAST_SERVER="off" if how == "variable" else None)
    if how == "configuration":
        fresh.write(fresh.home / ".config" / "holdfast" / "holdfast.toml", SWITCHED_OFF)

    said = [fresh.fire(fresh.call(), "PreToolUse", environ=environ) for _ in range(2)]

    assert [each.advice for each in said] == ["cold", "cold"]
    assert not fresh.folder.exists()


def test_switching_it_off_ends_one_that_runs(warm: Warm) -> None:
    """`server = false` in the user's file counts at the next event."""
    pid = warm.pid
    warm.write(warm.home / ".config" / "holdfast" / "holdfast.toml", SWITCHED_OFF)

    assert warm.advice() == "cold"
    warm.until(lambda: gone(pid))
    assert warm.advice() == "cold"
    assert not warm.sockets


def test_a_project_may_not_switch_it_off(fresh: Warm) -> None:
    """One server answers for all projects: a project's file is told so and the server is started."""
    fresh.write(".claude/holdfast.toml", "server = false\n")

    fresh.warm_up()

    assert "key 'server' counts only in" in fresh.log()
    assert fresh.advice() == "warm"


# --- what goes wrong before the hand-over -------------------------------------------------------------------------


def test_a_stopped_server_means_cold(usual: Warm) -> None:
    """One that gives no sign of life is left alone, and works again when it goes on."""
    usual.warm_up()
    os.kill(usual.pid, signal.SIGSTOP)
    try:
        assert usual.advice() == "cold"
    finally:
        os.kill(usual.pid, signal.SIGCONT)
    usual.until(lambda: usual.advice() == "warm")


def test_a_stale_socket_means_cold_and_a_new_server(warm: Warm) -> None:
    """After `kill -9` the socket still lies there: cold, and another server takes its place at once, for it worked."""
    pid, place = warm.pid, warm.socket
    assert warm.advice() == "warm"
    warm.until(lambda: not list(warm.folder.glob("*.tried")))
    os.kill(pid, signal.SIGKILL)
    warm.until(lambda: gone(pid))
    assert place.is_socket()

    assert warm.advice() == "cold"
    warm.until(lambda: warm.advice() == "warm")
    assert warm.pid != pid


@pytest.mark.parametrize("words", [b"", b"!", b"x", b"!x", b"!.", b"!\0"])
def test_any_doubt_before_the_hand_over_means_cold(fresh: Warm, words: bytes) -> None:
    """Whatever listens there and says something else, or nothing, or closes: stdin is unread, the event is cold."""
    with impostor(fresh, lambda connection: connection.sendall(words)):
        assert fresh.advice() == "cold"


def test_who_hangs_after_its_sign_of_life_is_left_after_a_second(usual: Warm) -> None:
    """The server lives, but no child is ready: the event goes cold all the same, with its payload."""

    def hang(connection: socket.socket) -> None:
        connection.sendall(relay.ALIVE)
        connection.settimeout(60)
        while connection.recv(4096):
            pass

    with impostor(usual, hang):
        assert usual.advice() == "cold"


def test_a_folder_that_others_may_use_is_not_trusted(warm: Warm) -> None:
    """Where somebody else could have put the socket, nothing is passed."""
    warm.folder.chmod(0o755)

    assert warm.advice() == "cold"


def test_without_a_folder_for_it_every_event_is_cold(fresh: Warm) -> None:
    """A state folder that cannot be written costs the server and nothing else."""
    (fresh.home / ".local").write_text("no folder")

    assert [fresh.advice() for _ in range(2)] == ["cold", "cold"]


def test_a_full_disk_costs_the_server_and_nothing_else(fresh: Warm) -> None:
    """Where nothing more can be written each event is answered, and with room again there is a server."""
    full = ["/bin/sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *INTERPRETER, str(fresh.entry), "PreToolUse"]
    for _ in range(2):
        done = subprocess.run(
            full, input=json.dumps(fresh.call()).encode(), env=fresh.environ(), capture_output=True, check=True
        )
        assert json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] in ("cold", "warm")

    fresh.close()
    fresh.warm_up()
    assert fresh.advice() == "warm"


def test_a_path_too_long_for_a_socket_means_cold(fresh: Warm) -> None:
    """Where no socket can lie nothing is tried."""
    deep = fresh.home / ("x" * 100)

    ended = fresh.fire(fresh.call(), "PreToolUse", environ=fresh.environ(XDG_STATE_HOME=str(deep)))

    assert ended.advice == "cold"
    assert not (deep / "holdfast" / "server").exists()


# --- what goes wrong after it -------------------------------------------------------------------------------------


def test_after_the_hand_over_an_event_is_never_answered_twice(warm: Warm) -> None:
    """The child is killed while its handler runs: exit 0, silence, a log line, and no second run."""
    warm.user_handler("says", NOTES)
    process = warm.begin("PreToolUse")
    pid = at_work(warm, process)
    os.kill(parent_of(pid), signal.SIGKILL)
    out, err = process.communicate(timeout=500)

    assert (process.returncode, out, err) == (0, b"", b"")
    assert len(ran(warm)) == 1
    assert "PreToolUse is lost: the warm server did not answer it" in warm.log()
    assert warm.advice() == "warm"


def test_a_child_forked_for_its_event_dies_as_visibly_as_one_forked_ahead(fresh: Warm) -> None:
    """None is ahead of a burst of events: what is forked then must not keep the connection open for its handlers."""
    warmth.change(fresh.entry.parent / "patient" / "holdfast" / "server" / "pool.py", "SPARES", "0")
    fresh.warm_up()
    test_after_the_hand_over_an_event_is_never_answered_twice(fresh)


def test_a_server_killed_in_the_middle_loses_no_event(warm: Warm) -> None:
    """The child is a process of its own: it answers although the server has gone."""
    warm.user_handler("says", NOTES)
    process = warm.begin("PreToolUse")
    at_work(warm, process)
    os.kill(warm.pid, signal.SIGKILL)
    go_on(warm)
    out, _ = process.communicate(timeout=500)

    assert json.loads(out)["hookSpecificOutput"]["additionalContext"] == "warm"
    assert len(ran(warm)) == 1
    assert "lost" not in warm.log()
    assert warm.advice() == "cold"


def test_a_server_that_is_ended_while_it_answers_is_replaced_at_once(
    warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child that goes on is not taken for the server: it has ended, and the next one takes its place."""
    warm.user_handler("says", NOTES)
    process = warm.begin("PreToolUse")
    at_work(warm, process)
    place, sent, kill = warm.socket, list[int](), os.kill

    def note(pid: int, number: int) -> None:
        sent.append(number)
        kill(pid, number)

    monkeypatch.setattr(servers, "END_TIMEOUT_S", warmth.LONG)
    with monkeypatch.context() as changed:
        changed.setattr(os, "kill", note)
        assert servers.stop(place)
    assert sent == [signal.SIGTERM], "it had to be forced"
    assert not servers.holder(place)
    warm.user_handler("says", warmth.SAYS)
    warm.warm_up()
    assert warm.advice() == "warm"
    assert process.poll() is None
    go_on(warm)
    out, _ = process.communicate(timeout=500)
    assert json.loads(out)["hookSpecificOutput"]["additionalContext"] == "warm"


@pytest.mark.parametrize(("name", "value"), [("", "nameless"), ("OPTIONS", "a=b=c")])
def test_a_strange_variable_costs_no_event(warm: Warm, name: str, value: str) -> None:
    """One without a name the system hands on, but no process can set it: it is left out, and the event is answered."""
    ended = warm.fire(warm.call(), "PreToolUse", environ={**warm.environ(), name: value})

    assert ended.advice == "warm"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_when_the_caller_goes_away_its_handlers_end(warm: Warm, number: int) -> None:
    """The client cancels a hook: what answers it ends too, and the server does not."""
    warm.user_handler("says", NOTES)
    process = warm.begin("PreToolUse")
    pid, server = at_work(warm, process), warm.pid
    os.kill(process.pid, number)
    process.communicate(timeout=500)

    warm.until(lambda: gone(pid))
    assert warm.pid == server
    assert warm.advice() == "warm"


def test_a_handler_that_ignores_the_signal_is_killed_when_its_caller_goes(warm: Warm) -> None:
    """With what it started."""
    stubborn = """
        sleeper = subprocess.Popen(["sleep", "600"])
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        (context.root / "sleeper").write_text(str(sleeper.pid))
        with (context.root / "ran")"""
    text = NOTES.replace("import os, sys", "import os, signal, subprocess, sys")
    warm.user_handler("says", text.replace('\n        with (context.root / "ran")', stubborn))
    process = warm.begin("PreToolUse")
    pid = at_work(warm, process)
    process.kill()
    process.communicate(timeout=500)

    warm.until(lambda: gone(pid))
    warm.until(lambda: gone(int((warm.root / "sleeper").read_text())))


def test_a_handler_holds_no_socket(warm: Warm) -> None:
    """Neither the way to the server nor to who asks: it could answer in Holdfast's name."""
    warm.user_handler(
        "says",
        """
        from pathlib import Path
        from holdfast import *
        @hookimpl
        def on_pre_tool_use(event):
            return advise(f"sockets: {sum(each.is_socket() for each in Path('/proc/self/fd').iterdir())}")
        """,
    )

    assert warm.advice() == "sockets: 0"


def test_what_is_still_to_be_noted_is_noted_after_the_caller_went(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has its answer goes at once, and the count of what was said waits for a ledger that is locked."""
    warmth.move_in(warm, monkeypatch)
    project = Workspace.open(warm.root)

    def counted() -> int:
        return sum(cost.units for cost in context_costs.totals(project))

    assert warm.advice() == "warm"
    warm.until(lambda: counted() == len("cold" + "warm"))
    with project.ledger.transaction():
        assert warm.advice() == "warm"
        time.sleep(0.3)
    warm.until(lambda: counted() == len("cold" + "warm" + "warm"))
    project.close()
    assert "was ended" not in warm.log()


def test_a_crash_of_a_handler_costs_only_itself(warm: Warm) -> None:
    """A handler that ends its process takes neither the event's other handlers nor the server with it."""
    warm.user_handler("crashes", "import os\nfrom holdfast import *\n@hookimpl\ndef on_pre_tool_use(): os.abort()\n")
    server = warm.pid

    assert [warm.advice() for _ in range(2)] == ["warm", "warm"]
    assert warm.pid == server
    assert "crashes.py" in warm.log()


def at_work(place: Warm, process: subprocess.Popen[bytes]) -> int:
    """Send an event whose handler goes on only when it may (`go_on`); return the process it runs in, once it does."""
    assert process.stdin
    process.stdin.write(json.dumps(place.payload("PreToolUse-Bash", session_id="long")).encode())
    process.stdin.close()
    process.stdin = None
    place.until(lambda: bool(ran(place)))
    return int(ran(place)[0].split()[0])


def go_on(place: Warm) -> None:
    """Let the handlers that `at_work` waits for go on."""
    (place.root / "go on").write_text("")


def parent_of(pid: int) -> int:
    """Return a process's parent."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@contextmanager
def impostor(place: Warm, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    """Listen where the server would, and treat whoever asks as `answer` says."""
    place.folder.mkdir(parents=True, mode=0o700)
    given = {name.encode(): value.encode() for name, value in place.environ().items()}
    asked = "import sys; sys.path.insert(0, sys.argv[1]); from holdfast import relay; import os, posix; "
    asked += "sys.stdout.buffer.write(relay.address(sys.argv[2], posix.environ))"
    found = subprocess.run(
        [*INTERPRETER, "-c", asked, str(ROOT / "src"), str(place.entry)], env=given, capture_output=True, check=True
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(found.stdout)
        listener.listen()
        listener.settimeout(60)
        asked_for = threading.Event()

        def serve() -> None:
            connection, _ = listener.accept()
            asked_for.set()
            with connection:
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join(60)
        assert asked_for.is_set()


# --- installations that change ------------------------------------------------------------------------------------


@pytest.fixture
def copied(short_folder: Path) -> Iterator[Warm]:
    """A place with a copy of the whole program, which can be changed under the server."""
    program = short_folder / "p"
    for name in ("src", "hooks", "handlers"):
        shutil.copytree(ROOT / name, program / name, ignore=shutil.ignore_patterns("__pycache__"))
    made = warmth.make(short_folder, program / "hooks" / "dispatch.py")
    made.warm_up()
    yield made
    made.close()


def test_an_upgrade_in_place_counts_at_the_next_event(copied: Warm) -> None:
    """A file that the server has loaded is another: the server ends, the event is cold, the next server is new."""
    assert copied.advice() == "warm"
    pid = copied.pid
    engine = copied.entry.parents[1] / "src" / "holdfast" / "dispatch" / "calls.py"
    engine.write_text(engine.read_text() + "\nNEW = True\n")

    assert copied.advice() == "cold"
    copied.until(lambda: gone(pid))
    assert "the server stops: " in copied.log()
    copied.until(lambda: bool(copied.sockets) and servers.ask(copied.socket) is not None)
    assert copied.advice() == "warm"


def test_after_an_upgrade_before_its_first_event_another_is_tried_at_once(copied: Warm) -> None:
    """The first one may have been started in the middle of it, and has answered nothing yet."""
    pid, module = copied.pid, copied.entry.parents[1] / "src" / "holdfast" / "dispatch" / "calls.py"
    assert list(copied.folder.glob("*.tried"))
    module.write_text(module.read_text() + "\nNEW = True\n")

    copied.until(lambda: gone(pid))
    assert not list(copied.folder.glob("*.tried"))


def test_a_deleted_installation_leaves_nothing_behind(copied: Warm) -> None:
    """With the program gone the next event is exit 0 without a word on stderr, and its server has ended."""
    pid, entry = copied.pid, copied.entry
    text = entry.read_bytes()
    shutil.rmtree(entry.parents[1])
    entry.parent.mkdir(parents=True)
    entry.write_bytes(text)  # the launcher lies elsewhere and outlives the package

    assert copied.advice() in ("", "cold")  # nothing is left, or this interpreter has a Holdfast of its own
    copied.until(lambda: gone(pid))
    assert not list(copied.folder.glob("[0-9a-f]" * 16))


# --- its beginning and its end ------------------------------------------------------------------------------------


def test_of_several_servers_started_at_once_one_remains(fresh: Warm) -> None:
    """Whoever comes second finds the first and ends."""
    warmth.change(
        fresh.entry.parent / "patient" / "holdfast" / "server" / "servers.py", "ANSWER_TIMEOUT_S", str(warmth.LONG)
    )
    command = [*INTERPRETER, str(fresh.entry), "--serve"]
    started = [subprocess.Popen(command, env=fresh.environ()) for _ in range(3)]
    fresh.until(lambda: sum(process.poll() is None for process in started) == 1)
    (left,) = [process for process in started if process.poll() is None]

    assert fresh.pid == left.pid
    left.kill()
    left.wait()


def test_a_server_that_hangs_is_replaced_by_the_next_one(usual: Warm) -> None:
    """A stopped server keeps its place only until another is started."""
    warm = usual
    warm.warm_up()
    pid = warm.pid
    os.kill(pid, signal.SIGSTOP)

    warm.warm_up()

    assert warm.pid != pid
    assert gone(pid)


def test_a_change_while_it_is_loaded_has_the_next_event_try_again(fresh: Warm, short_folder: Path) -> None:
    """What it has loaded may be half of an upgrade, so it ends; nothing keeps another from being started at once."""
    program = short_folder / "p"
    for name in ("src", "hooks", "handlers"):
        shutil.copytree(ROOT / name, program / name, ignore=shutil.ignore_patterns("__pycache__"))
    script = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1] + "/src")
from holdfast.dispatch import calls; from holdfast import relay
from holdfast.server import loop as server, standby
entry, module = sys.argv[1] + "/hooks/dispatch.py", Path(calls.__file__)
server.warm_up = lambda: module.write_text(module.read_text() + "NEW = True")
mark = standby.mark(Path(os.fsdecode(relay.address(entry, dict(os.environb)))))
mark.parent.mkdir(parents=True)
mark.touch()
print(server.main("--serve", entry), mark.exists())
"""
    command = [sys.executable, "-c", script, str(program)]

    done = subprocess.run(command, env=fresh.environ(), capture_output=True, text=True, timeout=500, check=False)

    assert (done.stdout, done.stderr) == ("1 False\n", "")
    assert "calls.py changed while it was loading" in fresh.log()


LATER = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
from holdfast.server import loop
now, passed = time.monotonic, [0.0]
time.monotonic = lambda: now() + sum(passed)
signal.signal(signal.SIGUSR1, lambda *_: passed.append(14.5 * 60))
signal.signal(signal.SIGUSR2, lambda *_: passed.append(15.1 * 60))
sys.exit(loop.main("--serve", sys.argv[2]))
"""
"""A server for which time passes by signals: almost 15 minutes, and a little more."""


def test_it_ends_after_15_minutes_without_an_event(fresh: Warm) -> None:
    """After its last event, not after its start. It takes its socket with it."""
    command = [sys.executable, "-c", LATER, str(ROOT / "src"), str(ENTRYPOINT)]
    with subprocess.Popen(command, env=fresh.environ()) as process:
        try:
            fresh.until(lambda: bool(fresh.sockets) and servers.ask(fresh.socket) is not None)
            for _ in range(3):
                process.send_signal(signal.SIGUSR1)
                assert servers.ask(fresh.socket, warmth.LONG)
            for _ in range(3):  # on a busy machine the worker of the last answer may end only after the first of them
                process.send_signal(signal.SIGUSR2)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                    break
            assert process.poll() == 0
        finally:
            process.kill()

    assert not list(fresh.folder.glob("[0-9a-f]" * 16))


def test_waiting_for_a_turn_counts_as_time_of_the_event(fresh: Warm) -> None:
    """What the client has waited already is not there for handlers any more: its own limit runs from the start."""
    trace = fresh.write("trace", "")
    warmth.change(fresh.entry.parent / "patient" / "holdfast" / "server" / "pool.py", "MOST", "1")
    fresh.warm_up()
    fresh.user_handler("says", NOTES)
    first = fresh.begin("PreToolUse")
    at_work(fresh, first)
    with asking(fresh, HOLDFAST_TRACE=str(trace)) as connection:
        assert connection.recv(1) + connection.recv(1) == relay.ALIVE + relay.WAIT
        waited = time.monotonic()
        go_on(fresh)
        assert heard(connection) == relay.READY_NOW
        assert b"warm" in handed_over(connection, fresh.call())
    first.communicate(timeout=500)
    fresh.until(lambda: bool(trace.read_text()))

    points = json.loads(trace.read_text())["points"]
    assert points["accepted"] <= waited <= points["begun"]


@contextmanager
def asking(place: Warm, **environ: str) -> Iterator[socket.socket]:
    """Ask the server for the answer to an event, as the relay does, and no more than that."""
    words = [b"event", b"PreToolUse", os.fsencode(place.root), b"18"]
    request = b"\0".join(words + [f"{name}={value}".encode() for name, value in place.environ(**environ).items()])
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(warmth.LONG)
        connection.connect(str(place.socket))
        connection.sendall(b"%8d" % len(request) + request)
        yield connection


def heard(connection: socket.socket) -> bytes:
    """Return the server's next word but for those that ask for patience."""
    while (word := connection.recv(1)) == relay.WAIT:
        pass
    return word


def handed_over(connection: socket.socket, payload: dict[str, Any]) -> bytes:
    """Say `GO` and hand over descriptors; return what is written to stdout once the exit code, 0, has come."""
    reading, writing = os.pipe()
    os.write(writing, json.dumps(payload).encode())
    os.close(writing)
    out, into = os.pipe()
    socket.send_fds(connection, [relay.GO], [reading, into, into])
    for each in (reading, into):
        os.close(each)
    with os.fdopen(out, "rb") as said:
        assert connection.recv(1) == relay.LONGER
        assert 200 < int.from_bytes(connection.recv(2), "big") < 3_600  # what `warmth.make` and handlers allow
        assert connection.recv(1) + connection.recv(1) == relay.WRITTEN + b"\0"
        return said.read()


@contextmanager
def hanging(place: Warm, count: int, busy: int) -> Iterator[None]:
    """Have so many events of a place hang, of which the server has given so many to a worker."""
    processes = [place.begin("PreToolUse") for _ in range(count)]
    try:
        for each in processes:
            assert each.stdin
            each.stdin.write(json.dumps(place.payload("PreToolUse-Bash", session_id="long")).encode())
            each.stdin.close()
            each.stdin = None
        place.until(lambda: len(ran(place)) == busy)
        yield
    finally:
        for each in processes:
            each.kill()
            each.communicate()


def test_a_project_whose_events_hang_leaves_workers_to_the_others(fresh: Warm) -> None:
    """It gets half of them, a second one half of the rest; a third one's event is answered warm nevertheless."""
    warmth.change(fresh.entry.parent / "patient" / "holdfast" / "server" / "pool.py", "MOST", "4")
    fresh.configure("timeout = 300\ndeadline = 300")
    fresh.warm_up()
    fresh.user_handler("says", NOTES)
    second, third = (replace(fresh, root=fresh.root.with_name(name)) for name in ("second", "third"))
    for place in (second, third):
        place.root.mkdir()

    with hanging(fresh, 5, 2):
        assert second.advice() == "warm"
        with hanging(second, 2, 1):
            assert third.advice() == "warm"


def test_an_idle_server_uses_no_processor_time(warm: Warm) -> None:
    """It waits without waking up: no processor time, no polling."""

    def spent() -> list[str]:
        fields = Path(f"/proc/{warm.pid}/stat").read_text().rpartition(")")[2].split()
        switches = Path(f"/proc/{warm.pid}/status").read_text().partition("nonvoluntary")[0].split()[-1]
        return [*fields[11:13], switches]

    def rests() -> bool:
        before = spent()
        time.sleep(1.5)
        return spent() == before

    warm.until(rests)  # once its children are ready


def test_a_child_that_dies_before_its_event_is_not_replaced_at_once(fresh: Warm) -> None:
    """Whatever kills them, the server does not spend its time on forking; an event gets its child all the same."""
    warmth.change(fresh.entry.parent / "patient" / "holdfast" / "server" / "pool.py", "RETRY_S", "3.0")
    fresh.warm_up()

    def spares() -> list[int]:
        return [int(each) for each in Path(f"/proc/{fresh.pid}/task/{fresh.pid}/children").read_text().split()]

    fresh.until(lambda: len(spares()) == 2)
    killed = time.monotonic()
    for each in spares():
        os.kill(each, signal.SIGKILL)
    fresh.until(lambda: not spares())
    while time.monotonic() - killed < 2:
        found = spares()
        assert not found or time.monotonic() - killed >= 3
        time.sleep(0.1)

    assert fresh.advice() == "warm"
    fresh.until(lambda: len(spares()) == 2)


def test_who_is_stopped_at_the_last_word_loses_nothing(warm: Warm) -> None:
    """The child waits for `GO` much longer than for anything else: from then on nobody else would answer."""
    with asking(warm) as connection:
        assert heard(connection) + heard(connection) == relay.ALIVE + relay.READY_NOW
        time.sleep(2.5)
        assert b"warm" in handed_over(connection, warm.call())


def test_whose_folders_are_others_is_not_answered(warm: Warm) -> None:
    """Even where it asks at the right address: this server has read other folders' handlers."""
    for name in map(os.fsdecode, relay.FOLDERS):
        for value in ("/elsewhere", "") if name != "HOME" else ("/elsewhere",):
            with asking(warm, **{name: value}) as connection:
                assert (connection.recv(1), heard(connection)) == (relay.ALIVE, b""), (name, value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a namespace everywhere")
def test_who_is_in_another_sandbox_is_not_answered(warm: Warm) -> None:
    """Even where it asks at the right address: handlers would run outside of the sandbox."""
    ask = (
        "import socket, sys; server = socket.socket(socket.AF_UNIX); server.connect(sys.argv[1]); "
        "request = bytes.fromhex(sys.argv[2]); server.sendall(b'%8d' % len(request) + request); "
        "server.settimeout(30); words = [server.recv(1)]\n"
        "while words[-1] in (b'!', b'.'): words.append(server.recv(1))\n"
        "print(words[0], words[-1])"
    )
    words = [b"event", b"PreToolUse", os.fsencode(warm.root), b"18"]
    request = b"\0".join(words + [f"{name}={value}".encode() for name, value in warm.environ().items()])
    command = [sys.executable, "-c", ask, str(warm.socket), request.hex()]

    inside = subprocess.run(["unshare", "-m", *command], capture_output=True, text=True, check=False)
    outside = subprocess.run(command, capture_output=True, text=True, check=True)

    assert outside.stdout.split() == [repr(relay.ALIVE), repr(relay.READY_NOW)]
    assert inside.stdout.split() == [repr(relay.ALIVE), repr(b"")]


def test_a_closed_descriptor_means_cold(warm: Warm) -> None:
    """Who has no stdin, stdout or stderr has the socket in its place, and nothing to hand over."""
    for closed in ("<&-", ">&-", "2>&-"):
        command = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *INTERPRETER, str(warm.entry), "PreToolUse"]
        done = subprocess.run(command, input=b"{}", env=warm.environ(), capture_output=True, check=False, timeout=500)
        assert (done.returncode, done.stdout) == (0, b"")
    assert servers.ask(warm.socket)["answered"] == 0  # type: ignore[index]
    assert "before it was answered" not in warm.log(), "it waited for a stdin that is none"


def test_server_status_keeps_no_server_from_starting(fresh: Warm) -> None:
    """`holdfast server status` takes the lock for a moment, to see whether somebody has it."""
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            fresh.sockets  # noqa: B018 - asks for each lock

    thread = threading.Thread(target=look)
    thread.start()
    try:
        fresh.warm_up()
    finally:
        over.set()
        thread.join()
    assert fresh.advice() == "warm"
