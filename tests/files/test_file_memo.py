"""A file's cached content is used only while the file is certainly unchanged."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.files import file_memo
from holdfast.files.file_memo import Kept, settled, stamp
from tests.tables import each_row

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


def test_an_old_file_is_read_once(tmp_path: Path, reader: Reader) -> None:
    """Each of them; they are not mixed up."""
    kept = Kept(reader.read)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    for _ in range(3):
        assert [kept.get(tmp_path / name) for name in ("a", "b")] == [b"a", b"b"]
    assert reader.paths == [tmp_path / "a", tmp_path / "b"]


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


@each_row("part", range(4))
def test_each_part_of_a_stamp_counts(tmp_path: Path, part: int) -> None:
    """Another inode is another file, also of the same size and times."""
    values = [1, 2, 3, 4]
    names = ("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")

    def of(numbers: list[int]) -> object:
        return stamp(SimpleNamespace(**dict(zip(names, numbers, strict=True))))  # type: ignore[arg-type]

    assert of(values) == of(list(values))
    assert of(values) != of([*values[:part], 9, *values[part + 1 :]])


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


def test_what_counts_is_how_old_a_file_was_before_it_was_read(tmp_path: Path, reader: Reader) -> None:
    """Reading may take long, and an edit right after its beginning would go unnoticed for ever."""
    file = tmp_path / "file"
    file.write_bytes(b"one")
    kept, reader.now, reader.took = Kept(reader.read), file.stat().st_ctime_ns + S, 10 * S
    kept.get(file)
    kept.get(file)
    assert len(reader.paths) == 2


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


def test_a_missing_file_is_asked_about_every_time(tmp_path: Path, reader: Reader) -> None:
    """Also one that no file system can hold, and one that was there before."""
    kept, file = Kept(reader.read), tmp_path / "file"
    file.write_bytes(b"one")
    kept.get(file)
    file.unlink()
    for path in (file, file, Path("a\0b"), Path("a\0b")):
        assert kept.get(path) == b""
    assert len(reader.paths) == 5


def test_two_seconds_settle_a_stamp() -> None:
    """The coarsest clock of a file system in use ticks as slowly (FAT); the time that anybody can set says nothing."""
    assert not settled((1, 1, 0, 100), 100 + 2 * S)
    assert settled((1, 1, 10**30, 100), 100 + 2 * S + 1)
