"""Handlers run in child processes: whatever one of them does, the others' answers arrive."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import log
from holdfast.clients import claude
from holdfast.config import Config
from holdfast.dispatch import costs, isolation
from holdfast.dispatch.isolation import Isolated
from holdfast.events import parse
from holdfast.plugins import loader, outcomes
from holdfast.plugins.context import Context
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.scan import Route
from holdfast.process import child
from holdfast.process.child import CAPTURE_LIMIT_BYTES
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.dispatch.calls import Answer

# Whoever runs the tests may have threads; the entrypoint, whose forks these are, has none.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

HEAD = "import os, signal, subprocess, sys, time\nfrom holdfast import *\n"
FUNCTION = "@hookimpl\ndef on_pre_tool_use(event, context):\n"


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """No test leaves a descriptor open or a child unburied."""
    with suppress(ChildProcessError):  # on a busy machine, a test of another file may have left one that still ends
        while True:
            os.waitpid(-1, 0)
    before = sum(1 for _ in Path("/dev/fd").iterdir())
    yield
    assert sum(1 for _ in Path("/dev/fd").iterdir()) <= before  # fewer: an earlier test's was collected meanwhile
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def handler(name: str, body: str, **options: Any) -> Call:
    """Return a planned call of a user's handler with a body for PreToolUse."""
    source = HEAD + FUNCTION + "    " + body.replace("\n", "\n    ") + "\n"
    file = HandlerFile("user", name, Path("/nowhere") / f"{name}.py", source.encode(), "", True, False)
    return Call(file, Route("PreToolUse", "on_pre_tool_use", **options))


def shipped(call: Call) -> Call:
    """Return a call as if its handler were shipped."""
    return replace(call, file=replace(call.file, place="shipped"))


def isolated(seconds: float = 30.0, *, timeout: float = 10.0, private: tuple[int, ...] = ()) -> Isolated:
    """Return an isolation for one tool call, with some seconds for the whole event."""
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    }
    context = Context(Workspace(Path("/nowhere"), Config()), {})
    return Isolated(claude, parse(payload), context, timeout, time.monotonic() + seconds, private=private)


def run(*plan: Call, **options: Any) -> list[Answer]:
    """Run a plan to its end, with nothing delivered."""
    ward = isolated(**options)
    answers = ward.run(plan)
    ward.deliver(())
    ward.close()
    return answers


GOOD = [handler("a", "return advise('first')"), handler("z", "return advise('last')")]

BAD = {
    "exits": ("os._exit(3)", "ended its process (exit code 3)"),
    "exits_well": ("os._exit(0)", "ended its process (exit code 0)"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "ended its process (signal 9)"),
    "terminated": ("os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(60)", "ended its process (signal 15)"),
    "crashes": (
        "import ctypes, faulthandler; faulthandler.disable(); ctypes.string_at(0)",
        "ended its process (signal 11)",
    ),
    "aborts": ("import faulthandler; faulthandler.disable(); os.abort()", "ended its process (signal 6)"),
    "holds_the_interpreter": ("sum(range(10**11))", "did not obey its interrupt, and its process was ended"),
    "waits_in_c": ("os.system('sleep 60')", "did not obey its interrupt, and its process was ended"),
    "swallows": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "took longer than it",
    ),
    "blocks_signals": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\ntime.sleep(60)",
        "did not obey its interrupt, and its process was ended",
    ),
    "floods": ("os.system('yes')", "did not obey its interrupt, and its process was ended"),
    "sleeps": ("time.sleep(60)", "took longer than it"),
    "raises": ("raise SystemExit(5)", "raised SystemExit: 5"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_handler_costs_only_itself(name: str) -> None:
    """Between two good handlers a bad one does its worst: the good ones answer in order, the bad one is named."""
    body, words = BAD[name]

    first, bad, last = run(GOOD[0], handler(name, body, timeout=0.2), GOOD[1])

    assert [outcome.text for answer in (first, last) for outcome in answer.outcomes] == ["first", "last"]
    assert (first.fault, last.fault) == ("", "")
    assert bad.label == f"user/{name}.py: on_pre_tool_use"
    assert words in bad.fault
    assert bad.outcomes == ()


@pytest.mark.parametrize("body", ["os._exit(3)", "sum(range(10**11))", "raise SystemExit"])
def test_a_file_that_is_bad_while_it_loads_costs_only_itself(body: str) -> None:
    """A file may kill its process at import, too; the others are loaded again without it."""
    bad = handler("bad", "")
    source = f"{HEAD}{body}\n{FUNCTION}    ...\n".encode()
    plan = [
        GOOD[0],
        Call(
            HandlerFile("user", "bad", bad.file.path, source, "", True, False),
            Route("PreToolUse", "on_pre_tool_use", timeout=0.2),
        ),
        GOOD[1],
    ]

    answers = run(*plan)

    assert [bool(answer.outcomes) for answer in answers] == [True, False, True]
    assert answers[1].fault


def test_several_bad_ones_are_each_named() -> None:
    """Every bad handler is named with what it did, wherever it stands."""
    answers = run(
        handler("b", "os._exit(1)"),
        GOOD[0],
        handler("c", "os._exit(2)"),
        handler("d", "1 / 0"),
        GOOD[1],
        handler("e", "os.kill(os.getpid(), signal.SIGKILL)"),
    )

    assert [answer.fault for answer in answers] == [
        "ended its process (exit code 1)",
        "",
        "ended its process (exit code 2)",
        "raised ZeroDivisionError: division by zero (line 5)",
        "",
        "ended its process (signal 9)",
    ]


def test_a_death_is_never_mistaken_for_slowness(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the kernel orders a closed pipe and a death, the fault says that the process ended."""
    monkeypatch.setattr(child, "BURIAL_TIMEOUT_S", 60.0)
    answers = run(*(handler(f"h{index}", f"os._exit({index})") for index in range(1, 31)))

    assert [answer.fault for answer in answers] == [f"ended its process (exit code {n})" for n in range(1, 31)]


def test_a_changed_input_outlives_the_process_it_was_said_in() -> None:
    """After a handler killed the process, the next one still sees the input as changed before."""
    answers = run(
        handler("a", "return change_input({'command': event.tool_input['command'] + ' -l'})"),
        handler("b", "os._exit(1)"),
        handler("c", "return advise(event.tool_input['command'])"),
    )

    assert answers[2].outcomes[0].text == "ls -l"


def test_a_changed_output_outlives_the_process_it_was_said_in() -> None:
    """A secret that one handler masked stays masked for the next one, also when a third killed their process."""
    bodies = {
        "a": "return change_output(event.tool_response.replace('hunter2', '***'))",
        "b": "os._exit(1)",
        "c": "return change_output(event.tool_response + ' (checked)')",
    }
    plan = []
    for name, body in bodies.items():
        source = f"{HEAD}@hookimpl\ndef on_post_tool_use(event):\n    {body}\n".encode()
        file = HandlerFile("user", name, Path("/nowhere") / f"{name}.py", source, "", True, False)
        plan.append(Call(file, Route("PostToolUse", "on_post_tool_use")))
    fields = {"tool_name": "Bash", "tool_input": {}, "tool_response": "key hunter2"}
    fired = parse({"hook_event_name": "PostToolUse", "session_id": "s"} | fields)
    ward = Isolated(claude, fired, Context(Workspace(Path("/nowhere"), Config()), {}), 10.0, time.monotonic() + 30)

    answers = ward.run(plan)
    ward.close()

    assert answers[2].outcomes[0].value == "key *** (checked)"


def test_the_deadline_ends_the_event_and_names_who_did_not_run() -> None:
    """What was answered in time is kept; the one that was running and those that never ran are named."""
    hanging = [handler(name, "os.system('sleep 600')", timeout=600) for name in ("b", "c")]
    for seconds in (0.6, 5, 30):  # the least that is enough for the first handler here and now
        answers = run(GOOD[0], *hanging, GOOD[1], seconds=seconds)
        if answers[0].outcomes:
            break

    assert [outcome.text for outcome in answers[0].outcomes] == ["first"]
    assert "its process was ended" in answers[1].fault
    assert answers[3].fault == "did not run: no time was left"


def test_who_obeys_the_interrupt_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond its limit a handler has a moment for that; what it says of it is what is told."""
    monkeypatch.setattr(isolation, "GRACE_S", 600.0)

    (slow,) = run(handler("a", "time.sleep(600)", timeout=0.2), seconds=900)

    assert slow.fault == "took longer than its 0.2 s and was interrupted"


def test_the_grace_to_obey_ends_with_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that does not obey its interrupt is ended at the event's deadline, should it have more time or not."""
    monkeypatch.setattr(isolation, "GRACE_S", 600.0)

    (bad,) = run(handler("a", "os.system('sleep 600')"), seconds=0.5)

    assert "its process was ended" in bad.fault


@pytest.mark.slow
def test_each_handlers_time_begins_with_its_own_turn() -> None:
    """Several that take less than they may each, and more than that together, are all heard."""
    answers = run(*(handler(name, "time.sleep(0.4)\nreturn advise('said')") for name in "abcdefgh"), timeout=3.0)

    assert [answer.fault for answer in answers] == [""] * 8


def test_a_handler_gets_no_more_than_its_share_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a handler may take by itself, its interrupt comes before the event's own end."""
    ward = isolated(timeout=5.0)
    left = 10.0
    monkeypatch.setattr(isolation, "time", SimpleNamespace(monotonic=lambda: ward.deadline - left))

    assert ward._limit(handler("a", "...", timeout=60)) == pytest.approx(9.0)
    assert ward._limit(handler("a", "...", timeout=2)) == 2
    assert ward._limit(handler("a", "...")) == 5
    left = 140.0
    assert ward._limit(handler("a", "...", timeout=120)) == 120
    left = 620.0
    assert ward._limit(handler("a", "...", timeout=600)) == 600
    left = -1.0
    assert ward._limit(handler("a", "...")) == 0


def test_a_handler_that_closes_what_is_not_its_own_costs_only_itself() -> None:
    """A daemon's habit of closing every descriptor, ours included, ends that handler and names it."""
    first, bad, last = run(GOOD[0], handler("b", "os.closerange(3, 256)\ntime.sleep(60)", timeout=30), GOOD[1])

    assert (first.fault, last.fault) == ("", "")
    assert bad.fault == "closed descriptors that are not its own, and its process was ended"


@pytest.mark.parametrize("words", [b"nonsense\n", b"42\n", b'{"done": true, "waits": false}\n'])
def test_a_handler_that_writes_into_our_pipe_costs_only_itself(words: bytes) -> None:
    """Whatever a handler writes to a descriptor it happens to find, it is the one that is named."""
    ours = {int(path.name) for path in Path("/dev/fd").iterdir()}
    body = f"for d in range(3, 64):\n    if d not in {ours}:\n        try: os.write(d, {words!r})\n"
    body += "        except OSError: pass\ntime.sleep(60)"

    first, bad, last = run(GOOD[0], handler("b", body, timeout=30), GOOD[1])

    assert (first.fault, last.fault) == ("", "")
    assert "its process was ended" in bad.fault


@pytest.mark.parametrize("end", ["os.getpid()", "1 / 0", "sys.exit(3)"])
def test_a_child_never_goes_on_with_what_its_parent_does(tmp_path: Path, end: str) -> None:
    """Whatever becomes of its work, it ends with it: a second Holdfast would answer the event once more."""
    us = os.getpid()
    try:
        forked = child.Child.fork(lambda *_: exec(f"import os, sys; {end}"))
    finally:
        if os.getpid() != us:
            (tmp_path / "went on").touch()
            os._exit(1)
    forked.bury(time.monotonic() + 60)

    assert noted(tmp_path) == []


def test_a_child_forked_ahead_that_died_costs_nobody_anything() -> None:
    """It was no handler's turn yet: another child calls them all."""
    ward = isolated()
    ward.spare = child.Child.fork(lambda *_: None)

    answers = ward.run(GOOD)
    ward.deliver(())
    ward.close()

    assert [answer.fault for answer in answers] == ["", ""]


def test_a_handler_that_breaks_the_json_module_costs_only_itself() -> None:
    """What a handler does to a module we use it does to itself."""
    first, broken, last = run(
        GOOD[0], handler("b", "import json\njson.dumps = lambda *a, **k: '{}'\njson.loads = None"), GOOD[1]
    )
    assert (first.fault, last.fault) == ("", "")
    assert [outcome.text for outcome in (*first.outcomes, *last.outcomes)] == ["first", "last"]
    assert broken.fault == ""


def test_without_time_nobody_runs() -> None:
    """Past the deadline every handler is named as not run, which is no fault of its own, and none is started."""
    answers = run(*GOOD, seconds=-1)

    assert [(answer.fault, answer.ran) for answer in answers] == [("did not run: no time was left", False)] * 2


def test_what_handlers_and_their_processes_write_is_caught() -> None:
    """Raw writes, subprocesses and shells: all is kept for the log."""
    ward = isolated()
    bodies = [
        "os.write(1, b'one')",
        "os.write(2, b'two')",
        "subprocess.run(['echo', 'three'])",
        "os.system('echo four; echo five >&2')",
    ]

    answers = ward.run([handler(f"h{index}", body) for index, body in enumerate(bodies)])
    ward.deliver(())
    ward.close()

    assert not any(answer.fault for answer in answers)
    said = [bytes(ward.printed[answer.label]).split() for answer in answers]
    assert said == [[b"one"], [b"two"], [b"three"], [b"four", b"five"]]


CLOSES = """
import fcntl
mine = os.fstat(1)
for each in range(1, 256):
    try:
        if os.path.samestat(mine, os.fstat(each)) and fcntl.fcntl(each, fcntl.F_GETFL) & os.O_WRONLY:
            os.close(each)
    except OSError:
        pass
time.sleep(1)
return advise('said')"""


def test_the_last_words_of_one_that_died_are_caught() -> None:
    """Also where its end is noticed before them."""

    def speak(*_: int) -> None:
        os.write(1, b"last words")

    dead = child.Child.fork(speak)
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    printed = bytearray()

    assert dead.receive(time.monotonic() + 20, printed) is None

    assert printed == b"last words"
    dead.bury(time.monotonic())


def test_one_that_closes_its_output_costs_no_processor_time() -> None:
    """Nothing more can come from there: it is not looked at again and again."""
    before = time.process_time()
    (answer,) = run(handler("a", CLOSES.strip()))

    assert [outcome.text for outcome in answer.outcomes] == ["said"]
    assert time.process_time() - before < 0.3


def test_a_flood_of_prints_blocks_nobody() -> None:
    """A handler may print more than any pipe holds; only the first part is kept."""
    ward = isolated()
    answers = ward.run([handler("flood", "os.write(1, b'x' * 5_000_000)\nreturn advise('done')"), GOOD[1]])
    ward.deliver(())
    ward.close()

    assert [answer.outcomes[0].text for answer in answers] == ["done", "last"]
    assert [len(text) for text in ward.printed.values()] == [CAPTURE_LIMIT_BYTES, 0]


def test_of_what_a_handlers_own_process_caught_only_the_first_part_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads a whole pipe before it answers, if we have not done so before: here we look at messages alone."""
    monkeypatch.setattr(child.Child, "_capture", lambda *_: None)
    ward = isolated()
    ward.run([handler("long", f"os.write(1, b'x' * {3 * CAPTURE_LIMIT_BYTES})\nreturn advise('done')")])
    ward.deliver(())
    ward.close()

    assert [bytes(text) for text in ward.printed.values()] == [b"x" * CAPTURE_LIMIT_BYTES]


def test_a_background_process_that_keeps_the_output_open_holds_nobody_up(tmp_path: Path) -> None:
    """A subprocess left running, with the captured output inherited, is not waited for."""
    body = "left = subprocess.Popen(['sleep', '600'])\n"
    body += f"open('{tmp_path}/pid', 'w').write(str(left.pid))\nreturn advise('left it')"
    answers = run(handler("a", body), GOOD[1])

    assert [bool(answer.outcomes) for answer in answers] == [True, True]
    with suppress(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_what_a_stuck_handler_started_ends_with_it() -> None:
    """The processes a stuck handler started are ended too: nothing keeps running behind the user's back."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    run(handler("stuck", "os.system('sleep 600')", timeout=0.1))
    os.close(write)
    ended, _, _ = select.select([read], [], [], 20)
    os.close(read)

    assert ended, "the sleeping shell still holds the pipe"


@pytest.mark.parametrize("end", ["return advise('done')", "os._exit(1)", "1 / 0"])
def test_what_a_handler_started_ends_with_its_event(end: str) -> None:
    """However its process ends, nothing in its group outlives the event; another process group does not hold it up."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    run(handler("a", f"subprocess.Popen(['sleep', '600'], close_fds=False)\n{end}"))
    os.close(write)
    ended, _, _ = select.select([read], [], [], 20)
    os.close(read)

    assert ended, "the sleeping process still holds the pipe"


def test_what_has_a_session_of_its_own_outlives_the_event(tmp_path: Path) -> None:
    """Work that is meant to go on asks for that with start_new_session."""
    start = "process = subprocess.Popen(['sleep', '600'], start_new_session=True)"
    run(handler("a", f"{start}\nopen('{tmp_path}/pid', 'w').write(str(process.pid))"))
    pid = int((tmp_path / "pid").read_text())

    os.kill(pid, 0)
    os.kill(pid, signal.SIGKILL)


def test_handlers_cannot_reach_the_clients_own_streams() -> None:
    """The private copies of stdout and stderr are closed where handlers run."""
    read, write = os.pipe()
    (answer,) = run(handler("a", f"os.write({write}, b'gotcha')"), private=(write,))
    os.close(write)
    got = os.read(read, 100)
    os.close(read)

    assert "raised OSError" in answer.fault
    assert got == b""


DELIVERED = "return advise('{0}', on_delivered=lambda: open('{1}/{0}', 'a').write(str(os.getpid()) + chr(10)))"


def noted(folder: Path) -> list[str]:
    """Return the names of the advice whose delivery was noted."""
    return sorted(path.name for path in folder.iterdir())


def test_on_delivered_waits_for_the_reply_and_runs_only_for_what_was_delivered(tmp_path: Path) -> None:
    """Nothing is noted while handlers run; afterwards only the advice that stands in the reply, in its own process."""
    ward = isolated()
    answers = ward.run([handler(name, DELIVERED.format(name, tmp_path)) for name in ("a", "b", "c")])
    assert noted(tmp_path) == []

    ward.deliver([answers[0].outcomes[0], answers[2].outcomes[0]])
    ward.close()

    assert noted(tmp_path) == ["a", "c"]
    assert (tmp_path / "a").read_text().strip() != str(os.getpid())


@pytest.mark.parametrize("body", ["os._exit(1)", "sum(range(10**11))", "1 / 0"])
def test_a_delivery_is_noted_whatever_later_handlers_do(tmp_path: Path, body: str) -> None:
    """A handler that dies or is ended afterwards does not take an earlier one's on_delivered with it."""
    ward = isolated()
    answers = ward.run([handler("a", DELIVERED.format("a", tmp_path)), handler("b", body, timeout=0.1), GOOD[1]])
    ward.deliver(answers[0].outcomes)
    ward.close()

    assert [bool(answer.outcomes) for answer in answers] == [True, False, True]
    assert noted(tmp_path) == ["a"]


def test_a_child_that_begins_as_the_client_ends_the_event_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal waits until the child is known. The child itself can be ended."""
    ward = isolated()
    pids: list[int] = []
    fork = os.fork

    def forking() -> int:
        pids.append(fork())
        if pids[-1]:
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # whoever runs the tests may have threads
        return pids[-1]

    def end(*_: object) -> None:
        ward.abandon()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, "fork", forking)
            ward.run([handler("a", "time.sleep(600)")])
    finally:
        signal.signal(signal.SIGTERM, before)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
    (answer,) = run(handler("b", "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(600)"))
    assert answer.fault is not None
    assert "signal 15" in answer.fault


def test_shipped_handlers_go_on_in_the_process_that_waits_for_a_delivery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They don't kill it, so no other one is forked for them; each delivery is noted where it was hoped for."""

    def hopeful(name: str) -> Call:
        return shipped(handler(name, DELIVERED.format(name, tmp_path)))

    forked: list[int] = []
    fork = os.fork

    def forking() -> int:
        forked.append(fork())
        return forked[-1]

    monkeypatch.setattr(os, "fork", forking)
    ward = isolated()
    answers = ward.run([hopeful("a"), hopeful("b"), handler("c", DELIVERED.format("c", tmp_path)), hopeful("d")])
    ward.deliver([answer.outcomes[0] for answer in answers if answer.label != "shipped/b.py: on_pre_tool_use"])
    ward.close()

    assert noted(tmp_path) == ["a", "c", "d"]
    assert len(forked) == 2  # the user's handler, and what comes after it
    assert (tmp_path / "a").read_text() != (tmp_path / "c").read_text() == (tmp_path / "d").read_text()


PID = "return advise(str(os.getpid()))"


def test_garbage_is_collected_where_a_users_handler_runs() -> None:
    """The shipped ones make little of it, and the collector would go over all that they make."""
    body = "import gc; return advise(f'{gc.isenabled()} {os.getpid()}')"
    mine, ours = handler("mine", body), shipped(handler("ours", body))
    (alone,) = run(ours)
    collects, pid = alone.outcomes[0].text.split()
    os.waitpid(int(pid), 0)

    assert collects == "False"
    assert [answer.outcomes[0].text.split()[0] for answer in run(ours, mine)] == ["True", "True"]


def test_the_shipped_handlers_process_records_what_the_reply_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the ledger open. It ends by itself, and the client doesn't wait for that."""
    note = tmp_path / "note"
    monkeypatch.setattr(costs, "note", lambda *given: note.write_text(f"{os.getpid()} {given[2]}"))
    ward = isolated()
    hopeful = shipped(handler("b", DELIVERED.format("b", tmp_path)))
    first, second = ward.run([shipped(handler("a", PID)), hopeful])
    ward.deliver(second.outcomes)
    pid = int(first.outcomes[0].text)

    assert ward.record({"shipped/a": 7})
    ward.close()

    assert note.read_text() == f"{pid} {{'shipped/a': 7}}"
    assert noted(tmp_path) == ["b", "note"]
    assert os.waitpid(pid, 0)[1] == 0


def test_a_record_that_is_stuck_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on by itself; what it waits for here comes only once the reply's process has gone on."""
    heard, said = os.pipe()
    monkeypatch.setattr(costs, "note", lambda *_: os.read(heard, 1))
    monkeypatch.setattr(costs, "WAIT_LIMIT_S", 0.05)
    ward = isolated()
    (answer,) = ward.run([shipped(handler("a", PID))])

    assert ward.record({"shipped/a": 7})
    ward.close()

    os.write(said, b"x")
    _, status = os.waitpid(int(answer.outcomes[0].text), 0)
    os.close(said)
    os.close(heard)
    assert status == 0


def test_a_process_that_is_gone_or_may_be_bad_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller then does it: after a user's handler, after a fault, and if the process was killed."""
    monkeypatch.setattr(costs, "note", lambda *_: None)
    users, failed, killed = isolated(), isolated(), isolated()
    users.run([shipped(handler("a", PID)), handler("b", "...")])
    failed.run([shipped(handler("a", "1 / 0")), shipped(handler("b", PID))])
    (answer,) = killed.run([shipped(handler("a", PID))])
    os.kill(int(answer.outcomes[0].text), signal.SIGKILL)

    assert [ward.record({"shipped/a": 7}) for ward in (users, failed, killed)] == [False] * 3
    for ward in (users, failed, killed):
        ward.close()


def test_a_delivery_is_noted_even_past_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the event's time is used up by another handler, noting a delivery still gets a moment."""
    monkeypatch.setattr(isolation, "GRACE_S", 60.0)
    ward = isolated()
    note = f"lambda: (time.sleep(0.05), open('{tmp_path}/a', 'w').close())"
    answers = ward.run([handler("a", f"return advise('a', on_delivered={note})")])
    ward.deadline = time.monotonic()
    ward.deliver(answers[0].outcomes)
    ward.close()

    assert noted(tmp_path) == ["a"]


def test_a_child_that_has_gone_keeps_no_other_delivery_from_being_noted(tmp_path: Path) -> None:
    """One that waits to hear what was delivered may be killed from outside meanwhile."""
    body = f"return advise(str(os.getpid()), on_delivered=lambda: open('{tmp_path}/%s', 'w').close())"
    ward = isolated()
    answers = ward.run([handler(name, body % name) for name in ("a", "b")])
    said = [answer.outcomes[0] for answer in answers]
    os.kill(int(said[0].text), signal.SIGKILL)
    os.waitid(os.P_PID, int(said[0].text), os.WEXITED | os.WNOWAIT)
    ward.deliver(said)
    ward.close()

    assert noted(tmp_path) == ["b"]


def test_noting_a_delivery_may_take_what_the_event_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow callback is not ended after the moment that an interrupted handler gets."""
    monkeypatch.setattr(isolation, "GRACE_S", 0.0)
    ward = isolated(60.0)
    note = f"lambda: (time.sleep(0.1), open('{tmp_path}/a', 'w').close())"
    answers = ward.run([handler("a", f"return advise('a', on_delivered={note})")])
    ward.deliver(answers[0].outcomes)
    ward.close()

    assert noted(tmp_path) == ["a"]


def test_nobody_waits_for_the_end_of_a_process_that_has_noted_its_delivery(tmp_path: Path) -> None:
    """Its memory is taken down after the client was let go: `deliver` returns while it still ends."""
    ward = isolated()
    # The process stops itself once it has said that the delivery is noted, so it never ends by itself.
    stop = "setattr(os, '_exit', lambda code: os.kill(os.getpid(), signal.SIGSTOP))"
    answers = ward.run([handler("a", f"{stop}\n" + DELIVERED.format("a", tmp_path))])
    ward.deliver(answers[0].outcomes)
    assert noted(tmp_path) == ["a"]
    pid = int((tmp_path / "a").read_text())
    os.kill(pid, 0)
    ward.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_second_judgement_delivers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a handler says when it judges again is not delivered a second time, and nobody waits to hear that."""
    monkeypatch.setattr(isolation, "GRACE_S", 600.0)
    ward = isolated()
    plan = [handler("a", DELIVERED.format("a", tmp_path))]
    answers = ward.run(plan)
    assert ward.judge(plan) == answers
    ward.deliver(answers[0].outcomes)
    ward.close()

    assert len((tmp_path / "a").read_text().splitlines()) == 1


def test_a_failing_on_delivered_is_logged_and_costs_only_itself(tmp_path: Path) -> None:
    """A callback that raises is a line in the log; the others of the same handler run."""
    ward = isolated()
    body = (
        f"return [advise('a', on_delivered=lambda: 1 / 0), advise('b', on_delivered=open('{tmp_path}/b', 'w').close)]"
    )
    answers = ward.run([handler("a", body)])
    ward.deliver(answers[0].outcomes)
    ward.close()

    assert "on_delivered failed: raised ZeroDivisionError" in log.tail(1)[0]
    assert noted(tmp_path) == ["b"]


def test_a_hanging_on_delivered_is_ended() -> None:
    """A callback that never returns ends with the event's time; nothing of it is left behind."""
    ward = isolated()
    answers = ward.run([handler("a", "return advise('a', on_delivered=lambda: time.sleep(600))")])
    ward.deadline = time.monotonic()
    ward.deliver(answers[0].outcomes)
    ward.close()


def test_abandoning_ends_everything_at_once(tmp_path: Path) -> None:
    """When the client has ended us, no child waits on, and none notes a delivery."""
    ward = isolated()
    ward.run([handler(name, DELIVERED.format(name, tmp_path)) for name in ("a", "b")])
    ward.abandon()

    assert noted(tmp_path) == []


def test_a_long_answer_crosses_the_pipe_whole() -> None:
    """An answer larger than a pipe's buffer arrives as it was said."""
    (answer,) = run(handler("a", "return advise('ä😀' * 500_000)"))

    assert answer.outcomes[0] == outcomes.advise("ä😀" * 500_000)


def test_an_outcome_crosses_the_pipe_as_it_was_said() -> None:
    """Nothing that merging goes by is lost on the way."""
    said = [
        outcomes.advise("x", priority=3, must_keep=True),
        outcomes.advise("y", priority=-1),
        outcomes.change_input({"command": "pwd", "timeout": None}),
        outcomes.deny("no", interrupt=True),
    ]
    body = "return [advise('x', priority=3, must_keep=True), advise('y', priority=-1), "
    body += "change_input({'command': 'pwd', 'timeout': None}), deny('no', interrupt=True)]"
    (answer,) = run(handler("a", body))

    assert list(answer.outcomes) == said


def test_a_message_crosses_the_pipe_whole_however_little_of_it_fits_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal, or a pipe that is nearly full, ends a write before its end."""
    once = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: once(descriptor, bytes(data[:7])))
    (first,) = run(handler("a", "return advise('x' * 100)"))

    assert [outcome.text for outcome in first.outcomes] == ["x" * 100]


def test_a_handler_that_forks_answers_once() -> None:
    """A handler that forks and lets both processes return has one answer, and the others theirs."""
    answers = run(handler("a", "os.fork()\nreturn advise('a')"), GOOD[1])

    assert [answer.outcomes[0].text for answer in answers] == ["a", "last"]


def test_note_delivery_without_a_callback_does_nothing() -> None:
    """Advice without on_delivered needs no noting."""
    isolation.note_delivery(outcomes.advise("x"))
    assert log.tail(1) == []


@pytest.mark.parametrize("early", [False, True])
def test_an_answer_comes_with_the_beginning_of_the_next_call(early: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message wakes the parent. No message names a file that was loaded in advance: nothing of it runs."""
    told: list[list[str]] = []

    def write(_: int, *messages: dict[str, Any]) -> None:
        told.append([" ".join(map(str, next(iter(each.items())))) for each in messages])

    monkeypatch.setattr(isolation, "write", write)
    for call in GOOD if early else []:
        loader.keep(call.file)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    isolation._answer(isolated(), GOOD, -1, nowhere, -1)
    os.close(nowhere)
    first, last = (call.label for call in GOOD)
    loading = [] if early else [[f"begin {last}"], [f"begin {first}"]]
    calling = [[f"begin {first}"], [f"answer {first}", f"begin {last}"], [f"answer {last}"]]
    assert told == loading + calling


def test_beside_a_handler_of_yours_each_look_at_a_file_is_a_look() -> None:
    """It may edit a state file that the next handler reads; shipped ones among themselves look once (`one_moment`)."""
    looks = "from holdfast.files import file_memo\nreturn advise(str(file_memo.is_now(time.monotonic())))"
    ours = [shipped(handler(name, looks)) for name in "ab"]

    def said(*plan: Call) -> list[str]:
        return [one.text for given in run(*plan) for one in given.outcomes]

    assert said(ours[0], handler("mine", looks), ours[1]) == ["False"] * 3
    assert said(*ours) == ["True", "True"]
    os.waitpid(-1, 0)  # the process of shipped handlers goes on by itself
