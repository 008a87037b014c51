"""A child that works for this process: what it is told, and how it ends."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from holdfast.process.child import CAPTURE_LIMIT_BYTES, Child, write

if TYPE_CHECKING:
    from pathlib import Path


def test_a_child_that_waits_for_a_last_word_ends_by_itself_when_it_is_buried(tmp_path: Path) -> None:
    """Nothing more will come, so it isn't kept until the deadline and killed then."""
    done = tmp_path / "done"

    def work(messages: int, requests: int) -> None:
        while os.read(requests, 100):
            pass
        done.touch()

    child = Child.fork(work)
    child.ask("more", time.monotonic() + 60.0)
    child.close(60.0)
    assert done.exists()


def test_of_what_a_child_prints_only_the_beginning_is_kept() -> None:
    """It may print without end; each of its messages still arrives."""

    def work(messages: int, requests: int) -> None:
        for _ in range(20):
            os.write(1, b"x" * 50_000)
            write(messages, {"printed": True})

    child, printed = Child.fork(work), bytearray()
    for _ in range(20):
        assert child.receive(time.monotonic() + 60.0, printed) == {"printed": True}
    child.close(60.0)
    assert printed == b"x" * CAPTURE_LIMIT_BYTES
