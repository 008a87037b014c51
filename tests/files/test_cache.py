"""A cached file is trusted only if it is complete and nobody else can have written it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.files import cache

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def file() -> Path:
    """A path in the cache of a home where Holdfast keeps something already."""
    paths.ensure_private(paths.state_dir())
    return cache.folder() / "file"


@pytest.mark.parametrize("body", [b"", b"x", b"x" * 5_000_000])
def test_what_is_written_is_read(file: Path, body: bytes) -> None:
    """All of it, by its owner alone; what is written later replaces it, and nothing lies beside it."""
    cache.write(file, b"earlier")
    cache.write(file, body)

    assert cache.read(file) == body
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(cache.folder().iterdir()) == [file]


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def _flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def _link(file: Path) -> None:
    file.symlink_to(file.rename(file.with_name("moved")).name)


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    "harm",
    [
        Path.unlink,
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:20]),
        _cut,
        _flipped,
        _link,
        _pipe,
        _folder,
        lambda file: file.chmod(0o620),
        lambda file: file.chmod(0o602),
        pytest.param(
            lambda file: os.chown(file, 65_534, -1),
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away"),
        ),
    ],
)
def test_only_what_is_whole_and_ours_alone_counts(file: Path, harm: Callable[[Path], object]) -> None:
    """Anything else is as good as nothing, and nobody waits for it."""
    cache.write(file, b"body")
    harm(file)
    assert cache.read(file) is None


def test_a_home_without_holdfast_stays_as_it_is(home: Path) -> None:
    """To look at somebody's project leaves nothing behind, also where there is nothing to clear."""
    before = sorted(home.rglob("*"))
    cache.write(cache.folder() / "file", b"body")
    cache.clear()
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_nothing_is_put_where_others_may_put_something(file: Path, mode: int) -> None:
    """They could replace it by code of theirs."""
    paths.ensure_private(file.parent).chmod(mode)
    cache.write(file, b"body")
    assert list(file.parent.iterdir()) == []
