"""From an event on stdin to a reply on stdout, with real processes where these matter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import engine, paths
from holdfast.dispatch import intake, output
from holdfast.dispatch.output import Reply
from holdfast.events import parse
from holdfast.plugins.discovery import HandlerFile
from holdfast.plugins.loader import Call
from holdfast.plugins.scan import Route
from tests import processes
from tests.torture.scratch import reason

if TYPE_CHECKING:
    from tests.processes import Place

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


# --- time ---------------------------------------------------------------------------------------------------------


def test_a_plugins_handlers_get_no_more_than_the_client_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin's hooks are the same for everybody, so no timeout stands beside them."""
    event = parse({"hook_event_name": "SessionEnd", "session_id": "s"})
    file = HandlerFile("user", "a", paths.user_handlers() / "a.py", b"", "", True, False)
    plan = [Call(file, Route("SessionEnd", "on_session_end", timeout=10.0))]
    limits = engine.open_project({"CLAUDE_PROJECT_DIR": "/nowhere"}).config.handlers

    assert engine.deadline(event, limits, 100.0, plan) == pytest.approx(111.2)
    monkeypatch.setattr(engine, "is_plugin", lambda environ: True)
    assert engine.deadline(event, limits, 100.0, plan) == pytest.approx(101.2)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="elsewhere it is not told")
def test_the_age_is_the_time_since_the_process_was_started() -> None:
    """Whatever it does meanwhile; the system tells it to the hundredth."""
    script = (
        "import time; first = time.monotonic(); from holdfast import process; age = process.age(); "
        "print(time.monotonic() - age, first)"
    )
    before = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=500, check=True)
    started, first = map(float, done.stdout.split())

    assert before - 0.02 <= started <= first


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


# --- delivery -----------------------------------------------------------------------------------------------------


def test_a_reply_is_written_whole_whatever_comes_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may take a part of it at a time, and the client may end us meanwhile: that changes nothing any more.

    Half an emoji in it costs nothing else.
    """

    def end(signum: int, frame: object) -> None:
        raise AssertionError("ended amid the reply")

    def take_some(descriptor: int, data: bytes) -> int:
        if descriptor not in streams.private:  # whoever runs the tests writes, too
            return write(descriptor, data)
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # and has threads that would take it at once
        return write(descriptor, bytes(data[:7]))

    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    write, before = os.write, {number: signal.signal(number, end) for number in signals}
    (client, ours), standard = os.pipe(), (os.dup(1), os.dup(2))
    os.dup2(ours, 1)
    streams = output.Streams()
    try:
        with monkeypatch.context() as system:
            system.setattr(os, "write", take_some)
            streams.write(Reply(stdout="x" * 100 + "\ud83d!"))
            streams.close()
    finally:
        for number, descriptor in enumerate(standard, start=1):
            os.dup2(descriptor, number)
        for descriptor in (*standard, ours, *streams.private):
            os.close(descriptor)
        for number, handler in before.items():
            signal.signal(number, handler)
    assert os.read(client, 1_000) == b"x" * 100 + b"?!"
    os.close(client)


# --- stdin --------------------------------------------------------------------------------------------------------

EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}


def nested(depth: int) -> bytes:
    """Return an event with something deep in it."""
    return json.dumps(EVENT).encode()[:-1] + b', "deep": ' + b"[" * depth + b"]" * depth + b"}"


STDIN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "PreToolUse not dispatched: stdin is empty"),
    "garbled": (b"\x00\x01\x02garbage", "not dispatched: stdin is not JSON"),
    "truncated": (json.dumps(EVENT).encode()[:60], "not dispatched: stdin is not JSON (Unterminated string"),
    "nested": (nested(100_000), "not dispatched: stdin is nested too deeply"),
    "nested_less": (nested(700), "nested too deeply"),
    "100_mb": (b'{"a": "' + b"x" * 100_000_000 + b'"}', "not dispatched: stdin holds 100000009 bytes, more than"),
    "unknown_event": (
        json.dumps({**EVENT, "hook_event_name": "PreCoffee"}).encode(),
        "hook_event_name' is 'PreCoffee', but PreTool",
    ),
    "event_is_a_list": (
        json.dumps({**EVENT, "hook_event_name": []}).encode(),
        "'hook_event_name' is [], but PreToolUse is",
    ),
    "no_session": (b'{"hook_event_name": "PreToolUse"}', "PreToolUse: the field 'session_id' is missing"),
    "no_tool": (b'{"hook_event_name": "PreToolUse", "session_id": "s"}', "PreToolUse: the field 'tool_"),
    "cursor": (json.dumps({**EVENT, "cursor_version": "2.1"}).encode(), "ignored: the payload has 'cursor_version'"),
    "copilot": (b'{"sessionId": "s", "toolName": "bash", "cwd": "/"}', "ignored: the payload has 'sessionId'"),
}


@pytest.mark.slow
def test_what_is_no_event_gets_exit_0_and_silence(tmp_path: Path) -> None:
    """Exit 0, empty stdout and stderr, and one line in the log that says what came, and to which project.

    A handler is there that would answer a true event.
    """
    wrong = []
    for name, (data, words) in STDIN.items():
        place = processes.make(tmp_path / name)
        place.user_handler("loud", handler("return advise('a true event')"))
        ended = place.fire(data, "PreToolUse")
        log = place.log()
        silent = (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")
        if not silent or words not in log or log.count("\n") != 1 or f"project={place.root}" not in log:
            wrong.append(f"{name}: {ended}, {log}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbf" + json.dumps(EVENT).encode(), json.dumps(EVENT, indent=4).encode(), nested(100)]
)
def test_what_is_a_little_strange_is_still_an_event(place: Place, data: bytes) -> None:
    """A BOM, pretty printing and some depth are dispatched."""
    place.user_handler("loud", handler("return advise('a true event')"))

    assert place.fire(data).advice == "a true event"


def test_the_payloads_name_wins_over_the_arguments(place: Place) -> None:
    """The command line's event is only a hint for the log: the payload says what happened."""
    place.user_handler("loud", handler("return advise('a true event')"))

    assert place.fire(bash(place), "Stop").advice == "a true event"
    assert place.fire(bash(place), "Nonsense", "--more").advice == "a true event"


def oversize(event: str, field: str, **fields: Any) -> bytes:
    """Return a valid payload just over the limit, its large field last, as the client writes it."""
    head = json.dumps({"session_id": "s", "hook_event_name": event, **fields}).encode()[:-1]
    return head + f', "{field}": "'.encode() + b"x" * intake.LIMIT_BYTES + b'"}'


def test_what_cannot_be_read_is_refused_where_a_guard_may_want_it(place: Place) -> None:
    """Over 64 MB, and nested too deeply, a strict handler of the event refuses; without one it passes."""
    place.user_handler("loud", handler("return advise('never')"))
    large = oversize("PreToolUse", "tool_input", tool_name="Bash")

    assert place.fire(large, "PreToolUse").stdout == ""
    place.user_handler("guard", handler("return None", options="match='Bash', strict=True"))
    assert "stdin holds" in reason(place.fire(large, "PreToolUse"))
    assert "guard.py" in reason(place.fire(nested(100_000), "PreToolUse"))
    assert place.fire(large, "PostToolUse").stdout == ""


def test_a_prompt_that_is_too_large_to_judge_is_blocked(place: Place) -> None:
    """UserPromptSubmit has no tool: any strict handler of it refuses."""
    place.user_handler("guard", handler("return None", "user_prompt_submit", "strict=True"))

    assert "stdin holds" in reason(place.fire(oversize("UserPromptSubmit", "prompt"), "UserPromptSubmit"))
    assert "nested" in reason(place.fire(b'{"prompt": ' + b"[" * 100_000, "UserPromptSubmit"))
