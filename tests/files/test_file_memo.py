"""A file's cached content is used only while the file is certainly unchanged."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from holdfast.files import file_memo
from holdfast.files.file_memo import Kept, stamp

if TYPE_CHECKING:
    from pathlib import Path

S = 1_000_000_000  # nanoseconds of a second


@dataclass
class Reader:
    """Reads files, and counts.

    Attributes:
        now: the moment, in nanoseconds; far in the future at first, so that every file is old.
        took: how long it takes to read one.
        paths: what was read so far.
    """

    now: int = 0
    took: int = 0
    paths: list[Path] = field(default_factory=list)

    def read(self, path: Path) -> bytes:
        """Return what a file holds, and nothing of a missing one."""
        self.paths.append(path)
        self.now += self.took
        try:
            return path.read_bytes()
        except (OSError, ValueError):
            return b""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    """A reader whose clock is the module's."""
    made = Reader(time.time_ns() + 3_600 * S)
    monkeypatch.setattr(file_memo, "time", SimpleNamespace(time_ns=lambda: made.now))
    return made


def test_an_edit_is_noticed_though_size_and_time_are_set_back(tmp_path: Path, reader: Reader) -> None:
    """Nobody can set back when that was done."""
    file = tmp_path / "file"
    file.write_bytes(b"one")
    kept, before = Kept(reader.read), file.stat()
    assert kept.get(file) == b"one"
    while file.stat().st_ctime_ns == before.st_ctime_ns:
        file.write_bytes(b"two")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert stamp(file.stat())[:3] == stamp(before)[:3]
    assert kept.get(file) == b"two"


def test_a_file_that_was_just_changed_is_read_every_time(tmp_path: Path, reader: Reader) -> None:
    """Another edit within the same tick of the file system's clock would give it no other stamp."""
    file = tmp_path / "file"
    file.write_bytes(b"one")
    kept, reader.now = Kept(reader.read), file.stat().st_ctime_ns + S
    for _ in range(3):
        kept.get(file)
    assert len(reader.paths) == 3
    reader.now += 3 * S
    for _ in range(3):
        kept.get(file)
    assert len(reader.paths) == 4


def test_what_is_edited_while_it_is_read_is_read_again(tmp_path: Path, reader: Reader) -> None:
    """The stamp is that of the file before it was read."""
    file = tmp_path / "file"
    file.write_bytes(b"one")

    def read(path: Path) -> bytes:
        said = reader.read(path)
        path.write_bytes(b"another")
        return said

    kept = Kept(read)
    assert kept.get(file) == b"one"
    assert kept.get(file) == b"another"
