"""Who starts the flush: an idle server, or the end of a session without one; and that no event waits for it."""

from __future__ import annotations

import statistics
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests import processes, warmth
from tests.telemetry.receiver import receive
from tests.telemetry.test_flush import dead

if TYPE_CHECKING:
    from pathlib import Path

    from tests.telemetry.receiver import Receiver
    from tests.warmth import Warm

pytestmark = pytest.mark.slow

GUARD = """
    from holdfast import *
    @hookimpl(match="Bash", strict=True)
    def on_pre_tool_use(event):
        return deny("no")
    @hookimpl
    def on_session_end(event):
        pass
    """
EVENTS = 250
"""How many events each of four homes gets."""
PAUSE_EVERY = 50
PAUSE_S = 2.5
"""Long enough for the server to start a flush, which is still at work when the next events come."""


def decisions(receiver: Receiver) -> list[str]:
    """Return the calls that were decided."""
    return [each.attributes["tool_use_id"] for each in receiver.named("decision")]


def call(place: processes.Place, number: int) -> float:
    """Send an event, and return how long it took."""
    began = time.monotonic()
    ended = place.fire(place.payload("PreToolUse-Bash", tool_use_id=f"toolu_{number}"), "PreToolUse")
    assert '"deny"' in ended.stdout
    return time.monotonic() - began


def test_an_idle_server_sends(fresh: Warm) -> None:
    """What was decided arrives by itself, and the next run waits for half a minute."""
    fresh.user_handler("guard", GUARD)
    with receive() as receiver:
        fresh.configure(f'[telemetry]\nendpoint = "{receiver.url}"\n')
        fresh.warm_up()
        for number in range(5):
            call(fresh, number)
        fresh.until(lambda: len(set(decisions(receiver))) == 6 and bool(receiver.named("guard")))
        requests = len(receiver.requests)
        for number in range(5, 10):
            call(fresh, number)
        time.sleep(PAUSE_S)
        assert len(receiver.requests) == requests
        assert receiver.named("guard")[0].attributes["holdfast.guard.ran"] is True


def test_the_end_of_a_session_sends_where_no_server_runs(tmp_path: Path) -> None:
    """The event is over at once, and the records come."""
    place = processes.make(tmp_path)
    place.user_handler("guard", GUARD)
    with receive(delay_s=1.0) as receiver:
        place.configure(f'[telemetry]\nendpoint = "{receiver.url}"\n')
        call(place, 1)
        ended = place.fire(place.payload("SessionEnd-other"), "SessionEnd")
        assert (ended.exit_code, ended.stdout) == (0, "")
        warmth.Warm.until(lambda: decisions(receiver) == ["toolu_1"])


def test_without_an_endpoint_nothing_is_started(fresh: Warm) -> None:
    """Neither by a server that waits, nor at a session's end."""
    fresh.user_handler("guard", GUARD)
    fresh.warm_up()
    call(fresh, 1)
    fresh.fire(fresh.payload("SessionEnd-other"), "SessionEnd")
    time.sleep(PAUSE_S)
    assert not (fresh.home / ".local/state/holdfast/telemetry").exists()


@pytest.mark.nightly
def test_no_event_waits_for_a_collector(short_folder: Path) -> None:
    """1,000 events in turns, with no endpoint, and with one that is dead, slow and wrong; what waited arrives."""
    dead_url = dead()
    with receive(delay_s=5.0) as slow, receive(status=404) as wrong:
        urls = {"absent": "", "dead": dead_url, "slow": slow.url, "wrong": wrong.url}
        places = {name: warmth.make(short_folder / name) for name in urls}
        try:
            took = _in_turns(places, urls)
            ratios = {name: round(took[name] / took["absent"], 2) for name in urls}
            print("median of each, over the one without telemetry:", ratios)
            assert max(ratios.values()) <= 1.15, ratios
            warmth.Warm.until(lambda: bool(wrong.requests and slow.requests))
            wrong.status = 200
            slow.delay_s = 0.0
            with receive(int(dead_url.rpartition(":")[2])) as returned:
                for name, receiver in (("dead", returned), ("slow", slow), ("wrong", wrong)):
                    _flush(places[name])
                    missing = {f"toolu_{number}" for number in range(EVENTS)} - set(decisions(receiver))
                    assert not missing, (name, len(missing))
        finally:
            for place in places.values():
                place.close()


def _in_turns(places: dict[str, Warm], urls: dict[str, str]) -> dict[str, float]:
    """Return the median time of an event in each home."""
    for name, place in places.items():
        place.user_handler("guard", GUARD)
        place.configure(f'[telemetry]\nendpoint = "{urls[name]}"\n')
        place.warm_up()
    took: dict[str, list[float]] = {name: [] for name in places}
    names = list(places)
    for number in range(EVENTS):
        if number % PAUSE_EVERY == 0:
            time.sleep(PAUSE_S)
        for name in names[number % 4 :] + names[: number % 4]:
            took[name].append(call(places[name], number))
    return {name: statistics.median(each) for name, each in took.items()}


def _flush(place: Warm) -> None:
    """Run the command once no other process sends."""
    program = [processes.INTERPRETER[0], "-m", "holdfast", "telemetry", "flush"]

    def sent() -> bool:
        ran = subprocess.run(program, env=place.environ(), capture_output=True, text=True, timeout=500, check=False)
        return ran.stdout.startswith("Sent")

    place.until(sent)
