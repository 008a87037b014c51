"""Bounded reading of texts; links and pipes are refused."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from holdfast.workflow import text_file

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    """A name with wrong characters in it is worse than none."""
    for raw in ("Größe".encode("cp1252"), "Status: In Progress".encode("utf-16"), b"Status: In Progress\n\xff"):
        (tmp_path / "x.md").write_bytes(raw)
        with pytest.raises(OSError, match="isn't UTF-8"):
            text_file.read(tmp_path / "x.md", tmp_path)


def test_marks_and_line_ends_of_windows_are_no_text(tmp_path: Path) -> None:
    """A byte order mark, and carriage returns."""
    (tmp_path / "x.md").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert text_file.read(tmp_path / "x.md", tmp_path) == ("a\nb\nc\n", (tmp_path / "x.md").stat().st_mtime, True)


def test_a_long_file_is_read_up_to_its_limit_without_breaking_a_character(tmp_path: Path) -> None:
    """Only the first 256 KB count, and a character cut in two there does not change the encoding of the rest."""
    path = tmp_path / "long.md"
    path.write_text("x" + "é" * text_file.LIMIT_BYTES, encoding="utf-8")
    found = text_file.read(path, tmp_path)
    assert found is not None
    assert set(found[0]) == {"x", "é"}


def test_a_missing_file_is_none_and_a_pipe_is_refused(tmp_path: Path) -> None:
    """Reading never waits on a pipe."""
    os.mkfifo(tmp_path / "pipe")
    assert text_file.read(tmp_path / "nothing", tmp_path) is None
    with pytest.raises(OSError, match="not a regular file"):
        text_file.read(tmp_path / "pipe", tmp_path)


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    """A clone's memory file must not be somebody's key."""
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_text("Workflow: x")
    (tmp_path / "project" / "CLAUDE.local.md").symlink_to(tmp_path / "secret")

    with pytest.raises(OSError, match="it leads out of"):
        text_file.read(tmp_path / "project" / "CLAUDE.local.md", tmp_path / "project")
