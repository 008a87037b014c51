"""From an event on stdin to a reply on stdout, with real processes where these matter."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import engine, paths
from holdfast.config import HandlersSection
from holdfast.dispatch import duplicates, intake, output
from holdfast.dispatch.output import Reply
from holdfast.events import EventError, parse
from holdfast.files import trust
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.scan import Route
from holdfast.process.spare import Spare
from tests import processes, waiting
from tests.tables import each_row

if TYPE_CHECKING:
    from tests.conftest import RunPython
    from tests.processes import Ended, Place

HEAD = "import os, signal, subprocess, sys, time\nfrom holdfast import *\n@hookimpl({1})\ndef on_{0}({2}):\n    "


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a project of the test's own."""
    return processes.make(tmp_path)


def handler(body: str, event: str = "pre_tool_use", options: str = "", arguments: str = "event, context") -> str:
    """Return the text of a handler file with one function of that body."""
    return HEAD.format(event, options, arguments) + body.replace("\n", "\n    ") + "\n"


def bash(place: Place, command: str = "ls", **changes: Any) -> dict[str, Any]:
    """Return a Bash call that is about to be made."""
    return place.payload("PreToolUse-Bash", tool_input={"command": command}, **changes)


# --- a bad handler beside good ones -------------------------------------------------------------------------------

BAD = {
    "b_raises": (handler("raise ValueError('oh no')"), "raised ValueError: oh no (line 5)"),
    "c_sys_exit": (handler("sys.exit(3)"), "raised SystemExit: 3"),
    "d_os_exit": (handler("os._exit(4)"), "ended its process (exit code 4)"),
    "e_nonsense": (handler("return {'decision': 'block'}"), "returned dict"),
    "f_not_accepted": (handler("return instruct_summary('no')"), "instruct_summary() is not accepted on PreToolUse"),
    "g_terminated": (handler("os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(60)"), "ended its process (signal 15)"),
    "h_sleeps": (handler("time.sleep(60)", options="timeout=0.2"), "took longer than it"),
    "i_shell_sleeps": (handler("os.system('sleep 60')", options="timeout=0.2"), "took longer than it may"),
    "j_c_loop": (handler("sum(range(10**11))", options="timeout=0.2"), "took longer than it may"),
    "k_swallows": (
        handler("while True:\n    try:\n        time.sleep(60)\n    except BaseException: pass", options="timeout=0.2"),
        "took longer than it",
    ),
    "l_kills_itself": (handler("os.kill(os.getpid(), signal.SIGKILL)"), "ended its process (signal 9)"),
    "m_strange_type": (handler("return 5"), "returned int"),
    "n_import": ("import nothing_like_that\n" + handler("..."), "does not load: raised ModuleNotFoundError"),
    "o_exits_at_import": ("import os; os._exit(5)\n" + handler("..."), "ended its process (exit code 5)"),
}
UNUSABLE = {
    "p_syntax": ("def on_pre_tool_use(:\n", "line 1: cannot be read as Python (invalid syntax)"),
    "q_arguments": (handler("return advise('never')", arguments="payload"), "asks for 'payload'"),
    "r_async": (handler("return advise('never')").replace("\ndef on_", "\nasync def on_"), "on_pre_tool_use is async"),
}
LOUD = {
    "s_prints": handler("print('LOUD print'); print('LOUD stderr', file=sys.stderr); return None"),
    "t_subprocess": handler("subprocess.run(['echo', 'LOUD subprocess'])"),
    "u_shell": handler("os.system('echo LOUD shell; echo LOUD shell >&2')"),
    "v_raw": handler("os.write(1, b'{\"LOUD\": 1}')"),
    "w_no_newline": handler("sys.stdout.write('LOUD tail')"),
    "x_reads_stdin": handler("assert sys.stdin.read() == ''; return None"),
}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Ended]:
    """One event with two good handlers among all the bad ones, and another event after it that nobody wants."""
    place = processes.make(tmp_path_factory.mktemp("place"))
    place.configure("timeout = 20.0\ndeadline = 50.0\n")
    place.user_handler("a_good", handler("return advise('first good one')"))
    place.user_handler("z_good", handler("return [advise('last good one'), tell_user('and a word')]"))
    for name, (text, _) in (BAD | UNUSABLE).items():
        place.user_handler(name, text)
    for name, text in LOUD.items():
        place.user_handler(name, text)
    ended = place.fire(bash(place), "PreToolUse")
    place.fire(place.payload("Stop"))
    return place, ended


@pytest.mark.slow
def test_the_good_ones_answer_in_order(crowd: tuple[Place, Ended]) -> None:
    """Beside all the bad handlers the good ones' answers arrive, in order, as one JSON object and exit 0."""
    _, ended = crowd

    assert ended.exit_code == 0
    assert ended.stderr == ""
    assert ended.reply.pop("systemMessage").startswith("and a word\n\nHoldfast: ")
    assert {key: value for key, value in ended.reply.items() if key != "systemMessage"} == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "additionalContext": "first good one\n\nlast good one",
        },
    }


@pytest.mark.parametrize("name", BAD)
def test_each_bad_one_is_named_in_the_log(crowd: tuple[Place, Ended], name: str) -> None:
    """The log names every bad handler with what it did."""
    place, _ = crowd
    lines = [line for line in place.log().splitlines() if f"user/{name}.py" in line]

    assert len(lines) == 1
    assert f" error PreToolUse: user/{name}.py: on_pre_tool_use " in lines[0]
    assert BAD[name][1] in lines[0]
    assert f"session={processes.SESSION}" in lines[0]


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_file_that_cannot_be_used_is_named_in_the_log_once(crowd: tuple[Place, Ended], name: str) -> None:
    """A syntax error, wrong arguments and async are named, too, once for each content and not on every event."""
    place, _ = crowd
    lines = [line for line in place.log().splitlines() if f"user/{name}.py" in line]

    assert len(lines) == 1
    assert f" error PreToolUse: user/{name}.py line " in lines[0]
    assert UNUSABLE[name][1] in lines[0]


@pytest.mark.parametrize("word", ["LOUD print", "LOUD stderr", "LOUD subprocess", "LOUD shell", "LOUD tail"])
def test_what_handlers_print_goes_to_the_log(crowd: tuple[Place, Ended], word: str) -> None:
    """Nobody's print or child process reaches the reply; what was printed stands in the log."""
    place, ended = crowd

    assert "LOUD" not in ended.stdout
    (line,) = [line for line in place.log().splitlines() if word in line]
    assert " printed, which nobody reads: " in line
    assert "user/" in line


# --- time ---------------------------------------------------------------------------------------------------------


def test_the_whole_event_has_a_deadline(place: Place) -> None:
    """At the event's deadline the reply merged so far is written, and who did not run is named."""
    place.user_handler("a", handler("return advise('in time')"))
    for name in ("b", "c"):  # of what is left, one alone may not take all
        place.user_handler(name, handler("os.system('sleep 600')"))
    place.user_handler("d", handler("return advise('too late')"))

    for seconds in (1, 10, 30):  # the least that is enough for the first handler here and now
        place.configure(f"timeout = {seconds}.0\ndeadline = {seconds}.0\n")
        ended = place.fire(bash(place))
        assert ended.exit_code == 0
        if ended.advice:
            break

    assert ended.advice == "in time"
    assert "user/b.py: on_pre_tool_use took longer than it may" in place.log()
    assert "user/d.py: on_pre_tool_use did not run: no time was left" in place.log()


@pytest.mark.slow
def test_a_handlers_own_timeout_extends_the_deadline(place: Place) -> None:
    """A guard that asked for more time than all handlers have together is heard: the stop does not pass."""
    place.configure("deadline = 0.5\n")
    place.user_handler("a", handler("time.sleep(2)\nreturn block('the tests fail')", "stop", "timeout=120"))
    place.user_handler("b", handler("return tell_user('and this')", "stop"))

    reply = place.fire(place.payload("Stop")).reply

    assert (reply["decision"], reply["reason"], reply["systemMessage"]) == (
        "block",
        "the tests fail (user/a.py)",
        "and this",
    )


def test_a_plugins_handlers_get_no_more_than_the_client_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin's hooks are the same for everybody, so no timeout stands beside them."""
    event = parse({"hook_event_name": "SessionEnd", "session_id": "s"})
    file = HandlerFile("user", "a", paths.user_handlers() / "a.py", b"", "", True, False)
    plan = [Call(file, Route("SessionEnd", "on_session_end", timeout=10.0))]
    limits = engine.open_project({"CLAUDE_PROJECT_DIR": "/nowhere"}).config.handlers

    assert engine.deadline(event, limits, 100.0, plan) == pytest.approx(111.2)
    monkeypatch.setattr(duplicates, "source", lambda client, environ: "/plugin")
    assert engine.deadline(event, limits, 100.0, plan) == pytest.approx(101.2)


@pytest.mark.parametrize(
    ("name", "seconds"), [("SessionEnd-other", 1.5 * 0.8), ("PreToolUse-Bash", 20.0), ("UserPromptSubmit", 20.0)]
)
def test_the_deadline_leaves_the_client_time_to_read(place: Place, name: str, seconds: float) -> None:
    """SessionEnd has 1.5 s in all, of which we use our share; elsewhere the configured deadline is the shorter one."""
    event = parse(place.payload(name))
    assert engine.deadline(event, HandlersSection(), 100.0, []) == pytest.approx(100.0 + seconds)
    assert engine.deadline(event, HandlersSection(deadline=1.0), 100.0, []) == 101.0


@each_row("age, started", [(0.0, 100.0), (0.4, 99.6), (500.0, 99.0)])
def test_an_events_time_runs_from_the_start_of_its_process(
    monkeypatch: pytest.MonkeyPatch, age: float, started: float
) -> None:
    """What it took to start is gone already; a process that is much older was not started for this event."""
    seen: list[float] = []

    def dispatch(argument: str | None, take: object, started: float) -> int:
        seen.append(started)
        return 0

    monkeypatch.setattr(engine, "dispatch", dispatch)
    monkeypatch.setattr(engine, "age", lambda: age)
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: 100.0))

    assert engine.main("Stop") == 0
    assert seen == [pytest.approx(started)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="elsewhere it is not told")
def test_the_age_is_the_time_since_the_process_was_started() -> None:
    """Whatever it does meanwhile; the system tells it to the hundredth."""
    script = (
        "import time; first = time.monotonic(); from holdfast import engine; age = engine.age(); "
        "print(time.monotonic() - age, first)"
    )
    before = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=500, check=True)
    started, first = map(float, done.stdout.split())

    assert before - 0.02 <= started <= first


@pytest.mark.parametrize("body", ["time.sleep(600)", "sum(range(10**11))"])
def test_session_end_is_over_before_the_client_gives_up(place: Place, body: str) -> None:
    """A handler that asks for no time of its own gets none beyond the event's."""
    place.user_handler("b", handler(body, "session_end", "", ""))

    ended = place.fire(place.payload("SessionEnd-other"))

    assert (ended.exit_code, ended.stdout) == (0, "")
    (line,) = [line for line in place.log().splitlines() if "user/b.py: on_session_end" in line]
    assert "took longer than it" in line or "no time was left" in line


LEFT = """
import signal, sys, time
from holdfast import engine; from holdfast.dispatch import isolation
run = isolation.Isolated.run
def watched(self, plan):
    alarm, deadline = signal.getitimer(signal.ITIMER_REAL)[0], self.deadline - time.monotonic()
    open("left", "w").write(f"{alarm} {deadline}")
    return run(self, plan)
isolation.Isolated.run = watched
sys.exit(engine.main("PreToolUse"))
"""


def test_the_time_to_prepare_is_no_limit_on_handlers(place: Place) -> None:
    """While they run, the alarm that ends the event is later than their deadline, however late that is."""
    place.configure("deadline = 100.0\n")
    place.user_handler("a", handler("return advise('answered')"))
    environ = place.environ(PYTHONPATH=str(processes.SOURCE))

    ended = processes.run([sys.executable, "-c", LEFT], json.dumps(bash(place)).encode(), environ, place.root)

    assert ended.advice == "answered"
    alarm, deadline = map(float, (place.root / "left").read_text().split())
    assert not alarm or alarm > deadline > engine.PREPARE_LIMIT_S


def test_the_alarm_comes_again(run_python: RunPython) -> None:
    """Whatever a library swallows: else the event would have no end."""
    script = """
import signal, time
from holdfast import engine
rings = []
engine._ring = lambda *_: rings.append("ring")
engine._watch(time.monotonic())
while len(rings) < 2:
    signal.pause()
print(*rings[:2])
"""
    assert run_python(script) == "ring ring\n"


def test_a_stdin_that_is_never_closed_is_given_up(place: Place) -> None:
    """A client that never closes stdin gets exit 0 and silence, and a line in the log."""
    script = (
        "import sys; from holdfast import engine; engine.PREPARE_LIMIT_S = 0.3; sys.exit(engine.main('PreToolUse'))"
    )
    read, write = os.pipe()
    os.write(write, b'{"hook_event_name": "PreTool')
    environ = place.environ(PYTHONPATH=str(processes.SOURCE))
    done = subprocess.run(
        [sys.executable, "-c", script], stdin=read, env=environ, capture_output=True, timeout=500, check=False
    )
    os.close(read)
    os.close(write)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "warning PreToolUse wasn't answered in time" in place.log()


def test_a_client_that_ends_us_gets_exit_0_and_no_one_is_left(place: Place) -> None:
    """On SIGTERM the handlers' process is ended, too, and nothing is said."""
    place.user_handler("a", handler(f"open('{place.root}/pid', 'w').write(str(os.getpid()) + ' ')\ntime.sleep(600)"))
    command = [*processes.INTERPRETER, str(processes.ENTRYPOINT)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.environ(), cwd=place.root
    ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(bash(place)).encode())
        process.stdin.close()
        pid = int(waiting.until(lambda: read_if(place.root / "pid")))
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.wait(500) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert "was stopped before it was answered" in place.log()


def test_what_fails_before_its_handlers_are_chosen_ends_the_child_that_is_at_them_already(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The event may have been refused by now: nothing more is done for it."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(engine, "_watch", lambda at: 1 / 0)
    spare = Spare.fork(lambda told, *_: print(told.next()))
    pid = spare.child.pid

    assert engine.dispatch("Stop", output.Streams, time.monotonic(), spare) == 0

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    spare.child.close()


def read_if(path: Path) -> str:
    """Return a file's text once it is written whole, which a space at its end tells; else nothing."""
    text = path.read_text() if path.exists() else ""
    return text if text.endswith(" ") else ""


# --- changed input ------------------------------------------------------------------------------------------------

GUARD = "if 'rm' in event.tool_input['command']:\n    return deny('no rm: ' + event.tool_input['command'])"


def test_changed_inputs_compose_and_approve_nothing(place: Place) -> None:
    """Each handler sees the input as changed so far; the last one goes to the client, without a decision."""
    for name in ("a", "b", "c"):
        place.user_handler(
            name, handler(f"return change_input({{'command': event.tool_input['command'] + ' {name}'}})")
        )

    assert place.fire(bash(place)).specific == {
        "hookEventName": "PreToolUse",
        "updatedInput": {"command": "ls a b c"},
    }


def test_a_strict_guard_judges_the_final_input_again(place: Place) -> None:
    """A guard that ran before the input was changed is asked again about what will really run."""
    place.user_handler("a_guard", handler(GUARD, options="strict=True"))
    place.user_handler("b_change", handler("return change_input({'command': 'rm -rf x'})"))

    specific = place.fire(bash(place)).specific

    assert specific["permissionDecision"] == "deny"
    assert specific["permissionDecisionReason"] == "no rm: rm -rf x (user/a_guard.py)"
    assert "updatedInput" not in specific


def test_a_content_guard_lets_the_changed_input_pass_and_advises_once(place: Place) -> None:
    """What the guard says twice reaches the model once, and its advice is delivered once."""
    note = f"on_delivered=lambda: open('{place.root}/noted', 'a').write('x')"
    place.user_handler("a_guard", handler(f"return advise('seen', {note})", options="strict=True"))
    place.user_handler("b_change", handler("return change_input({'command': 'ls -l'})"))

    specific = place.fire(bash(place)).specific

    assert specific["additionalContext"] == "seen"
    assert specific["updatedInput"] == {"command": "ls -l"}
    assert (place.root / "noted").read_text() == "x"


def test_a_guard_that_fails_at_its_second_judgement_refuses(place: Place) -> None:
    """A strict handler's failure is a refusal also when it judges again."""
    place.user_handler("a_guard", handler("assert event.tool_input['command'] == 'ls'", options="strict=True"))
    place.user_handler("b_change", handler("return change_input({'command': 'pwd'})"))

    assert place.fire(bash(place)).specific["permissionDecision"] == "deny"


def test_a_guard_that_corrects_has_the_last_word(place: Place) -> None:
    """A guard that mends an input instead of refusing it mends what a later handler made of it, too."""
    mend = "return change_input({'command': event.tool_input['command'].replace('rm', 'ls')})"
    place.user_handler("a_guard", handler(mend, options="strict=True"))
    place.user_handler("b_change", handler("return change_input({'command': 'rm -rf x'})"))

    assert place.fire(bash(place)).specific["updatedInput"] == {"command": "ls -rf x"}


def test_a_guard_is_not_asked_about_its_own_change(place: Place) -> None:
    """One that adds to every command adds once."""
    add = "return change_input({'command': event.tool_input['command'] + ' --safe'})"
    place.user_handler("a", handler(add, options="strict=True"))

    assert place.fire(bash(place)).specific["updatedInput"] == {"command": "ls --safe"}


def test_only_a_guard_that_has_not_seen_the_final_input_is_asked_twice(place: Place) -> None:
    """Handlers that are not strict, and guards that ran after the last change, are called once."""
    count = "open('{}/{}', 'a').write('x')"
    place.user_handler("a_free", handler(count.format(place.root, "free")))
    place.user_handler("b_guard", handler(count.format(place.root, "early"), options="strict=True"))
    place.user_handler("c_change", handler("return change_input({'command': 'pwd'})"))
    place.user_handler("d_guard", handler(count.format(place.root, "late"), options="strict=True"))

    place.fire(bash(place))

    assert {name: (place.root / name).read_text() for name in ("free", "early", "late")} == {
        "free": "x",
        "early": "xx",
        "late": "x",
    }


def test_a_guard_sees_what_another_guard_made_of_the_final_input(place: Place) -> None:
    """A guard that corrects at the second judgement is itself judged by the guards before and after it."""
    mend = "if 'magic' in event.tool_input['command']:\n    return change_input({'command': 'rm -rf x'})"
    place.user_handler("b_mends", handler(mend, options="strict=True"))
    place.user_handler("c_change", handler("return change_input({'command': 'magic'})"))

    for name in ("a_guard", "d_guard"):
        guard = place.user_handler(name, handler(GUARD, options="strict=True"))
        specific = place.fire(bash(place)).specific
        assert specific.get("permissionDecision") == "deny", name
        assert specific["permissionDecisionReason"] == f"no rm: rm -rf x (user/{name}.py)"
        guard.unlink()
        (place.home / ".local/state/holdfast/strict").unlink()  # or it would refuse for what is gone


def test_a_guard_judges_again_also_after_a_child_died_in_between(place: Place) -> None:
    """What a later process changed is judged by a guard of an earlier one."""
    place.user_handler("a_guard", handler(GUARD, options="strict=True"))
    place.user_handler("b_dies", handler("os._exit(1)"))
    place.user_handler("c_change", handler("return change_input({'command': event.tool_input['command'] + '; r'})"))
    place.user_handler("d_dies", handler("os._exit(1)"))
    place.user_handler("e_change", handler("return change_input({'command': event.tool_input['command'] + 'm'})"))

    assert place.fire(bash(place)).specific["permissionDecisionReason"] == "no rm: ls; rm (user/a_guard.py)"


def test_a_guard_that_ends_the_turn_at_its_second_judgement_is_heard(place: Place) -> None:
    """`stop` decides as a refusal does."""
    place.user_handler("a", handler(GUARD.replace("deny(", "stop("), options="strict=True"))
    place.user_handler("b", handler("return change_input({'command': 'rm'})"))

    assert place.fire(bash(place)).reply["stopReason"] == "no rm: rm"


def test_guards_that_agree_only_after_each_has_judged_again_and_again_let_it_run(place: Place) -> None:
    """Two guards that correct each other in turns take a round for each correction, and one for the last word."""
    body = "step = {0}.get(event.tool_input['command'])\nreturn change_input({{'command': step}}) if step else None"
    place.user_handler("a", handler(body.format({"one": "two", "three": "four"}), options="strict=True"))
    place.user_handler("b", handler(body.format({"two": "three"}), options="strict=True"))
    place.user_handler("c", handler("return change_input({'command': 'one'})"))

    assert place.fire(bash(place)).specific == {"hookEventName": "PreToolUse", "updatedInput": {"command": "four"}}


def test_a_second_judgement_says_nothing_twice(place: Place) -> None:
    """The user's terminal rings once, and what the user and the model are told stands there once."""
    said = "return [terminal('\\a'), tell_user('look'), advise('careful')]"
    place.user_handler("a", handler(said, options="strict=True"))
    place.user_handler("b", handler("return change_input({'command': 'pwd'})"))

    ended = place.fire(bash(place))

    assert (ended.reply["terminalSequence"], ended.reply["systemMessage"], ended.advice) == ("\a", "look", "careful")


def test_guards_that_never_agree_on_an_input_refuse(place: Place) -> None:
    """Two guards that undo each other's correction leave an input that one of them has not seen: it does not run."""
    body = "return change_input({{'command': '{0}'}}) if event.tool_input['command'] != '{0}' else None"
    place.user_handler("a", handler(body.format("one"), options="strict=True"))
    place.user_handler("b", handler(body.format("two"), options="strict=True"))

    reason = refusal_of(place.fire(bash(place)))

    assert "user/" in reason
    assert "kept changing each other's" in reason


def test_an_approval_does_not_hold_for_what_a_later_handler_makes_of_the_input(place: Place) -> None:
    """Who approved one command approved no other; a handler that approves its own change has seen it."""
    place.user_handler("a", handler("return allow('harmless')"))
    place.user_handler("b", handler("return change_input({'command': 'rm -rf x'})"))
    assert place.fire(bash(place)).specific == {
        "hookEventName": "PreToolUse",
        "updatedInput": {"command": "rm -rf x"},
    }

    place.user_handler("b", handler("return [allow('mine'), change_input({'command': 'ls -l'})]"))
    specific = place.fire(bash(place)).specific
    assert (specific["permissionDecision"], specific["permissionDecisionReason"]) == ("allow", "mine")

    place.user_handler("b", handler("return change_input(event.tool_input)"))
    assert place.fire(bash(place)).specific["permissionDecisionReason"] == "harmless"


def test_a_question_is_asked_whatever_a_later_handler_makes_of_the_input(place: Place) -> None:
    """An approval that no longer holds is no loss; a question that is dropped lets the call run unasked."""
    place.user_handler("a", handler("return ask('sure?')"))
    place.user_handler("b", handler("return change_input({'command': 'rm -rf x'})"))

    assert place.fire(bash(place)).specific["permissionDecision"] == "ask"


def test_a_strict_approval_is_asked_for_again(place: Place) -> None:
    """A strict handler that approves what it is shown approves the final input, or does not."""
    place.user_handler(
        "a", handler("if 'rm' not in event.tool_input['command']: return allow()", options="strict=True")
    )
    place.user_handler("b", handler("return change_input({'command': 'ls -l'})"))
    assert place.fire(bash(place)).specific["permissionDecision"] == "allow"

    place.user_handler("b", handler("return change_input({'command': 'rm'})"))
    assert "permissionDecision" not in place.fire(bash(place)).specific


def test_changed_outputs_compose(place: Place) -> None:
    """The second handler builds on what the first one masked, so the secret does not come back."""
    mask = "return change_output({**event.tool_response, 'stdout': event.tool_response['stdout'].replace('%s', '***')})"
    place.user_handler("a", handler(mask % "hunter2", "post_tool_use"))
    place.user_handler("b", handler(mask % "swordfish", "post_tool_use"))
    response = {"stdout": "hunter2 swordfish", "stderr": ""}

    specific = place.fire(place.payload("PostToolUse-Bash", tool_response=response)).specific

    assert specific["updatedToolOutput"] == {"stdout": "*** ***", "stderr": ""}


def test_values_that_undo_each_other_unseen_are_named(place: Place) -> None:
    """Two handlers that set one variable differently: the last counts, and the log and the memory say so."""
    for name, value in {"a": "1", "b": "2", "c": "2"}.items():
        place.user_handler(name, handler(f"return environment({{'SECRET': '{value}', 'SAME': 'x'}})", "session_start"))

    place.fire(place.payload("SessionStart-startup"), environ=place.environ(CLAUDE_ENV_FILE=str(place.root / "env")))

    (b, c) = [line for line in place.log().splitlines() if "the last one counts" in line]
    assert "user/b.py: on_session_start answers environment() for SECRET, as user/a.py: on_session_start does" in b
    assert "user/c.py" in c
    assert "export SECRET=2" in (place.root / "env").read_text()


def test_a_worktree_that_nobody_made_is_explained(place: Place) -> None:
    """Each handler that named no folder is named on stderr, which the client shows with the command's failure."""
    place.user_handler("a", handler("return None", "worktree_create"))
    place.user_handler("b", handler("1 / 0", "worktree_create"))
    ended = place.fire(place.payload("WorktreeCreate"))

    assert (ended.exit_code, ended.stdout) == (0, "")
    first, second = ended.stderr.splitlines()
    assert first == "user/a.py: on_worktree_create named no folder; it has to return worktree(path)"
    assert second.startswith("user/b.py: on_worktree_create raised ZeroDivisionError")

    place.user_handler("c", handler("return worktree('/a/b')", "worktree_create"))
    ended = place.fire(place.payload("WorktreeCreate"))
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "/a/b", "")


# --- strict -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("pre_tool_use", "PreToolUse-Bash"),
        ("permission_request", "PermissionRequest-Bash"),
        ("user_prompt_submit", "UserPromptSubmit"),
        ("user_prompt_expansion", "UserPromptExpansion"),
    ],
)
def test_a_strict_handlers_failure_is_a_refusal(place: Place, event: str, payload: str) -> None:
    """On the four events where strict is possible, a guard that fails says no, and says why."""
    place.user_handler("guard", handler("1 / 0", event, "strict=True"))
    place.user_handler("other", handler("1 / 0", event))

    ended = place.fire(place.payload(payload))

    reason = refusal_of(ended)
    assert "user/guard.py: on_" in reason
    assert "ZeroDivisionError" in reason
    assert "holdfast.log" in reason
    assert "other" not in reason


def refusal_of(ended: Ended) -> str:
    """Return the reason of a refusal, in whichever form the event has it."""
    assert ended.exit_code == 0
    if "decision" in ended.reply:
        assert ended.reply["decision"] == "block"
        return str(ended.reply["reason"])
    specific = ended.specific
    if "decision" in specific:
        assert specific["decision"]["behavior"] == "deny"
        return str(specific["decision"]["message"])
    assert specific["permissionDecision"] == "deny"
    return str(specific["permissionDecisionReason"])


@pytest.mark.parametrize("body", ["os._exit(0)", "sum(range(10**11))", "sys.exit()", "return 'nonsense'"])
def test_a_strict_handler_refuses_however_it_fails(place: Place, body: str) -> None:
    """Dying, hanging and nonsense are failures like raising."""
    place.user_handler("guard", handler(body, options="strict=True, timeout=0.2"))

    assert "user/guard.py" in refusal_of(place.fire(bash(place)))


def test_a_strict_handler_is_remembered_when_its_file_breaks(place: Place) -> None:
    """After a syntax error the guard refuses what it guarded, and nothing else; mended, it judges again."""
    guard = place.user_handler("guard", handler(GUARD, options="match='Bash', strict=True"))
    assert place.fire(bash(place)).stdout == ""

    guard.write_text("def on_pre_tool_use(:\n")
    assert "line 1: cannot be read as Python" in refusal_of(place.fire(bash(place)))
    assert place.fire(place.payload("PreToolUse-Read")).stdout == ""

    guard.write_text(handler(GUARD, options="match='Bash', strict=True"))
    assert place.fire(bash(place)).stdout == ""


def test_a_bad_handler_that_is_not_strict_refuses_nothing(place: Place) -> None:
    """Without strict a failure is a line in the log, and one for the user."""
    place.user_handler("guard", handler("1 / 0"))

    ended = place.fire(bash(place))

    assert (ended.exit_code, list(ended.reply)) == (0, ["systemMessage"])
    assert "user/guard.py" in place.log()


# --- telling the user ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("1 / 0", "on_pre_tool_use raised ZeroDivisionError: division by zero"),
        ("time.sleep(60)", "on_pre_tool_use took longer than its 0.2 s"),
        ("os._exit(3)", "ended its process (exit code 3)"),
        ("return title('x')", "title() is not accepted on PreToolUse"),
        ("print('hello')", "on_pre_tool_use printed, which nobody reads"),
        ("raise ValueError('token=abcd1234efgh\\n\\x1b[2J')", "ValueError: token=[redacted]"),
    ],
)
def test_the_user_hears_of_a_fault_once_in_a_session(place: Place, body: str, words: str) -> None:
    """Which handler, what it did and where to look; in the next session again, and no secret, no control character."""
    place.user_handler("bad", handler(body, options="timeout=0.2"))
    said = str(place.fire(bash(place)).reply["systemMessage"])

    assert said.startswith("Holdfast: user/bad.py: on_pre_tool_use ")
    assert words in said
    assert said.endswith("\nMore: holdfast handlers check")
    assert "abcd1234efgh" not in said
    assert said.replace("\n", "").isprintable()
    for _ in range(2):
        assert place.fire(bash(place)).stdout == ""
    assert place.fire({**bash(place), "session_id": "another"}).reply["systemMessage"] == said


def test_a_handler_that_was_edited_and_fails_again_is_told_again(place: Place) -> None:
    """Another content is another handler, and two that fail are both named."""
    place.user_handler("bad", handler("1 / 0"))
    assert "bad.py" in place.fire(bash(place)).reply["systemMessage"]
    place.user_handler("bad", handler("[][0]"))
    place.user_handler("worse", handler("{}[0]"))
    said = place.fire(bash(place)).reply["systemMessage"]
    assert "IndexError" in said
    assert "worse.py" in said
    assert place.fire(bash(place)).stdout == ""


def test_a_fault_where_the_user_hears_nothing_is_told_with_the_next_event(place: Place) -> None:
    """What fails before a compaction shows afterwards, in the same session and in no other."""
    place.user_handler("early", handler("1 / 0", "pre_compact"))
    place.user_handler("quiet", handler("return None"))
    assert place.fire(place.payload("PreCompact-auto")).stdout == ""
    assert place.fire({**bash(place), "session_id": "another"}).stdout == ""
    assert "user/early.py: on_pre_compact raised" in place.fire(bash(place)).reply["systemMessage"]
    assert place.fire(bash(place)).stdout == ""


def test_a_file_that_breaks_in_a_session_is_told_with_the_next_event(place: Place) -> None:
    """One that does not parse is never called, and is named all the same."""
    place.user_handler("quiet", handler("return None"))
    assert place.fire(bash(place)).stdout == ""
    place.user_handler("broken", "def on_stop(:\n")
    assert "user/broken.py: line 1: cannot be read" in place.fire(bash(place)).reply["systemMessage"]
    assert place.fire(bash(place)).stdout == ""


def test_many_faults_make_no_long_message(place: Place) -> None:
    """Five are named and the others counted."""
    for number in range(8):
        place.user_handler(f"bad{number}", handler("raise ValueError('x' * 5_000)"))
    said = place.fire(bash(place)).reply["systemMessage"]
    assert "Holdfast: 3 more messages" in said
    assert len(said) < 6_000


def test_where_nothing_is_kept_the_user_hears_of_a_fault_again(place: Place) -> None:
    """A message too many is better than none."""
    place.write(place.home / ".local" / "state" / "holdfast", "in the way")
    place.user_handler("bad", handler("1 / 0"))
    for _ in range(2):
        assert "bad.py" in place.fire(bash(place)).reply["systemMessage"]


# --- trust --------------------------------------------------------------------------------------------------------


def test_an_untrusted_project_handler_never_runs(place: Place) -> None:
    """Neither its file nor a compiled one planted beside it runs, until the user trusts it; then the source does."""
    mark = f"open('{place.root}/%s', 'w').close()\n"
    path = place.project_handler("own", mark % "imported" + handler("return advise('trusted now')"))
    script = "import importlib.util, py_compile, sys; py_compile.compile(sys.argv[1], cfile=importlib.util."
    script += "cache_from_source(sys.argv[2]), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"
    planted = place.write("planted.py", mark % "planted")
    subprocess.run([sys.executable, "-c", script, str(planted), str(path)], check=True, timeout=500)

    assert place.fire(bash(place)).stdout == ""
    assert not (place.root / "imported").exists()

    grant(place, path)
    assert place.fire(bash(place)).advice == "trusted now"
    assert (place.root / "imported").exists()
    assert not (place.root / "planted").exists()


def grant(place: Place, path: Path) -> None:
    """Trust one file of the project, in the place's own home."""
    script = (
        "import sys; from pathlib import Path; from holdfast.files import trust; root, path = map(Path, sys.argv[1:]); "
    )
    script += "trust.grant(root, {trust.relative_name(root, path): trust.digest(path.read_bytes())})"
    command = [sys.executable, "-c", script, str(place.root), str(path)]
    subprocess.run(command, check=True, timeout=500, env=place.environ(PYTHONPATH=str(processes.SOURCE)))


def test_an_untrusted_projects_configuration_changes_no_handler(place: Place) -> None:
    """A repository's `holdfast.toml` neither switches a user's handler off nor shortens its time."""
    place.user_handler("guard", handler("time.sleep(0.3)\nreturn deny('no')", options="strict=True"))
    place.write(".claude/holdfast.toml", '[handlers]\noff = ["guard"]\ntimeout = 0.01\ndeadline = 0.01\n')

    assert refusal_of(place.fire(bash(place))) == "no (user/guard.py)"


# --- delivery -----------------------------------------------------------------------------------------------------


def test_on_delivered_runs_after_the_reply_was_written_and_only_for_what_stands_in_it(place: Place) -> None:
    """When the callback runs, the reply is out; advice that was cut for length is not reported as delivered."""
    out = place.root / "stdout"
    note = f"lambda: open('{place.root}/{{0}}', 'w').write(str(os.stat('{out}').st_size))"
    short = f"return advise('short', must_keep=True, on_delivered={note.format('short')})"
    long = f"return advise('line\\n' * 5_000, on_delivered={note.format('long')})"
    place.user_handler("a", handler(short))
    place.user_handler("b", handler(long))
    with out.open("wb") as stdout:
        subprocess.run(
            [*processes.INTERPRETER, str(processes.ENTRYPOINT)],
            input=json.dumps(bash(place)).encode(),
            stdout=stdout,
            env=place.environ(),
            timeout=60,
            check=True,
        )

    assert int((place.root / "short").read_text()) == out.stat().st_size > 9_000
    assert not (place.root / "long").exists()


def test_a_reply_is_written_whole_whatever_comes_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may take a part of it at a time, and the client may end us meanwhile: that waits for its end.

    Half an emoji in it costs nothing else.
    """

    class EndedError(Exception):
        """We were ended."""

    def end(signum: int, frame: object) -> None:
        raise EndedError

    def take_some(descriptor: int, data: bytes) -> int:
        if descriptor not in streams.private:  # whoever runs the tests writes, too
            return write(descriptor, data)
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # and has threads that would take it at once
        return write(descriptor, bytes(data[:7]))

    write, before = os.write, signal.signal(signal.SIGTERM, end)
    (client, ours), standard = os.pipe(), (os.dup(1), os.dup(2))
    os.dup2(ours, 1)
    streams = output.Streams()
    try:
        monkeypatch.setattr(os, "write", take_some)
        with pytest.raises(EndedError):
            streams.write(Reply(stdout="x" * 100 + "\ud83d!"))
    finally:
        monkeypatch.undo()
        for number, descriptor in enumerate(standard, start=1):
            os.dup2(descriptor, number)
        for descriptor in (*standard, ours, *streams.private):
            os.close(descriptor)
        signal.signal(signal.SIGTERM, before)
    assert os.read(client, 1_000) == b"x" * 100 + b"?!"
    os.close(client)


def test_a_reader_that_has_gone_is_nobodys_error(place: Place) -> None:
    """A client that closed its end of stdout gets exit 0."""
    place.user_handler("a", handler("return advise('x' * 5_000)"))
    read, write = os.pipe()
    os.close(read)
    command = [*processes.INTERPRETER, str(processes.ENTRYPOINT)]
    done = subprocess.run(
        command, input=json.dumps(bash(place)).encode(), stdout=write, env=place.environ(), timeout=500, check=False
    )
    os.close(write)

    assert done.returncode == 0


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_closed_stdout_or_stderr_is_no_crash(place: Place, closed: str) -> None:
    """Even started without stdout or stderr the entrypoint ends with 0."""
    place.user_handler("a", handler("return advise('x')"))
    command = f'exec "$@" {closed}>&-'
    shell = ["sh", "-c", command, "sh", *processes.INTERPRETER, str(processes.ENTRYPOINT)]

    assert processes.run(shell, json.dumps(bash(place)).encode(), place.environ(), place.root).exit_code == 0


# --- the environment file -----------------------------------------------------------------------------------------


def test_environment_lines_are_appended_once_and_mean_what_was_said(place: Place) -> None:
    """Whatever characters a value holds, a shell that reads the file has exactly them; a second run adds nothing."""
    value = 'it\'s "$HOME" `x` \\ ü\nsecond line'
    folder = "/opt/my bin;$x"
    say = f"return environment({{'MY_VALUE': {value!r}, 'PLAIN': '1'}}, path=[{folder!r}])"
    place.user_handler("a", handler(say, "session_start"))
    file = place.write("env.sh", "export BEFORE=kept\nexport RAW='\\377'")  # without a line end
    environ = place.environ(CLAUDE_ENV_FILE=str(file))

    first = place.fire(place.payload("SessionStart-startup"), environ=environ)
    text = file.read_bytes()
    place.fire(place.payload("SessionStart-compact"), environ=environ)

    assert first.stdout == ""
    assert file.read_bytes() == text
    shown = subprocess.run(
        ["sh", "-c", '. "$1"; printf "%s|%s|%s|%s" "$BEFORE" "$MY_VALUE" "$PLAIN" "$PATH"', "sh", str(file)],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert shown.stdout.decode() == f"kept|{value}|1|/usr/bin:/bin:{folder}"


def test_an_environment_line_that_begins_or_ends_another_one_is_written(place: Place) -> None:
    """Only a whole line counts as there already."""
    place.user_handler("a", handler("return environment({'A': '1'})", "session_start"))
    file = place.write("env.sh", "export A=12\nunset A; export A=1\n")

    place.fire(place.payload("SessionStart-startup"), environ=place.environ(CLAUDE_ENV_FILE=str(file)))

    assert file.read_text() == "export A=12\nunset A; export A=1\nexport A=1\n"


def test_an_environment_file_of_any_bytes_is_only_added_to(place: Place) -> None:
    """What stands in the file, UTF-8 or not, stays as it is."""
    place.user_handler("a", handler("return environment({'A': '1'})", "session_start"))
    file = place.write("env.sh", b"export B='\xff\xfe'\r\n")

    place.fire(place.payload("SessionStart-startup"), environ=place.environ(CLAUDE_ENV_FILE=str(file)))

    assert file.read_bytes() == b"export B='\xff\xfe'\r\nexport A=1\n"


def test_an_environment_file_that_cannot_be_written_costs_nothing_else(place: Place) -> None:
    """The rest of the reply is written, and the log says what failed; without the variable nothing happens."""
    place.user_handler("a", handler("return [environment({'A': '1'}), advise('said')]", "session_start"))
    folder = place.root / "folder"
    folder.mkdir()

    ended = place.fire(place.payload("SessionStart-startup"), environ=place.environ(CLAUDE_ENV_FILE=str(folder)))

    assert ended.advice == "said"
    assert "the environment file couldn't be written" in place.log()
    assert place.fire(place.payload("SessionStart-startup")).advice == "said"


# --- stdin --------------------------------------------------------------------------------------------------------

EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}


def nested(depth: int) -> bytes:
    """Return an event with something deep in it."""
    return json.dumps(EVENT).encode()[:-1] + b', "deep": ' + b"[" * depth + b"]" * depth + b"}"


STDIN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "PreToolUse not dispatched: stdin is empty"),
    "blank": (b"\n \n", "PreToolUse not dispatched: stdin is empty"),
    "garbled": (b"\x00\x01\x02garbage", "not dispatched: stdin is not JSON"),
    "nulls": (b"\x00" * 4096, "not dispatched: stdin is not JSON"),
    "truncated": (json.dumps(EVENT).encode()[:60], "not dispatched: stdin is not JSON (Unterminated string"),
    "not_utf8": (b'{"hook_event_name": "Pre\xff"}', "not dispatched: stdin is not UTF-8 at byte 24"),
    "array": (b'[{"hook_event_name": "PreToolUse"}]', "not dispatched: stdin is JSON but no object"),
    "text": (b'"PreToolUse"', "not dispatched: stdin is JSON but no object"),
    "two_objects": (json.dumps(EVENT).encode() * 2, "not dispatched: stdin is not JSON (Extra data"),
    "huge_integer": (b'{"a": ' + b"7" * 100_000 + b"}", "not dispatched: stdin is not JSON"),
    "nested": (nested(100_000), "not dispatched: stdin is nested too deeply"),
    "nested_less": (nested(700), "nested too deeply"),
    "100_mb": (b'{"a": "' + b"x" * 100_000_000 + b'"}', "not dispatched: stdin holds 100000009 bytes, more than"),
    "unknown_event": (
        json.dumps({**EVENT, "hook_event_name": "PreCoffee"}).encode(),
        "hook_event_name' is 'PreCoffee', but PreTool",
    ),
    "no_event": (b'{"session_id": "s"}', "'hook_event_name' is None, but PreToolUse is"),
    "event_is_a_list": (
        json.dumps({**EVENT, "hook_event_name": []}).encode(),
        "'hook_event_name' is [], but PreToolUse is",
    ),
    "no_session": (b'{"hook_event_name": "PreToolUse"}', "PreToolUse: the field 'session_id' is missing"),
    "no_tool": (b'{"hook_event_name": "PreToolUse", "session_id": "s"}', "PreToolUse: the field 'tool_"),
    "cursor": (json.dumps({**EVENT, "cursor_version": "2.1"}).encode(), "ignored: the payload has 'cursor_version'"),
    "copilot": (b'{"sessionId": "s", "toolName": "bash", "cwd": "/"}', "ignored: the payload has 'sessionId'"),
}


@pytest.mark.parametrize("name", STDIN)
def test_what_is_no_event_gets_exit_0_and_silence(place: Place, name: str) -> None:
    """Exit 0, empty stdout and stderr, and one line in the log that says what came, and to which project.

    A handler is there that would answer a true event.
    """
    place.user_handler("loud", handler("return advise('a true event')"))
    ended = place.fire(STDIN[name][0], "PreToolUse")

    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
    assert STDIN[name][1] in place.log()
    assert len(place.log().splitlines()) == 1
    assert len(place.log()) < 1_000
    assert f"project={place.root}" in place.log()


@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbf" + json.dumps(EVENT).encode(), json.dumps(EVENT, indent=4).encode(), nested(100)]
)
def test_what_is_a_little_strange_is_still_an_event(place: Place, data: bytes) -> None:
    """A BOM, pretty printing and some depth are dispatched."""
    place.user_handler("loud", handler("return advise('a true event')"))

    assert place.fire(data).advice == "a true event"


def test_codex_is_told_apart_by_its_environment(place: Place) -> None:
    """A turn_id without CLAUDECODE is Codex's, and no project directory is nobody's: silence for both."""
    place.user_handler("loud", handler("return advise('a true event')"))
    codex = bash(place, turn_id="t")

    assert place.fire(codex, environ=place.environ(CLAUDECODE=None)).stdout == ""
    assert place.fire(bash(place), environ=place.environ(CLAUDE_PROJECT_DIR=None)).stdout == ""
    assert place.fire(codex).advice == "a true event"


def test_the_payloads_name_wins_over_the_arguments(place: Place) -> None:
    """The command line's event is only a hint for the log: the payload says what happened."""
    place.user_handler("loud", handler("return advise('a true event')"))

    assert place.fire(bash(place), "Stop").advice == "a true event"
    assert place.fire(bash(place), "Nonsense", "--more").advice == "a true event"


def oversize(event: str, field: str, **fields: Any) -> bytes:
    """Return a valid payload just over the limit, its large field last, as the client writes it."""
    head = json.dumps({"session_id": "s", "hook_event_name": event, **fields}).encode()[:-1]
    return head + f', "{field}": "'.encode() + b"x" * intake.LIMIT_BYTES + b'"}'


def test_what_is_too_large_to_judge_is_refused_only_where_a_guard_would_judge_it(place: Place) -> None:
    """Over 64 MB, and nested too deeply, a matching strict handler refuses; for all others it passes."""
    place.user_handler("loud", handler("return advise('never')"))
    place.user_handler("guard", handler("return None", options="match='Bash', strict=True"))
    deep = nested(100_000)
    large = {name: oversize("PreToolUse", "tool_input", tool_name=name) for name in ("Bash", "Read")}

    assert "stdin holds" in refusal_of(place.fire(large["Bash"]))
    assert "user/guard.py: on_pre_tool_use" in refusal_of(place.fire(deep))
    assert place.fire(large["Read"]).stdout == ""
    assert place.fire(deep.replace(b"Bash", b"Read")).stdout == ""


def test_a_prompt_that_is_too_large_to_judge_is_blocked(place: Place) -> None:
    """UserPromptSubmit has no tool: any strict handler of it refuses; the argument names the event if need be."""
    place.user_handler("guard", handler("return None", "user_prompt_submit", "strict=True"))

    assert "stdin holds" in refusal_of(place.fire(oversize("UserPromptSubmit", "prompt")))
    assert "nested" in refusal_of(place.fire(b'{"prompt": ' + b"[" * 100_000, "UserPromptSubmit"))


def test_a_call_whose_input_is_no_object_is_refused_only_where_a_guard_would_judge_it(place: Place) -> None:
    """A payload that lacks what its event cannot be without cannot be shown to a guard either."""
    place.user_handler("guard", handler("return None", options="match='Bash', strict=True"))

    odd = {name: bash(place) | {"tool_input": "ls", "tool_name": name} for name in ("Bash", "Read")}

    assert "tool_input" in refusal_of(place.fire(odd["Bash"]))
    assert place.fire(odd["Read"]).stdout == ""
    assert "tool_input" in place.log()


@pytest.mark.parametrize("how", ["broken", "unreadable"])
def test_a_projects_guard_that_cannot_judge_names_the_command_that_lifts_it_anywhere(tmp_path: Path, how: str) -> None:
    """The terminal may be in another folder, so the command names the project, quoted for a shell."""
    place = processes.make(tmp_path / "it's here")
    guard = place.project_handler("team", handler("1 / 0", options="match='Bash', strict=True"))
    grant(place, guard)
    assert "ZeroDivisionError" in refusal_of(place.fire(bash(place))), "from now on it is known"

    said = refusal_of(place.fire(bash(place) if how == "broken" else b'{"tool_name": "Bash", "x": \xff', "PreToolUse"))

    lift = said.partition("To do without it: holdfast ")[2].partition(". Log: ")[0]
    assert lift == f"handlers untrust --project {shlex.quote(str(place.root))} team.py"
    script = f"{shlex.quote(sys.executable)} -m holdfast {lift}"
    terminal = place.environ(PYTHONPATH=str(processes.SOURCE), CLAUDECODE=None, CLAUDE_PROJECT_DIR=None)
    assert processes.run(["/bin/sh", "-c", script], b"", terminal, place.home).exit_code == 0
    assert place.fire(bash(place)).stdout == ""


def test_null_and_unknown_keys_are_dispatched(place: Place) -> None:
    """null counts as absent, and what no model knows is passed on."""
    place.user_handler("loud", handler("return advise(f'{event.permission_mode} {event.brand_new}')"))
    payload = bash(place, permission_mode=None, agent_id=None, effort=None, brand_new=[1])

    assert place.fire(payload).advice == "None [1]"


# --- in process ---------------------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's root, with no shipped handlers."""
    monkeypatch.setattr(paths, "shipped", lambda kind: tmp_path / "shipped")
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    return tmp_path / "project"


def user_handler(name: str, text: str) -> None:
    """Write a handler into the user's folder of this test's home."""
    folder = paths.ensure_private(paths.user_handlers())
    (folder / f"{name}.py").write_text(text)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_whoever_waits_hears_beforehand_how_long_the_handlers_may_take(root: Path) -> None:
    """Before the answer, once, and with every handler's own timeout in it."""
    user_handler("a", handler("return tell_user('done')", "stop", "timeout=120"))
    passed: list[Any] = []
    streams: Any = SimpleNamespace(
        private=(), expect=passed.append, write=lambda reply: passed.append(reply.stdout), let_go=lambda code: True
    )
    payload = {"hook_event_name": "Stop", "session_id": "s"}
    before, started = signal.getsignal(signal.SIGALRM), time.monotonic()
    try:
        assert engine.answer(payload, {"CLAUDE_PROJECT_DIR": str(root)}, started, streams) == 0
    finally:
        signal.signal(signal.SIGALRM, before)
    until, reply = passed

    assert until > started + 120
    assert "done" in reply


def test_an_event_nobody_wants_is_not_even_parsed(root: Path) -> None:
    """Without a handler a payload that could not be parsed raises nothing."""
    project = engine.open_project({"CLAUDE_PROJECT_DIR": str(root)})
    assert engine.prepare({"hook_event_name": "PreToolUse"}, project) == ([], None)

    user_handler("a", handler("...", "stop"))
    assert engine.prepare({"hook_event_name": "PreToolUse"}, project) == ([], None)
    user_handler("b", handler("..."))
    with pytest.raises(EventError, match="PreToolUse"):
        engine.prepare({"hook_event_name": "PreToolUse"}, project)


def test_a_plan_is_made_of_what_matches(root: Path) -> None:
    """Only handlers of the event whose matcher selects it are planned."""
    user_handler("a", handler("...", options="match='Read'"))
    user_handler("b", handler("...", options="match='Bash'"))

    plan, event = engine.prepare(EVENT, engine.open_project({"CLAUDE_PROJECT_DIR": str(root)}))

    assert [call.file.name for call in plan] == ["b"]
    assert event == parse(EVENT)


def test_the_projects_configuration_counts_once_trusted(root: Path) -> None:
    """An untrusted project's configuration sets nothing but harmless keys."""
    (root / ".claude" / "holdfast.toml").write_text("freshness_days = 1.0\n[handlers]\ntimeout = 1.5\n")
    opened = engine.open_project({"CLAUDE_PROJECT_DIR": str(root)})
    assert (opened.config.handlers.timeout, opened.config.freshness_days) == (5.0, 1.0)

    file = paths.project_config(root)
    trust.grant(root, {trust.relative_name(root, file): trust.digest(file.read_bytes())})
    assert engine.open_project({"CLAUDE_PROJECT_DIR": str(root)}).config.handlers.timeout == 1.5


def test_a_folder_alone_is_appended_to_the_path(tmp_path: Path) -> None:
    """Without any variable beside it."""
    output.write_environment(Reply(path=("/opt/my bin",)), str(tmp_path / "env"))

    assert (tmp_path / "env").read_text() == "export PATH=\"$PATH\":'/opt/my bin'\n"
