"""`holdfast server` shows what runs, and stops every server."""

from __future__ import annotations

import os
import re
import signal
import socket
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import clock, paths
from holdfast.server import control
from tests import processes, warmth
from tests.commandline import holdfast
from tests.warmth import gone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.warmth import Warm

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="asks /proc")]


@pytest.fixture(autouse=True)
def buried() -> Iterator[None]:
    """Bury the servers that the command has started in this process: it ends at once where a person types it."""
    yield
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


@pytest.fixture
def place(fresh: Warm, monkeypatch: pytest.MonkeyPatch) -> Warm:
    """The home that the command is run in; nothing is installed and no server runs."""
    warmth.move_in(fresh, monkeypatch)
    return fresh


@pytest.fixture
def warm(place: Warm) -> Warm:
    """The same, with a server that has answered nothing yet."""
    place.warm_up()
    return place


def second(warm: Warm) -> Warm:
    """Start the server of another entrypoint, which has the same package."""
    root = str(warm.entry.parent / "own")
    folder = warm.root.parent / "second"
    folder.mkdir()
    other = warmth.native(replace(warm, entry=processes.copy_of_entrypoint(folder / "run", root)))
    other.fire(other.call(), "PreToolUse")
    warm.until(lambda: [each.answers for each in control.running_servers()] == [True, True])
    return other


# --- what it says of servers ------------------------------------------------------------------------------------------


def test_where_none_runs(place: Warm) -> None:
    """That is nothing to mend, so it says what happens next."""
    assert holdfast("server").out == "no server runs; the next event starts one\n"
    relay = {"relay": "", "relay_reason": "holdfast is not installed"}
    assert holdfast("server", "--json").json == {"disabled_by": "", **relay, "servers": []}
    assert not place.folder.exists(), "asking made a folder"


def test_it_counts_the_events_it_has_answered(warm: Warm) -> None:
    """Exactly those: neither what started it, nor its own questions, nor what was answered without it."""
    found = [holdfast("server", "--json").json["servers"][0]["answered"] for _ in range(3)]
    assert warm.fire(warm.call(), "PreToolUse").advice == "warm"
    one = holdfast("server").out
    for _ in range(2):
        warm.fire(warm.call(), "PreToolUse")
    warm.fire(warm.call(), "PreToolUse", environ=warm.environ(HOLDFAST_SERVER="off"))

    assert found == [0, 0, 0]
    assert " has answered 1 event\n" in one
    assert " has answered 3 events\n" in holdfast("server").out


def test_one_that_runs_is_named_with_all_there_is_to_know(warm: Warm) -> None:
    """Which entrypoint asks it, its process and since when; nothing is at work now."""
    line = holdfast("server").out
    (shown,) = holdfast("server", "--json").json["servers"]

    assert line.startswith(f"the server of {warm.entry} (process {warm.pid}) has answered 0 events")
    began = clock.parse(shown["started_at"])
    assert began
    assert warm.root.stat().st_mtime - 1 < began.timestamp() < clock.now().timestamp() + 1
    del shown["started_at"]
    expected = {
        "address": str(warm.socket),
        "pid": warm.pid,
        "answers": True,
        "launcher": str(warm.entry),
    }
    assert shown == expected | {"answered": 0}


# --- ending -----------------------------------------------------------------------------------------------------------


def test_stop_ends_it_and_says_what_comes_next(warm: Warm) -> None:
    """Nothing listens any more, the event after it is cold; both ways to do without are named."""
    pid, place = warm.pid, warm.socket

    first, *rest = holdfast("server", "--stop").out.splitlines()

    assert first == f"Stopped the server of {warm.entry} (process {pid})."
    assert "starts another one" in rest[0]
    assert "HOLDFAST_SERVER=off" in rest[0] and f"`server = false` at the top of {paths.user_config()}" in rest[0]
    warm.until(lambda: gone(pid))
    assert not place.exists()
    assert holdfast("server", "--stop").out.startswith("No server runs.\n")
    assert warm.fire(warm.call(), "PreToolUse").advice == "cold"


def test_stop_ends_one_that_hangs(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process obeys nobody, so it is ended by force; what it forked goes with it."""
    pid = warm.pid
    monkeypatch.setattr(control, "ask", partial(control.ask, patience=0.3))
    forked = Path(f"/proc/{pid}/task/{pid}/children")
    warm.until(lambda: bool(forked.read_text()))
    children = [int(each) for each in forked.read_text().split()]
    os.kill(pid, signal.SIGSTOP)

    assert f"(process {pid})" in holdfast("server", "--stop").out
    warm.until(lambda: gone(pid))
    warm.until(lambda: all(gone(each) for each in children))


def test_two_servers_are_shown_and_ended(warm: Warm) -> None:
    """Of two entrypoints: each with what it has answered itself."""
    other = second(warm)
    assert other.fire(other.call(), "PreToolUse").advice == "warm"

    shown, ended = holdfast("server").out, holdfast("server", "--stop").out

    assert re.search(rf"^the server of {warm.entry} \(process \d+\) has answered 0 events", shown, re.MULTILINE)
    assert re.search(rf"^the server of {other.entry} \(process \d+\) has answered 1 event", shown, re.MULTILINE)
    assert ended.count("Stopped the server of ") == 2
    assert control.running_servers() == []


def test_one_that_cannot_be_ended_keeps_no_other(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are ended, and the message says how to end the one that is left."""
    second(warm)
    kept, ends = control.running_servers()
    stop = control.stop

    def fails(place: Path) -> bool:
        return place != kept.address and stop(place)

    monkeypatch.setattr(control, "stop", fails)
    said = holdfast("server", "--stop", code=1)

    assert said.out == f"Stopped the server of {ends.entry} (process {ends.pid}).\n"
    assert (
        f"couldn't stop the server of {paths.shown(str(kept.entry))} (process {kept.pid}): kill -9 {kept.pid}"
        in said.err
    )
    warm.until(lambda: gone(ends.pid))
    assert not gone(kept.pid)
