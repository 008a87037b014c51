"""A child forked in advance gets its instructions completely and in order, and ends when it isn't needed."""

from __future__ import annotations

import os
import pickle
import struct
import time
from typing import Any

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


def test_what_is_longer_than_a_pipe_arrives_whole() -> None:
    """A payload may have many megabytes."""
    spare = Spare.fork(echo)
    spare.tell(b"x" * 5_000_000, "end")
    assert heard(spare) == [5_000_000, "end"]
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
