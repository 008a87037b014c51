"""A line by itself: its kind, its text, the words before its colon and the value behind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.workflow import markdown
from tests.tables import each_row


@each_row(
    "raw, kind, depth, text, box",
    [
        ("", "blank", 0, "", None),
        (" \t", "blank", 0, "", None),
        (" a  b ", "text", 0, "a  b", None),
        ("[x] a", "text", 0, "a", "x"),
        ("# A  b ##", "heading", 1, "A b", None),
        ("   ### C", "heading", 3, "C", None),
        ("#no", "text", 0, "#no", None),
        ("####### seven", "text", 0, "####### seven", None),
        ("    # indented", "text", 0, "# indented", None),
        ("- a", "item", 0, "a", None),
        ("  12) [ ] a", "item", 2, "a", " "),
        ("\t* [✓] a", "item", 4, "a", "✓"),
        ("- [x](y)", "item", 0, "[x](y)", None),
        ("- [1] a", "item", 0, "[1] a", None),
        ("- [ ]", "item", 0, "", " "),
        ("-a", "text", 0, "-a", None),
        ("2026. a", "text", 0, "2026. a", None),
        ("> a", "quote", 1, "a", None),
        (">> > a", "quote", 3, "a", None),
        ("---", "break", 0, "---", None),
        ("___ ", "break", 0, "___", None),
        ("--x", "text", 0, "--x", None),
        ("* * *", "item", 0, "* *", None),
        ("|---|:-:|", "rule", 0, "|---|:-:|", None),
    ],
)
def test_each_line_has_a_kind(raw: str, kind: str, depth: int, text: str, box: str | None) -> None:
    """What its marks make it, how deep, what stands behind them, and the check box."""
    assert markdown.line(raw, 7) == (kind, raw, text, depth, box, markdown.line(raw).cells, 7)


@each_row(
    "line, value",
    [
        ("📍 Workflow: X", "X"),
        ("**📍 Workflow:** X", "X"),
        ("## 2. Workflow: X", "X"),
        ("**Workflow:**X", "X"),
        ("Workflow / Phase: X", None),
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
    field = markdown.field(line)
    assert value == (field.value if field and field.words == "workflow" else None)


@given(st.text(alphabet="*_`# -:@>\tab", max_size=3000))
def test_odd_lines_never_raise(line: str) -> None:
    """Marks without end and nesting without sense are text like any other."""
    markdown.plain(line)
    markdown.lines(line)
    markdown.field(line)
