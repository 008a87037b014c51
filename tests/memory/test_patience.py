"""All waits of one event for the ledger's lock count together."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from holdfast.memory import patience
from holdfast.memory.patience import EVENT_WAIT_S, Patience

if TYPE_CHECKING:
    from collections.abc import Callable


class Locked(Exception):
    """Somebody has the lock."""


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only sleeping moves; the list gets each sleep's seconds."""
    seconds: list[float] = []
    clock = SimpleNamespace(sleep=seconds.append, monotonic=lambda: sum(seconds))
    monkeypatch.setattr(patience, "time", clock)
    return seconds


def fails(times: int = 1 << 30) -> Callable[[], str]:
    """Return what raises Locked so many times, then returns "done"."""
    left = [times]

    def attempt() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise Locked
        return "done"

    return attempt


def busy(error: Exception) -> bool:
    return isinstance(error, Locked)


def test_all_waits_together_take_a_second(slept: list[float]) -> None:
    """However many statements meet the lock: what comes after does not wait at all."""
    waiting = Patience()
    for _ in range(5):
        with pytest.raises(Locked):
            waiting.insist(fails(), busy)
    assert sum(slept) == pytest.approx(EVENT_WAIT_S, abs=0.006)  # the last pause may be one too many


def test_another_process_of_the_event_waits_for_the_rest(slept: list[float]) -> None:
    """What one child has waited is no longer there for the next."""
    first, second = Patience(), Patience()
    first.insist(fails(40), busy)
    first.reported = "said"
    second.spent(first.rest())
    with pytest.raises(Locked):
        second.insist(fails(), busy)
    assert sum(slept) == pytest.approx(EVENT_WAIT_S, abs=0.006)  # the last pause may be one too many
    assert second.reported == "said"


def test_a_handler_that_must_end_soon_waits_half_as_long(slept: list[float]) -> None:
    """The other half is for its work: SessionEnd has little more than a second in all."""
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0.8)
    try:
        with pytest.raises(Locked):
            Patience().insist(fails(), busy)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert 0 < sum(slept) <= 0.4 + 0.006
