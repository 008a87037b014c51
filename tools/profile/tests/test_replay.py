"""Replays with real processes: with a server that ends with the replay, and without one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import HoldfastError
from holdfast.server import control
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from tests import processes
from tools.profile import double as doubles
from tools.profile import replay, warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.testing import HoldfastProject
    from tools.profile.double import Double

SLOW = "import time\nfrom holdfast import *\n@hookimpl(match='Bash')\ndef on_pre_tool_use(event): time.sleep(0.06)\n"
COUNTS = """
from holdfast import *
@hookimpl
def on_stop(event, context):
    with (context.root / "count").open("a") as file:
        file.write("x")
    return tell_user((context.root / "count").read_text())
"""


@pytest.fixture
def double(holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    """The double of a project with a slow handler, and with one that leaves something behind."""
    monkeypatch.delenv("HOLDFAST_RELAY")
    made = holdfast_project({".claude/handlers/slow.py": SLOW, ".claude/handlers/counts.py": COUNTS})
    made.trust()
    with doubles.opened(Workspace.open(made.root, trusted=True)) as place:
        yield place


def payloads(double: Double) -> list[dict[str, object]]:
    here = {"cwd": str(double.of.root), "session_id": "11111111-1111-4111-8111-111111111111", "transcript_path": ""}
    return [recorded.load(name, **here) for name in ("Stop", "PreToolUse-Bash", "PreToolUse-Read")]


def ours(top: Path) -> list[str]:
    """Return the processes that run something in a folder."""
    listed = subprocess.run(["ps", "-A", "-o", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(top) in line]


@pytest.mark.slow
@pytest.mark.parametrize("cold", [False, True])
def test_the_slow_handlers_time_is_a_handlers(double: Double, cold: bool) -> None:
    """Whether the server answers or not, all is told apart, and the parts are the whole."""
    told: list[int] = []
    found = replay.replay(double, payloads(double), 2, cold=cold, told=lambda: told.append(1))

    assert [each.event for each in found] == ["Stop", "PreToolUse", "PreToolUse"] * 2
    assert len(told) == 6
    for each in found:
        assert (each.traced, each.warm, each.exit_code) == (True, not cold, 0)
        assert min(each.client, each.server, each.whole) > 0
        assert min(spent for _, spent in each.stages) >= 0
    label = "project/slow.py: on_pre_tool_use"
    slow = [(each, call) for each in found for call in each.calls if call.label == label]
    assert len(slow) == 2
    for each, call in slow:
        assert call.running >= 60
        assert call.loading > 0
        assert call.running + call.loading < each.whole
    assert not [call.fault for each in found for call in each.calls if call.fault]
    assert (double.root / "count").read_text() == "x"  # each round begins anew
    assert not (double.of.root / "count").exists()
    assert ours(double.top) == []


@pytest.mark.slow
def test_the_server_has_ended_whatever_ended_the_replay(double: Double) -> None:
    """An error in the middle, too; and one that somebody else started there."""

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay.replay(double, payloads(double), 1, cold=False, told=stop)
    assert ours(double.top) == []


@pytest.mark.slow
def test_one_that_an_event_started_is_ended_too(double: Double) -> None:
    """The first one ended before its time."""
    with warm.server(double):
        (lock,) = double.servers.glob("*.lock")
        assert control.stop(lock.with_suffix(""))
        lock.with_suffix(".tried").unlink(missing_ok=True)
        fired = replay.fire(double, double.take(payloads(double)[0]), {})
        assert (fired.traced, fired.warm) == (True, False)
        until = time.monotonic() + 60
        while not control.holder(lock.with_suffix("")) and time.monotonic() < until:
            time.sleep(0.01)
        assert control.holder(lock.with_suffix(""))
    assert ours(double.top) == []


def test_a_server_that_does_not_start_is_named(double: Double) -> None:
    """And what does without it."""
    double.launcher.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(HoldfastError, match="--cold"):
        replay.replay(double, payloads(double), 1, cold=False)


def test_a_command_that_does_not_reach_holdfast_is_no_measurement(
    double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said at once, and who can tell why."""
    monkeypatch.setattr(replay, "SETTLE_TIMEOUT_S", 0.05)
    double.launcher.write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(HoldfastError, match="doctor --fire"):
        replay.replay(double, payloads(double), 1, cold=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_behind(short_folder: Path, number: signal.Signals) -> None:
    """Neither a server nor the copy; the command as a process of its own."""
    place = processes.make(short_folder)
    temporary = short_folder / "t"
    temporary.mkdir()
    path = os.pathsep.join((str(processes.SOURCE), str(processes.ROOT)))
    environ = place.environ(HOLDFAST_SERVER=None, PYTHONPATH=path, TMPDIR=str(temporary))
    place.user_handler("slow", SLOW)
    command = [*processes.FOREGROUND, sys.executable, "-m", "tools.profile", "--rounds", "1000"]
    process = subprocess.Popen(
        command, env=environ, cwd=place.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 60
        while not list(temporary.glob("hf-*/trace")) and time.monotonic() < until:
            time.sleep(0.05)
        assert ours(temporary)
        process.send_signal(number)
        assert process.wait(500) == (1 if number == signal.SIGINT else 128 + number)
    finally:
        process.kill()
        process.wait()
    assert ours(temporary) == []
    assert os.listdir(temporary) == []  # noqa: PTH208
