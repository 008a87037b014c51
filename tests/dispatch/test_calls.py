"""Handlers are called one after another in this process, and a bad one doesn't affect the others."""

from __future__ import annotations

import math
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.dispatch import calls
from holdfast.dispatch.calls import HandlerTimeout, interrupted_after
from holdfast.events import parse
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.scan import Route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.events import Event

HEAD = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event, context):\n"


@pytest.fixture(autouse=True)
def no_alarm_is_left() -> Iterator[None]:
    """Whatever a test does, no timer and no handler of ours stays armed behind it."""
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getitimer(signal.ITIMER_REAL)[1] != calls.REPEAT_S
    assert signal.getsignal(signal.SIGALRM) is before


def handler(name: str, text: str, **options: Any) -> Call:
    """Return a planned call of a user's handler; a bare body is put into a function for PreToolUse."""
    source = (text if "def on_" in text else HEAD + "    " + text.replace("\n", "\n    ") + "\n").encode()
    path = Path("/nowhere") / f"{name}.py"
    file = HandlerFile("user", name, path, source, "", True, False)
    return Call(file, Route("PreToolUse", "on_pre_tool_use", **options))


def event(**tool_input: Any) -> Event:
    """Return a tool call that is about to be made."""
    return parse({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": tool_input})


def test_a_limit_that_is_not_reached_leaves_no_trace() -> None:
    """A block that ends in time is not interrupted afterwards."""
    with interrupted_after(600):
        assert signal.getitimer(signal.ITIMER_REAL)[1] == calls.REPEAT_S
    # `no_alarm_is_left` looks for it afterwards


def test_an_interrupt_that_comes_while_it_is_called_off_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that ends in the very moment its time is up: the timer is stopped all the same."""
    set_timer, late = signal.setitimer, [HandlerTimeout()]

    def ringing(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        if not seconds and late:
            raise late.pop()
        return set_timer(which, seconds, interval)

    monkeypatch.setattr(signal, "setitimer", ringing)
    with interrupted_after(600):
        pass
    assert not late  # and `no_alarm_is_left`


def test_without_a_limit_another_timer_goes_on() -> None:
    """A test runner may have one of its own."""
    timer = signal.setitimer(signal.ITIMER_REAL, 600)
    try:
        with interrupted_after(math.inf):
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)


def test_outside_the_main_thread_nothing_is_interrupted() -> None:
    """Signals reach only the main thread, so elsewhere a block simply runs."""
    done: list[bool] = []

    def work() -> None:
        with interrupted_after(0.01):
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
