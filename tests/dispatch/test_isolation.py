"""Handlers run in child processes: whatever one of them does, the others' answers arrive."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients import claude
from holdfast.config import Config
from holdfast.dispatch import isolation
from holdfast.dispatch.isolation import Isolated
from holdfast.events import parse
from holdfast.plugins import outcomes
from holdfast.plugins.context import Context
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.scan import Route
from holdfast.process import child
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


def noted(folder: Path) -> list[str]:
    """Return the names of the advice whose delivery was noted."""
    return sorted(path.name for path in folder.iterdir())


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


def test_beside_a_handler_of_yours_each_look_at_a_file_is_a_look() -> None:
    """It may edit a state file that the next handler reads; shipped ones among themselves look once (`one_moment`)."""
    looks = "from holdfast.files import file_memo\nreturn advise(str(file_memo.is_now(time.monotonic())))"
    ours = [shipped(handler(name, looks)) for name in "ab"]

    def said(*plan: Call) -> list[str]:
        return [one.text for given in run(*plan) for one in given.outcomes]

    assert said(ours[0], handler("mine", looks), ours[1]) == ["False"] * 3
    assert said(*ours) == ["True", "True"]
    os.waitpid(-1, 0)  # the process of shipped handlers goes on by itself
