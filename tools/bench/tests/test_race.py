"""Processes take turns, are timed from start to end, and must do their job."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import pytest

from tools.bench import race
from tools.bench.race import Contestant, WrongAnswerError, once, run

SAY = (sys.executable, "-I", "-S", "-c", "import sys; sys.stdout.write(sys.stdin.read().upper())")


def test_a_process_is_timed_until_it_has_ended() -> None:
    """What it reads arrives, what it writes is returned, and a pause inside counts."""
    began = time.perf_counter()
    took, code, answer = once(("/bin/sh", "-c", "cat; sleep 0.2; exit 3"), b"hello", {})

    assert (code, answer) == (3, b"hello")
    assert 200 <= took <= (time.perf_counter() - began) * 1000


def test_a_process_has_the_races_environment_and_its_own() -> None:
    """Nothing of ours is there."""
    each = Contestant("env", "floor", ("/usr/bin/env",), says="A=1\nB=2", environ={"B": "2"})

    assert run([each], {"A": "1"}, 1).keys() == {("floor", "env")}
    assert once(("/usr/bin/env",), b"", {"A": "1"})[2] == b"A=1\n"


def test_the_median_leaves_out_the_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first round the caches are cold."""
    moments = iter((10.0, 10.4, 11.0, 11.125))  # when each round began and ended, in seconds
    monkeypatch.setattr(race, "time", SimpleNamespace(perf_counter=lambda: next(moments), sleep=lambda _: None))

    assert run([Contestant("x", "way", ask=lambda data: data)], {}, 1)["way", "x"] == 125.0


def test_the_scene_is_set_for_each_run() -> None:
    """A callable gives what is read, anew each time."""
    numbers = iter(range(9))
    each = Contestant("x", "cold", SAY, stdin=lambda: b"a%d" % next(numbers), says="A")
    run([each], {}, 2)

    assert next(numbers) == 3


@pytest.mark.parametrize(
    "each",
    [
        Contestant("wrong words", "cold", SAY, b"no", says="YES"),
        Contestant("words where none are right", "cold", SAY, b"no"),
        Contestant("a wrong code", "cold", ("/bin/false",)),
        Contestant("a wrong answer", "way", ask=lambda data: b"no", says="yes"),
    ],
    ids=lambda each: each.name,
)
def test_who_does_not_do_the_job_is_not_timed(each: Contestant) -> None:
    """Its time would mean nothing."""
    with pytest.raises(WrongAnswerError, match=each.name):
        run([each], {}, 1)


def test_both_answers_can_be_right() -> None:
    """Where it depends on what was fired before."""
    run([Contestant("x", "cold", SAY, b"something", says=None), Contestant("y", "cold", SAY, says=None)], {}, 1)
