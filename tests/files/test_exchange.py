"""Two files are exchanged in one step."""

from __future__ import annotations

import ctypes
import errno
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.files import exchange as module
from holdfast.files.exchange import exchange
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path


def test_two_files_swap_places(tmp_path: Path) -> None:
    """Each name holds what the other held; inodes move, nothing is copied."""
    one, other = tmp_path / "one ü", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    inodes = one.stat().st_ino, other.stat().st_ino

    assert exchange(one, other)

    assert (one.read_text(), other.read_text()) == ("2", "1")
    assert (other.stat().st_ino, one.stat().st_ino) == inodes


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


def test_a_missing_file_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    """The system's reason comes with both names."""
    one = tmp_path / "one"
    one.write_text("1")

    with pytest.raises(FileNotFoundError) as caught:
        exchange(one, tmp_path / "none")

    assert (caught.value.filename, caught.value.filename2) == (str(one), str(tmp_path / "none"))
    assert one.read_text() == "1"


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


def test_any_other_refusal_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is not a file system that lacks the step."""

    def refuse(*_: bytes) -> int:
        ctypes.set_errno(errno.ENOSPC)
        return -1

    monkeypatch.setattr(module, "_call", lambda: refuse)

    with pytest.raises(OSError, match="No space left"):
        exchange(tmp_path / "one", tmp_path / "other")


def test_a_system_without_the_call_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older C library has no such call."""

    def empty(*_: Any, **__: Any) -> object:
        return object()

    monkeypatch.setattr(ctypes, "CDLL", empty)

    assert not exchange(tmp_path / "one", tmp_path / "other")


def test_a_python_without_ctypes_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some are built without it."""
    monkeypatch.setitem(sys.modules, "ctypes", None)

    assert not exchange(tmp_path / "one", tmp_path / "other")
