"""Bounded reading of Markdown in any encoding."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workflow import prose

if TYPE_CHECKING:
    from collections.abc import Callable
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
    path.write_text("x" + "é" * prose.LIMIT, encoding="utf-8")
    found = prose.read(path, tmp_path)
    assert found is not None
    assert set(found[0]) == {"x", "é"}


def test_a_missing_file_is_none_and_a_pipe_is_refused(tmp_path: Path) -> None:
    """Reading never waits on a pipe."""
    os.mkfifo(tmp_path / "pipe")
    assert prose.read(tmp_path / "nothing", tmp_path) is None
    with pytest.raises(OSError, match="not a regular file"):
        prose.read(tmp_path / "pipe", tmp_path)


def test_fenced_code_is_left_out() -> None:
    """What an example block says is nobody's state."""
    text = "a\n```md\nWorkflow: example\n```\nb\n~~~~\n```\nc\n~~~~\nd"
    assert prose.lines(text) == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n> ```\n> b\n> ```\nc", ["a", "c"]),
        ("- a\n    ```py\n    b\n    ```\nc", ["- a", "c"]),
        ("```md\n```sh\na\n```\nb\n```\nc", ["c"]),
        ("```md\n```sh\na\n```\nb", ["b"]),
        ("````\n```\na\n````\nb", ["b"]),
        ("```a``` b\nc", ["```a``` b", "c"]),
        ("```\na", []),
        ("```\n~~~\n```\na", ["a"]),
    ],
)
def test_fences_are_matched_as_people_put_them(text: str, left: list[str]) -> None:
    """In lists and quotations, in one another, of several lengths, and one that is never closed."""
    assert prose.lines(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <!-- b --> c", ["a  c"]),
        ("a <!-- b\nc\nd --> e\nf", ["a  e", "f"]),
        ("a <!-- b\nc", ["a <!-- b", "c"]),
        ("`<!--` a\nb -->", ["`<!--` a", "b -->"]),
        ("```\n<!--\n```\na\n-->", ["a", "-->"]),
    ],
)
def test_comments_are_left_out(text: str, left: list[str]) -> None:
    """One that is never closed, or only spoken of, is text."""
    assert prose.lines(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("For example:\n\n    a\n\n    b\nc", ["For example:", "", "", "c"]),
        ("It looks like this:\n> a\nb", ["It looks like this:", "b"]),
        ("**Format:**\n\ta", ["**Format:**"]),
        ("Now:\n    a", ["Now:", "    a"]),  # a paragraph goes on
        ("For example\n    a", ["For example", "    a"]),
        ("For example:\na", ["For example:", "a"]),
    ],
)
def test_announced_examples_are_left_out(text: str, left: list[str]) -> None:
    """An indented or quoted block right below a line that announces an example; I001-2 accepts other indentation."""
    assert prose.lines(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("A\n===\nb", ["# A", "b"]),
        ("x\n\nA\n-----\nb", ["x", "", "## A", "b"]),
        ("x\nA\n-----", ["x", "A", "-----"]),
        ("A\n---\nb", ["A", "---", "b"]),
        ("- A\n=====", ["- A", "====="]),
    ],
)
def test_underlined_headings_are_headings(text: str, left: list[str]) -> None:
    """Three hyphens are a rule, or the end of front matter."""
    assert prose.lines(text) == left


def test_marks_of_html_around_words_are_left_out() -> None:
    """Other angle brackets stay: they may be placeholders."""
    assert prose.lines("<b>Status:</b> x<br/> <name>\na < b") == ["Status: x <name>", "a < b"]


def test_comments_with_one_value_are_metadata() -> None:
    """A list of choices is none."""
    text = "<!-- status: done -->\n<!-- a | status: b -->\n<!--owner:Ana-->\n<!-- words -->"
    assert prose.metadata(text) == ["status: done", "owner:Ana"]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("**A:** b | **C:** d", ["**A:** b", "**C:** d"]),
        ("_A: b · C: d_", ["A: b", "C: d"]),
        ("- A: b   C: d", ["- A: b", "C: d"]),
        ("A: b | c | d", ["A: b | c | d"]),
        ("| A: b | C: d |", ["| A: b | C: d |"]),
        ("A: b", ["A: b"]),
        ("At 10:30 | B: c", ["At 10:30", "B: c"]),
        ("A: b | c | D: e", ["A: b | c", "D: e"]),
        ("**A:** b  **C:** d", ["**A:** b", "**C:** d"]),
        ("**A:** b **C**: d", ["**A:** b", "**C**: d"]),
        ("**A:** b, **C:** d; __E:__ f", ["**A:** b", "**C:** d", "__E:__ f"]),
        ("> - **A:** b — **C:** d", ["> - **A:** b", "**C:** d"]),
        ("A: b.  C: d", ["A: b.  C: d"]),
        ("**A:** set **C:** d", ["**A:** set **C:** d"]),
        ("**A:** b (see **C:** d)", ["**A:** b (see **C:** d)"]),
        ("b **C:** d: e", ["b **C:** d: e"]),
    ],
)
def test_labels_side_by_side_are_parted(line: str, parts: list[str]) -> None:
    """Only where the line begins with a label, and no other one is merely spoken of."""
    assert prose.parts(line) == parts


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n\n    code\n    code\n\n    code\nb", ["a", "", "", "b"]),
        ("a\n\n\tcode\nb", ["a", "", "b"]),
        ("a\n\n  \tcode", ["a", ""]),
        ("a\n    b", ["a", "    b"]),
        ("a\n\n   b", ["a", "", "   b"]),
        ("- a\n\n    b\n\n  c", ["- a", "", "    b", "", "  c"]),
        ("- a\n\n      code", ["- a", ""]),
        ("1. a\n\n    b\n\n       code", ["1. a", "", "    b", ""]),
        ("10. a\n\n       b", ["10. a", "", "       b"]),
        ("- a\n  - b\n\n      c\n\n    d", ["- a", "  - b", "", "      c", "", "    d"]),
        ("-\ta\n\n\tb", ["-\ta", "", "\tb"]),
        ("- a\n\n        - b", ["- a", "", "        - b"]),
        ("- a\n\nb\n\n    code", ["- a", "", "b", ""]),
        ("- a\n# b\n\n    code", ["- a", "# b", ""]),
        ("- a\nb\n\n    c", ["- a", "b", "", "    c"]),
        ("[^1]: a\n\n    b", ["[^1]: a", "", "    b"]),
        ("!!! note\n\n    b", ["!!! note", "", "    b"]),
        ("    a\n\n    b\n\n\tc", ["    a", "", "    b", "", "\tc"]),
    ],
)
def test_indented_code_is_left_out(text: str, left: list[str]) -> None:
    """I001-2, I001-14: as Markdown has it; what goes on in a list, and a text that is indented as a whole, is none."""
    assert prose.lines(text) == left


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("| a | b |", ["a", "b"]),
        ("> | a | |", ["a", ""]),
        (r"| a \| b | c", [r"a \| b", "c"]),
        ("|", [""]),
        ("a | b", []),
        ("", []),
    ],
)
def test_rows_are_told_from_other_lines(line: str, cells: list[str]) -> None:
    """A row begins with a bar; an escaped one belongs to its cell."""
    assert prose.cells(line) == cells


def test_tables_have_a_head_a_rule_and_rows() -> None:
    """Two in one text; bars without a rule below them are no table."""
    text = "| a | b |\n|---|:-:|\n| 1 | 2 |\n| - | - |\n\n| x |\n\n| c |\n| - |\n"
    assert list(prose.tables(text.split("\n"))) == [
        (["a", "b"], [["1", "2"], ["-", "-"]]),
        (["c"], []),
    ]


@pytest.mark.parametrize(
    ("line", "found"), [("---", True), ("* * *", False), ("___ ", True), ("--x", False), ("", False)]
)
def test_a_rule_across_the_page_is_told(line: str, found: bool) -> None:
    """It stands before a footer."""
    assert prose.is_break(line) is found


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("📍 Workflow: X", "X"),
        ("**📍 Workflow:** X", "X"),
        ("## 2. Workflow: X", "X"),
        ("**Workflow:**X", "X"),
        ("Workflow：X", "X"),
        ("**Workflow / 工作流:** X", "X"),
        ("工作流 / Workflow: X", "X"),
        ("Workflow (工作流): X", "X"),
        ("Workflow / Phase: X", None),
        ("*Workflow: X*", "X"),
        ("Workflow: -rf *", "-rf *"),
        ("Ä Workflow: X", None),
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


@pytest.mark.parametrize(
    "made",
    [lambda n: "*" * n, lambda n: "# " + " " * n + "x", lambda n: "Workflow:" + " " * n, lambda n: "> " * (n // 2)],
    ids=["emphasis", "heading", "label", "quotes"],
)
def test_a_line_of_nothing_but_marks_is_read_quickly(made: Callable[[int], str]) -> None:
    """Neither do they recurse, nor does the processor time grow with their square."""

    def spent(length: int) -> float:
        line, label, best = made(length), prose.label("workflow"), float("inf")
        for _ in range(3):
            began = time.process_time()
            prose.plain(line)
            prose.heading(line)
            prose.value(label, line)
            best = min(best, time.process_time() - began)
        return best

    # Sixteen times the marks: sixteen times the time, where the square would be 256 times.
    assert spent(800_000) < 80 * max(spent(50_000), 0.001)


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    """A clone's memory file must not be somebody's key."""
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_text("Workflow: x")
    (tmp_path / "project" / "CLAUDE.local.md").symlink_to(tmp_path / "secret")

    with pytest.raises(OSError, match="it leads out of"):
        prose.read(tmp_path / "project" / "CLAUDE.local.md", tmp_path / "project")
