"""Bounded reading of Markdown in any encoding."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workflow import prose

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "Workflow: Größe 🚀\nPhase: 1/2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_encodings_are_recognised(encoding: str) -> None:
    """UTF-8 with and without a byte order mark and UTF-16 with one read alike."""
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    assert prose.decode(mark + TEXT.encode(encoding)) == TEXT


def test_other_bytes_are_taken_as_latin_1() -> None:
    """A file in an old encoding is still read."""
    assert prose.decode("Workflow: Größe\r\n".encode("latin-1")) == "Workflow: Größe\n"


def test_a_long_file_is_read_up_to_its_limit_without_breaking_a_character(tmp_path: Path) -> None:
    """Only the first 256 KB count, and a character cut in two there does not change the encoding of the rest."""
    path = tmp_path / "long.md"
    path.write_text("x" + "é" * prose.LIMIT, encoding="utf-8")
    found = prose.read(path)
    assert found is not None
    assert set(found[0]) == {"x", "é"}


def test_a_missing_file_is_none_and_a_pipe_is_refused(tmp_path: Path) -> None:
    """Reading never waits on a pipe."""
    os.mkfifo(tmp_path / "pipe")
    assert prose.read(tmp_path / "nothing") is None
    with pytest.raises(OSError, match="not a regular file"):
        prose.read(tmp_path / "pipe")


def test_fenced_code_is_left_out() -> None:
    """What an example block says is nobody's state."""
    text = "a\n```md\nWorkflow: example\n```\nb\n~~~~\n```\nc\n~~~~\nd"
    assert prose.lines(text) == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("Workflow: X", "X"),
        ("workflow:X", None),
        ("WORKFLOW:   X  ", "X"),
        ("- **Workflow:** X", "X"),
        ("  * __Workflow__: **X**", "X"),
        ("1. `Workflow`: `X`", "X"),
        ("> Workflow: X", "X"),
        ("### Workflow: X", "X"),
        ("**Workflow: X**", "X"),
        ("Workflow:", ""),
        ("git workflow: rebase", None),
        ("The workflow: X", None),
        ("Workflows: X", None),
        ("See https://workflow:80", None),
    ],
)
def test_labels_are_anchored_to_the_line(line: str, value: str | None) -> None:
    """I001-2: list items, bold and indentation are accepted, prose is not."""
    assert value == prose.value(prose.label("workflow"), line)


@pytest.mark.parametrize(
    ("line", "heading"),
    [("# A  b ##", (1, "A b")), ("   ### C", (3, "C")), ("#no", None), ("####### seven", None), ("plain", None)],
)
def test_headings_are_told_from_other_lines(line: str, heading: tuple[int, str] | None) -> None:
    """A heading has one to six marks and a space."""
    assert heading == prose.heading(line)


@given(st.text(alphabet="*_`# -:@>\tab", max_size=3000))
def test_odd_lines_never_raise(line: str) -> None:
    """Marks without end and nesting without sense are text like any other."""
    prose.plain(line)
    prose.heading(line)
    prose.item(line)
    prose.value(prose.label("workflow"), line)


def test_a_line_of_nothing_but_marks_is_read_quickly() -> None:
    """Twenty thousand marks neither recurse nor take time that grows with their square."""
    for line in ("*" * 20_000, "# " + " " * 20_000 + "x", "Workflow:" + " " * 20_000, "> " * 10_000):
        prose.plain(line)
        prose.heading(line)
        prose.value(prose.label("workflow"), line)
