"""Two files are exchanged in one step."""

from __future__ import annotations

import ctypes
import errno
import threading
from typing import TYPE_CHECKING

from holdfast.files import exchange as module
from holdfast.files.exchange import exchange
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_nobody_ever_sees_either_name_empty(tmp_path: Path) -> None:
    """A reader in a tight loop finds a whole file under both names, however often they swap."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.add(one.read_text() + "x")
            seen.add(other.read_text() + "x")

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(2000):
        assert exchange(one, other)
    over.set()
    reader.join(30)

    assert not reader.is_alive()
    assert seen <= {"1x", "2x"}


@each_row("number", [errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM])
def test_a_file_system_without_the_step_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Where it cannot be done in one step it is not done at all."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")

    def refuse(*_: bytes) -> int:
        ctypes.set_errno(number)
        return -1

    monkeypatch.setattr(module, "_call", lambda: refuse)

    assert not exchange(one, other)
    assert (one.read_text(), other.read_text()) == ("1", "2")
