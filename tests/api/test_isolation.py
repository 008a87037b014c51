"""Whatever one handler does, the others' answers arrive, and nothing of it is left: handlers run in child processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests import processes, waiting
from tests.api.author import handler
from tests.commandline import holdfast
from tests.warmth import gone

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.author import Authors
    from tests.processes import Place
    from tests.warmth import Warm

SHORT = "timeout=0.2"
# name: body, options, and what the log says that it did
BAD: dict[str, tuple[str, str, str]] = {
    "raises": ("raise ValueError('oh no')", "", "raised ValueError: oh no (line 7)"),
    "exits": ("sys.exit(3)", "", "raised SystemExit: 3"),
    "interrupts": ("raise KeyboardInterrupt", "", "raised KeyboardInterrupt"),
    "ends_its_process": ("os._exit(4)", "", "ended its process (exit code 4)"),
    "ends_it_well": ("os._exit(0)", "", "ended its process (exit code 0)"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "", "ended its process (signal 9)"),
    "terminated": ("os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(600)", "", "ended its process (signal 15)"),
    "crashes": ("import ctypes, faulthandler as f; f.disable(); ctypes.string_at(0)", "", "(signal 11)"),
    "aborts": ("import faulthandler; faulthandler.disable(); os.abort()", "", "ended its process (signal 6)"),
    "recurses": ("def deep(): deep()\ndeep()", "", "raised RecursionError"),
    "sleeps": ("time.sleep(600)", SHORT, "took longer than it"),
    "waits": ("import threading; threading.Event().wait(600)", SHORT, "took longer than it"),
    "catches": ("try:\n    while True: pass\nexcept Exception: pass", SHORT, "took longer than it"),
    "shell_sleeps": ("os.system('sleep 600')", SHORT, "took longer than it"),
    "busy_in_c": ("sum(range(10**11))", SHORT, "took longer than it"),
    "floods": ("os.system('yes')", SHORT, "took longer than it"),
    "swallows": ("while True:\n    try: time.sleep(60)\n    except BaseException: pass", SHORT, "took longer than it"),
    "blocks_signals": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\ntime.sleep(600)",
        SHORT,
        "took longer than it",
    ),
    "closes_all": ("os.closerange(3, 256)\ntime.sleep(600)", "", "closed descriptors that are not its own"),
    "writes_into_all": (
        "for number in range(3, 64):\n    try: os.write(number, b'x\\n')\n    except OSError: pass\ntime.sleep(600)",
        "",
        "its process was ended",
    ),
    "nonsense": ("return {'decision': 'block'}", "", "returned dict"),
    "generates": ("yield advise('x')", "", "returned generator"),
    "not_accepted": ("return [advise('x'), instruct_summary('no')]", "", "instruct_summary() is not accepted on Pre"),
    "misspells": ("return event.nothing_like_that", "", "raised AttributeError"),
    "changes_the_event": ("event.tool_name = 'Read'", "", "raised ValidationError"),
}
# The same while the file is loaded
LOADING = {
    "imports_nothing": ("import nothing_like_that", "does not load: raised ModuleNotFoundError"),
    "exits_loading": ("raise SystemExit", "does not load: raised SystemExit (line 1)"),
    "ends_loading": ("import os; os._exit(5)", "ended its process (exit code 5)"),
    "sleeps_loading": ("import time; time.sleep(600)", "does not load: took longer than its 0.2 s"),
}
LOUD = {
    "prints": ("print('LOUD print'); print('LOUD stderr', file=sys.stderr)", ["LOUD print", "LOUD stderr"]),
    "subprocess": ("subprocess.run(['echo', 'LOUD subprocess'])", ["LOUD subprocess"]),
    "shell": ("os.system('echo LOUD shell; echo LOUD shouts >&2')", ["LOUD shell", "LOUD shouts"]),
    "raw": ("os.write(1, b'{\"LOUD\": 1}')", ['{"LOUD": 1}']),
    "no_newline": ("sys.stdout.write('LOUD tail')", ["LOUD tail"]),
    "last_words": ("os.write(1, b'LOUD death'); os._exit(1)", ["LOUD death"]),
    "much": ("print('LOUD many ' * 100_000)", ["LOUD many"]),
}
QUIET = {
    "reads_stdin": "assert sys.stdin.read() == ''",
    "breaks_json": "import json\njson.dumps = lambda *a, **k: '{}'\njson.loads = None",
    "background": "subprocess.Popen(['sleep', '600'])",
    "forks": "os.fork()\nreturn None",
    "is_blank": "print(' ')",
}


@pytest.mark.slow
def test_bad_handlers_cost_only_themselves(place: Place) -> None:
    """Beside all of them the good ones' answers arrive in order, as one JSON object; the log names each bad one."""
    place.configure("timeout = 60.0\ndeadline = 400.0\n")
    place.user_handler("a_good", handler("return [change_input({'command': 'changed'}), advise('first good one')]"))
    place.user_handler("z_good", handler("return [advise(f'last saw {event.tool_input}'), tell_user('a word')]"))
    for name, (body, options, _) in BAD.items():
        place.user_handler(f"b_{name}", handler(body, options=options))
    for name, (first, _) in LOADING.items():
        place.user_handler(f"b_{name}", f"{first}\n{handler('...', options=SHORT)}")
    for name, body in {**{name: body for name, (body, _) in LOUD.items()}, **QUIET}.items():
        place.user_handler(f"c_{name}", handler(body))
    ended = place.fire(place.payload("PreToolUse-Bash"))
    log = place.log().splitlines()

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.reply.pop("systemMessage").startswith("a word\n\nHoldfast: ")
    assert ended.reply["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "updatedInput": {"command": "changed"},
        "additionalContext": "first good one\n\nlast saw {'command': 'changed'}",
    }
    wrong = []
    for name, words in {name: row[-1] for name, row in (BAD | LOADING).items()}.items():
        lines = [line for line in log if f" error PreToolUse: user/b_{name}.py: on_pre_tool_use " in line]
        if (
            len(lines) != 1
            or words not in lines[0]
            or f"session={processes.SESSION}" not in lines[0]
            or f"project={place.root}" not in lines[0]
        ):
            wrong.append(f"{name}: {lines}")
    for name, (_, texts) in LOUD.items():
        lines = [
            line
            for line in log
            if f"user/c_{name}.py" in line and " printed text, which nobody sees; use context.log(): " in line
        ]
        wrong += [f"{name}: {lines}" for text in texts if text not in "".join(lines) or len("".join(lines)) > 10_000]
    wrong += [line for line in log if any(f"user/c_{name}.py" in line for name in QUIET)]
    assert not wrong, "\n".join(wrong)


def test_a_secret_stays_masked_when_the_handlers_process_dies(place: Place) -> None:
    """What one handler made of an output is what the next one sees, in whichever process."""
    place.user_handler(
        "a", handler("return change_output(event.tool_response.replace('hunter2', '***'))", "post_tool_use")
    )
    place.user_handler("b", handler("os._exit(1)", "post_tool_use"))
    place.user_handler("c", handler("return change_output(event.tool_response + ' (checked)')", "post_tool_use"))
    specific = place.fire(place.payload("PostToolUse-Bash", tool_response="key hunter2")).specific
    assert specific["updatedToolOutput"] == "key *** (checked)"


def test_a_handler_that_forks_answers_once(place: Place) -> None:
    """Though both processes return."""
    place.user_handler("a", handler("os.fork()\nreturn advise('forked')"))
    place.user_handler("b", handler("return advise('after')"))
    assert place.fire(place.payload("PreToolUse-Bash")).advice == "forked\n\nafter"


def test_what_a_handler_leaves_running_ends_with_its_event(place: Place) -> None:
    """However its process ends. What has a session of its own goes on: that is how to ask for it."""
    start = "child = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL{0})\n"
    start += f"note('{place.root}/{{1}}', str(child.pid))\n"
    rows = {
        "returns": ("", "return None"),
        "dies": ("", "os._exit(1)"),
        "hangs": ("", "os.system('sleep 600')"),
        "detached": (", start_new_session=True", "return None"),
    }
    for name, (options, last) in rows.items():
        place.user_handler(name, handler(start.format(options, name) + last, options="timeout=1" * (name == "hangs")))
    assert place.fire(place.payload("PreToolUse-Bash")).exit_code == 0
    pids = {name: int((place.root / name).read_text()) for name in rows}
    for name in ("returns", "dies", "hangs"):
        waiting.until(lambda name=name: gone(pids[name]), f"{name}: it goes on", patience_s=60)  # type: ignore[misc]
    assert not gone(pids["detached"])
    os.kill(pids["detached"], signal.SIGKILL)


def test_the_whole_event_has_a_deadline(tmp_path: Path) -> None:
    """Then the reply merged so far is written. Who didn't run is named, but not blamed."""
    for seconds in (1, 10, 30, 90):  # the least that is enough for the first handler here and now
        place = processes.make(tmp_path / str(seconds))
        place.configure(f"timeout = {seconds}.0\ndeadline = {seconds}.0\n")
        place.user_handler("a", handler("return advise('in time')"))
        for name in ("b", "c"):  # of what is left, one alone may not take all
            place.user_handler(name, handler("os.system('sleep 600')"))
        place.user_handler("d", handler("time.sleep(600)\nreturn advise('too late')"))
        ended = place.fire(place.payload("PreToolUse-Bash"))
        if ended.advice:
            break
    assert (ended.exit_code, ended.advice) == (0, "in time")
    assert "user/b.py: on_pre_tool_use took longer than it may" in place.log()
    ran = "user/d.py: on_pre_tool_use did not run: no time was left" not in place.log()
    assert ran == ("user/d.py" in ended.reply["systemMessage"])


@pytest.mark.slow
def test_a_handlers_own_timeout_extends_the_deadline(place: Place) -> None:
    """One that asked for more time than all handlers have together is heard."""
    place.configure("deadline = 0.5\n")
    place.user_handler("a", handler("time.sleep(2)\nreturn block('the tests fail')", "stop", "timeout=120"))
    place.user_handler("b", handler("return tell_user('and this')", "stop"))
    reply = place.fire(place.payload("Stop")).reply
    assert (reply["reason"], reply["systemMessage"]) == ("the tests fail (user/a.py)", "and this")


@pytest.mark.slow
def test_the_server_gives_a_handler_the_time_that_it_asked_for(fresh: Warm) -> None:
    """That may be longer than the relay waits for an event whose handlers it doesn't know yet: 22 s."""
    fresh.user_handler("a", handler("time.sleep(25)\nreturn block(' '.join(sys.argv[1:]))", "stop", "timeout=120"))
    fresh.warm_up()
    assert fresh.fire(fresh.payload("Stop"), "Stop").reply["reason"] == "--serve (user/a.py)"


def test_the_client_is_asked_to_wait_for_all_handlers(author: Authors) -> None:
    """A handler's own long timeout comes on top of the time that all handlers have; the client's default is 30 s."""
    rows = {10: None, 22: 3_600}
    for seconds, limit in rows.items():
        made = author({"a": handler("...", "user_prompt_submit", f"timeout={seconds}")})
        holdfast("install", root=made.root)
        (group,) = json.loads((made.home / ".claude/settings.json").read_text())["hooks"]["UserPromptSubmit"]
        assert group["hooks"][0].get("timeout") == limit, seconds


@pytest.mark.parametrize("body", ["time.sleep(600)", "sum(range(10**11))"])
def test_session_end_is_over_before_the_client_gives_up(place: Place, body: str) -> None:
    """A handler that asks for no time of its own gets none beyond the event's."""
    place.user_handler("b", handler(body, "session_end"))
    ended = place.fire(place.payload("SessionEnd-other"))
    assert (ended.exit_code, ended.stdout) == (0, "")
    (line,) = [line for line in place.log().splitlines() if "user/b.py: on_session_end" in line]
    assert "took longer than it" in line or "no time was left" in line


def test_a_client_that_ends_the_event_leaves_no_handler_running(place: Place) -> None:
    """On SIGTERM the handlers' process is ended too, and nothing is said."""
    mark = place.root / "pid"
    place.user_handler("a", handler(f"note('{mark}', f'{{os.getpid()}} ')\ntime.sleep(600)"))
    command = [*processes.INTERPRETER, str(processes.ENTRYPOINT)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.environ(), cwd=place.root
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(processes.encoded(place.payload("PreToolUse-Bash")))
        process.stdin.close()
        pid = int(waiting.until(lambda: mark.exists() and mark.read_text().endswith(" ") and mark.read_text()))
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == b""
        assert process.wait(processes.PATIENCE) == 0
    waiting.until(lambda: gone(pid))
    assert "was stopped before it was answered" in place.log()


# --- delivery -------------------------------------------------------------------------------------------------------


def test_on_delivered_runs_after_the_reply_was_written_and_only_for_what_stands_in_it(place: Place) -> None:
    """One that raises or hangs, and handlers that die afterwards, cost the others nothing."""
    out = place.root / "stdout"

    def note(name: str) -> str:
        return f"on_delivered=lambda: note('{place.root}/{name}', str(os.stat('{out}').st_size))"

    both = f"return [advise('b', on_delivered=lambda: 1 / 0), advise('c', {note('c')})]"
    place.user_handler("a", handler(f"return advise('short', must_keep=True, {note('short')})"))
    place.user_handler("b", handler(both))
    place.user_handler("c", handler("return advise('d', on_delivered=lambda: time.sleep(600))"))
    place.user_handler("d", handler(f"return advise('line\\n' * 5_000, {note('long')})"))
    place.user_handler("e", handler("os._exit(1)"))
    for seconds in (5, 30, 90):  # the least that is enough here and now; the callback that hangs takes all
        place.configure(f"timeout = {seconds}.0\ndeadline = {seconds}.0\n")
        for name in ("short", "c"):
            (place.root / name).unlink(missing_ok=True)
        with out.open("wb") as stdout:
            command = [*processes.INTERPRETER, str(processes.ENTRYPOINT)]
            data = processes.encoded(place.payload("PreToolUse-Bash"))
            subprocess.run(command, input=data, stdout=stdout, env=place.environ(), timeout=500, check=True)
        if out.stat().st_size > 9_000:
            break
    assert int((place.root / "short").read_text()) == out.stat().st_size > 9_000
    assert int((place.root / "c").read_text()) == out.stat().st_size
    assert not (place.root / "long").exists()
    assert "ZeroDivisionError" in place.log()


def test_advice_keeps_its_priority_on_the_way_from_its_process(place: Place) -> None:
    """Under the client's limit the more important one stands whole."""
    for name, priority in {"a": 0, "b": 1}.items():
        place.user_handler(name, handler(f"return advise('{name}\\n' * 4_000, priority={priority})"))
    assert place.fire(place.payload("PreToolUse-Bash")).advice.splitlines().count("b") == 4_000


def test_advice_of_a_guard_that_judges_twice_is_delivered_once(place: Place) -> None:
    """Its second judgement runs in another process, because the first one waits for the delivery."""
    say = f"return advise('careful', on_delivered=lambda: note('{place.root}/delivered', 'x'))"
    place.user_handler("a", handler(say, options="strict=True"))
    place.user_handler("b", handler("return change_input({'command': 'pwd'})"))
    assert place.fire(place.payload("PreToolUse-Bash")).advice == "careful"
    assert (place.root / "delivered").read_text() == "x"


# --- the client's streams and the environment file ------------------------------------------------------------------


def test_a_reader_that_has_gone_or_closed_streams_are_no_error(place: Place) -> None:
    """Exit 0, without a crash."""
    place.user_handler("a", handler("return advise('x' * 5_000)"))
    command = [*processes.INTERPRETER, str(processes.ENTRYPOINT)]
    data = processes.encoded(place.payload("PreToolUse-Bash"))
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, input=data, stdout=write, env=place.environ(), timeout=500, check=False)
    os.close(write)
    assert done.returncode == 0
    for closed in ("1", "2"):
        shell = ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *command]
        assert processes.run(shell, data, place.environ(), place.root).exit_code == 0


def test_variables_are_written_for_the_models_shell_once(place: Place) -> None:
    """Whatever characters a value holds, and whatever the file holds already, which stays as it is."""
    value, folder = 'it\'s "$HOME" `x` \\ ü\nsecond line', "/opt/my bin;$x"
    say = f"return environment({{'MY_VALUE': {value!r}, 'A': '1'}}, path=[{folder!r}])"
    place.user_handler("a", handler(say, "session_start"))
    before = b"export BEFORE=kept\nexport B='\xff\xfe'\r\nexport A=12\nunset A; export A=1"  # without a line end
    file = place.write("env.sh", before)
    environ = place.environ(CLAUDE_ENV_FILE=str(file))
    assert place.fire(place.payload("SessionStart-startup"), environ=environ).stdout == ""
    text = file.read_bytes()
    place.fire(place.payload("SessionStart-compact"), environ=environ)
    assert file.read_bytes() == text
    assert text.startswith(before + b"\n") and b"\nexport A=1\n" in text
    script = '. "$1"; printf "%s|%s|%s|%s" "$BEFORE" "$MY_VALUE" "$A" "$PATH"'
    shown = subprocess.run(
        ["sh", "-c", script, "sh", str(file)],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert shown.stdout.decode() == f"kept|{value}|1|/usr/bin:/bin:{folder}"


def test_an_environment_file_that_cannot_be_written_costs_nothing_else(place: Place) -> None:
    """The log says what failed; without the client's variable nothing happens."""
    place.user_handler("a", handler("return [environment({'A': '1'}), advise('said')]", "session_start"))
    folder = place.root / "folder"
    folder.mkdir()
    start = place.payload("SessionStart-startup")
    assert place.fire(start, environ=place.environ(CLAUDE_ENV_FILE=str(folder))).advice == "said"
    assert "the environment file couldn't be written" in place.log()
    assert place.fire(start).advice == "said"
