"""What kind of line each line of a text is, and which of them say something."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workflow import markdown, scanner


def shown(text: str) -> list[str]:
    return [line.raw for line in scanner.lines(text)]


def test_fenced_code_is_left_out() -> None:
    """What an example block says is nobody's state."""
    text = "a\n```md\nWorkflow: example\n```\nb\n~~~~\n```\nc\n~~~~\nd"
    assert shown(text) == ["a", "b", "d"]


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
    assert shown(text) == left


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
    assert shown(text) == left


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
    assert shown(text) == left


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
    assert shown(text) == left


def test_marks_of_html_around_words_are_left_out() -> None:
    """Other angle brackets stay: they may be placeholders."""
    assert shown("<b>Status:</b> x<br/> <name>\na < b") == ["Status: x <name>", "a < b"]


def test_comments_with_one_value_are_metadata() -> None:
    """A list of choices is none."""
    text = "<!-- status: done -->\n<!-- a | status: b -->\n<!--owner:Ana-->\n<!-- words -->"
    assert scanner.metadata(text) == ["status: done", "owner:Ana"]


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
    assert shown(text) == left


def test_tables_have_a_head_a_rule_and_rows() -> None:
    """Two in one text; bars without a rule below them are no table, and bars at the ends of lines are not needed."""
    text = "| a | b |\n|---|:-:|\n| 1 | 2 |\n| - | - |\n\n| x |\n\n| c |\n| - |\n\nd | e\n:-: | :-:\n3 | 4\n"
    assert list(scanner.tables(scanner.lines(text))) == [
        (("a", "b"), [("1", "2"), ("-", "-")]),
        (("c",), []),
        (("d", "e"), [("3", "4")]),
    ]


def test_every_line_is_there_with_its_number() -> None:
    """The hidden ones too; those of a fence say so."""
    text = "A\n===\n```md\n# x\n```\n<!-- a\nb -->\nE.g.:\n> shown\nc\n\n    code\n- b"
    found = scanner.scan(text)
    assert [line.number for line in found] == list(range(13))
    assert [line.kind for line in found] == [
        *("heading", "underline", "fence", "code", "fence", "blank", "comment"),
        *("text", "example", "text", "blank", "code", "item"),
    ]
    assert [line.number for line in found if line.fenced] == [2, 3, 4]
    assert [line for line in found if line.kind not in scanner.HIDDEN] == scanner.lines(text)


PIECES = (
    *("# A", "## B", "### C", "### C <!-- c -->", "#### D", "##### E", "   ## indented", "Under", "=====", "-----"),
    *("```", "~~~", "```py", "<!--", "-->", "<!-- a -->", "`<!--`", "| a | b |", "|---|---|", "a | b", "--- | ---"),
    *("- [ ] a", "  - b", "1. c", "    code", "    ## code", "\ttab", "For example:", "> ## q", "<b>x</b>", "", "text"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=24).map("\n".join), st.sampled_from([2, 3, 4]))
def test_a_section_has_the_lines_that_the_whole_text_has_there(text: str, depth: int) -> None:
    """What comes before it decides whether its heading is code; nothing else of that is looked at."""
    everything = scanner.lines(text)
    raw = text.split("\n")
    headings = [line for line in everything if line.kind == "heading"]
    first = next((line.number for line in headings if raw[line.number].startswith("### C")), None)
    numbers, lines = scanner.section(text, lambda line: line.startswith("### C"), depth=depth)

    if first is None:
        assert (numbers, lines) == (range(0), [])
    else:
        end = next((each.number for each in headings if each.number > first and each.depth <= depth), len(raw))
        assert numbers == range(first + 1, end)
        assert lines == [line for line in everything if line.number in numbers]


def test_a_section_is_found_without_a_look_at_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document with ten times the sections takes no more lines apart."""
    line, seen = markdown.line, list[str]()

    def counted(raw: str, number: int = 0) -> markdown.Line:
        seen.append(raw)
        return line(raw, number)

    monkeypatch.setattr(markdown, "line", counted)

    def read(sections: int) -> int:
        seen.clear()
        parts = [f"## {number}\n\n- [ ] a\n- b\n\n```\n## 7\n```\n" for number in range(sections)]
        _, lines = scanner.section("\n".join(parts), lambda raw: raw == f"## {sections // 2}", depth=2)
        assert [each.text for each in lines if each.text] == ["a", "b"]
        return len(seen)

    assert read(100) == read(10)
