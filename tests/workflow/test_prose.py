"""Bounded reading of texts in any encoding."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from holdfast.workflow import prose
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "Workflow: Größe 🚀\nPhase: 1/2\n"


@each_row("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_encodings_are_recognised(encoding: str) -> None:
    """UTF-8 with and without a byte order mark and UTF-16 with one read alike."""
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    assert prose.decode(mark + TEXT.encode(encoding)) == TEXT


def test_other_bytes_are_taken_as_latin_1() -> None:
    """A file in an old encoding is still read."""
    assert prose.decode("Workflow: Größe\r\n".encode("latin-1")) == "Workflow: Größe\n"


def test_windows_quotes_and_dashes_are_read() -> None:
    """What Windows calls Latin-1 has letters where ISO 8859-1 has controls."""
    assert prose.decode("Workflow: “Größe” – x".encode("cp1252")) == "Workflow: “Größe” – x"
    assert prose.decode(b"a \x81 \xe4") == "a \x81 ä"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_told_without_its_mark(encoding: str) -> None:
    """By where its zero bytes are; a few of them in UTF-8 do not make it so."""
    assert prose.decode(TEXT.encode(encoding)) == TEXT
    assert prose.decode(b"a\x00b plain text") == "a\x00b plain text"


def test_a_wrong_byte_does_not_spoil_the_rest() -> None:
    """UTF-8 with a damaged character in it stays UTF-8."""
    assert prose.decode(TEXT.encode() + b"\xff.") == TEXT + "\ufffd."


def test_invisible_characters_and_other_ends_of_lines_are_put_right() -> None:
    """What nobody sees must not decide."""
    assert prose.decode("a\u200b\ufeffb\u2028c\r\nd\re\x00\x00".encode()) == "ab\nc\nd\ne"


def test_a_long_file_is_read_up_to_its_limit_without_breaking_a_character(tmp_path: Path) -> None:
    """Only the first 256 KB count, and a character cut in two there does not change the encoding of the rest."""
    path = tmp_path / "long.md"
    path.write_text("x" + "é" * prose.LIMIT_BYTES, encoding="utf-8")
    found = prose.read(path, tmp_path)
    assert found is not None
    assert set(found[0]) == {"x", "é"}


def test_a_missing_file_is_none_and_a_pipe_is_refused(tmp_path: Path) -> None:
    """Reading never waits on a pipe."""
    os.mkfifo(tmp_path / "pipe")
    assert prose.read(tmp_path / "nothing", tmp_path) is None
    with pytest.raises(OSError, match="not a regular file"):
        prose.read(tmp_path / "pipe", tmp_path)


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    """A clone's memory file must not be somebody's key."""
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_text("Workflow: x")
    (tmp_path / "project" / "CLAUDE.local.md").symlink_to(tmp_path / "secret")

    with pytest.raises(OSError, match="it leads out of"):
        prose.read(tmp_path / "project" / "CLAUDE.local.md", tmp_path / "project")
