"""The module finds what prevents reading a path, with the command that gives access."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from holdfast.files import access
from tests import permissions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def anybody() -> Iterator[None]:
    """Permissions count, whoever runs the tests."""
    with permissions.counting():
        yield


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in a folder in a folder, with a name that a shell would take apart."""
    made = tmp_path / "above" / "be low" / "it's.json"
    made.parent.mkdir(parents=True)
    made.write_text("x")
    return made


@pytest.mark.parametrize("write", [True, False])
def test_what_is_open_or_not_there_is_not_closed(file: Path, write: bool) -> None:
    """Nor is what lies below a file."""
    for path in (file, file.parent, file.with_name("none"), file.parent / "none" / "none", file / "below"):
        assert access.closed(path, write=write) is None
        assert access.remedy(path) == ""


@pytest.mark.parametrize("bits", [0o000, 0o200])
def test_a_file_that_cannot_be_read(file: Path, bits: int) -> None:
    """The command opens it, and so do we."""
    file.chmod(bits)
    assert access.closed(file) == file
    subprocess.run(["/bin/sh", "-c", access.remedy(file)], check=True)
    assert (access.closed(file, write=True), file.read_text()) == (None, "x")
    file.chmod(bits)
    opener = access.opener(file)
    assert opener is not None
    assert opener() == f"made {file} readable and writable for you"
    assert access.closed(file, write=True) is None


def test_opening_takes_nothing_from_others(file: Path) -> None:
    """What group and others may stays, of a file and of a folder."""
    for path, bits, opened in ((file, 0o044, 0o644), (file.parent, 0o055, 0o755)):
        path.chmod(bits)
        opener = access.opener(path)
        assert opener is not None
        opener()
        assert path.stat().st_mode & 0o777 == opened


def test_a_file_that_can_only_be_read(file: Path) -> None:
    """It is closed to who wants to write."""
    file.chmod(0o400)
    assert access.closed(file) is None
    assert access.closed(file, write=True) == file
    subprocess.run(["/bin/sh", "-c", access.opening(file)], check=True)
    assert access.closed(file, write=True) is None


@pytest.mark.parametrize("bits", [0o000, 0o600])
def test_the_highest_folder_that_cannot_be_entered_comes_first(file: Path, bits: int) -> None:
    """One after the other."""
    for folder in (file.parent, file.parent.parent):
        folder.chmod(bits)
    for folder in (file.parent.parent, file.parent):
        assert access.closed(file) == folder
        subprocess.run(["/bin/sh", "-c", access.remedy(file)], check=True)
    assert access.closed(file) is None


def test_what_is_somebody_elses_takes_an_administrator(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """We could not change its permissions."""
    file.chmod(0o000)
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert access.remedy(file).startswith('sudo chown "$(id -un)" ')
    assert access.opening(file.parent).startswith('sudo chown -R "$(id -un)" ')
    assert access.opener(file) is None


@pytest.mark.parametrize("target", ["nothing", "pipe", "itself"])
def test_a_link_to_what_has_no_content_is_removed(file: Path, target: str) -> None:
    """To copy a pipe would wait for a writer."""
    link, there = file.with_name("link"), file.with_name("link" if target == "itself" else target)
    if target == "pipe":
        os.mkfifo(there)
    link.symlink_to(there)

    subprocess.run(["/bin/sh", "-c", access.unlinking(link)], check=True, timeout=60)
    assert not link.is_symlink()
    assert there.exists() == (target == "pipe")


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_link_leads_to_can_be_put_in_its_place(file: Path, kind: str) -> None:
    """The command copies it, and leaves what was there; for what is no link there is none."""
    there = file if kind == "file" else file.parent
    link = file.parents[1] / "a link's"
    link.symlink_to(there)
    assert access.unlinking(there) == ""
    subprocess.run(["/bin/sh", "-c", access.unlinking(link)], check=True)
    assert not link.is_symlink()
    assert (link if kind == "file" else link / file.name).read_text() == "x"
    assert file.read_text() == "x"
    assert sorted(path.name for path in link.parent.iterdir()) == ["a link's", "be low"]
