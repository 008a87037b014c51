"""A child forked in advance gets its instructions completely and in order, and ends when it isn't needed."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.process.child import write
from holdfast.process.spare import Spare, Told
from tests.tables import each_row


def echo(told: Told, report: int, captured: int, heard: int) -> None:
    """Report all that is told, then the end of it."""
    while (given := told.next()) is not None:
        write(report, {"told": [len(each) if isinstance(each, bytes) else each for each in given]})
    write(report, {"told": None})


def heard(spare: Spare) -> Any:
    """Return what the child reports next."""
    message = spare.child.receive(time.monotonic() + 20, bytearray())
    assert message
    return message["told"]


def descriptors() -> int:
    """Return how many are open here."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_it_hears_one_thing_after_the_other() -> None:
    """Also where both were told before it has read the first; nothing at all is something too."""
    spare = Spare.fork(echo)
    spare.tell("a", 1, None)
    spare.tell()
    spare.tell({"b": [2]})
    assert [heard(spare) for _ in range(3)] == [["a", 1, None], [], [{"b": [2]}]]
    spare.close()


def test_what_is_longer_than_a_pipe_arrives_whole() -> None:
    """A payload may have many megabytes."""
    spare = Spare.fork(echo)
    spare.tell(b"x" * 5_000_000, "end")
    assert heard(spare) == [5_000_000, "end"]
    spare.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks /proc")
def test_closed_it_ends_and_leaves_nothing() -> None:
    """Neither a process to bury nor a descriptor; once more is fine."""
    before = descriptors()
    spare = Spare.fork(echo)
    pid = spare.child.pid
    assert descriptors() > before
    spare.close()
    spare.close()
    assert descriptors() == before
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_one_that_has_died_hears_nothing() -> None:
    """It is no error of who tells it, and neither is what is too long for the pipe."""
    spare = Spare.fork(echo)
    os.kill(spare.child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, spare.child.pid, os.WEXITED | os.WNOWAIT)
    spare.tell("x")
    spare.tell(b"x" * 5_000_000)
    spare.close()


@each_row("part", [0, 3, 8, 20])
def test_what_ends_too_soon_is_nothing(part: int) -> None:
    """Whoever told it died in the middle: half of it is not acted on."""
    body = pickle.dumps(("x" * 100,))
    reading, writing = os.pipe()
    os.write(writing, (struct.pack("!Q", len(body)) + body)[:part])
    os.close(writing)
    assert Told(reading).next() is None
    os.close(reading)
