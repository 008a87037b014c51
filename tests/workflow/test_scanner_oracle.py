"""The scanner against `markdown-it-py`: the same fences, headings, items, tables and quotes, but for what is listed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from holdfast.workflow import prose, scanner

PARSER = MarkdownIt("commonmark").enable("table")
FILES = sorted(Path(__file__).parent.parent.glob("*/data/**/*.md"))
AGREED = {
    "headings": "# A\n\n## B ##\n\n   ### C\n\n#no\n\n####### seven\n\n    # code\n\nD\n===\n\nE\n-----\n",
    "fences": "```\n# a\n```\n\n~~~~ md\n```\n- b\n~~~~\n\n```a``` b\n\n``` a`b\n# c\n\n````\n```\n# d\n````\n",
    "an open fence": "```\na\n- e",
    "fences in lists and quotes": "- a\n  ```\n  # b\n  ```\n- c\n\n1. d\n   ~~~\n   - e\n   ~~~\n",
    "items": "- a\n- b\n  - c\n    - d\n\n1. e\n2) f\n\n* g\n+ h\n- [ ] i\n- [x] j\n\n-\ttab\n\n-no\n\n2.5 no\n",
    "items in paragraphs": "text\n- a\n\ntext\n1. b\n",
    "quotes": "> a\n> b\n\n> > c\n>d\n\n>> e\n",
    "tables": "| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | \\| |\n\na | b\n:-: | :-:\n1 | 2\n\nc | d\n---|---\n3 | 4\n",
    "rules across the page": "***\n\n---\n\n___\n\ntext\n",
    "indented code": "a\n\n    # b\n    - c\n\n\t| d |\n\ne\n    goes on\n- f\n\n        # code\n",
    "comments": "<!-- # a\n- b\n-->\n\n# c <!-- d -->\n\n`<!--` e\n- f\n",
}


class Departure(NamedTuple):
    """Where the scanner reads a text otherwise, and why it does.

    Attributes:
        reason: why.
        text: the text.
        ours: what only the scanner finds, as `what:line`, lines counted from 0.
        theirs: what only `markdown-it-py` finds.
        files: the test data in which that is so.
    """

    reason: str
    text: str
    ours: str = ""
    theirs: str = ""
    files: tuple[str, ...] = ()


DEPARTURES = (
    Departure(
        "People put fences into fences of the same length.",
        "```md\n```sh\n# a\n```\n- b\n```\n# c",
        "fence:4 heading:6",
        "fence:6 item:4",
        ("fences-in-a-fence",),
    ),
    Departure("An end of line behind an open fence is a line too.", "```\na\n", "fence:2"),
    Departure(
        "A fence that is indented by four columns is one in a list whose item nobody indented like that.",
        "a\n\n    ```\n    b\n    ```",
        "fence:2 fence:3 fence:4",
    ),
    Departure(
        "An example says nothing: it is hidden, not quoted.",
        "For example:\n\n> a",
        "",
        "quote:2",
        ("example-quoted",),
    ),
    Departure("Code in a quote is code.", "> ```\n> a\n> ```", "", "quote:0 quote:1 quote:2"),
    Departure("A line that a quote goes on with has no mark.", "> a\nb", "", "quote:1"),
    Departure(
        "A table in a quote is a table first.", "> | a |\n> |---|", "", "quote:0 quote:1", ("status-table-in-quote",)
    ),
    Departure(
        "Two cells with bars are `label: value`, also without the rest of a table.",
        "| a | b |",
        "row:0",
        "",
        ("fields-table-without-heading", "status-table-row"),
    ),
    Departure(
        "Three hyphens end front matter, whose last line is no heading.",
        "---\na: b\n---",
        "",
        "heading:1",
        (
            "fields-front-matter",
            "front-matter",
            "front-matter-quoted-status",
            "front-matter-with-remark",
            "status-front-matter-below-title",
        ),
    ),
    Departure("An underline makes no heading of a paragraph.", "a\nb\n====", "", "heading:0"),
    Departure("Marks without text head nothing.", "#\n\n-", "", "heading:0 item:2"),
    Departure("Stars with blanks between look like items, and separate nothing.", "* * *\n\n- - -", "item:0 item:2"),
    Departure("A number of four digits is a year.", "1986. A good year", "", "item:0"),
    Departure("An item needs no empty line before it, whatever its number.", "a\n14. b", "item:1"),
    Departure("A no-break space comes from other programs.", "-\u00a0a", "item:0"),
    Departure(
        "A line is what its first mark makes it.",
        "- # a\n\n> # b\n> - c\n\n* > d",
        "",
        "heading:0 heading:2 item:3 quote:5",
    ),
    Departure("Whether HTML around it hides a heading depends on empty lines.", "<div>\n# a\n</div>", "heading:1"),
)


def ours(text: str) -> set[str]:
    """Return what the scanner finds, as `what:line`, a heading with its level."""
    found = set()
    for line in scanner.scan(text):
        if line.fenced:
            found.add(f"fence:{line.number}")
        elif line.kind in ("heading", "item", "quote", "row"):
            found.add(f"{line.kind}:{line.number}{'#' * line.depth if line.kind == 'heading' else ''}")
    return found


def theirs(text: str) -> set[str]:
    """Return what `markdown-it-py` finds."""
    found = set()
    for token in PARSER.parse(text):
        first, end = token.map or (0, 0)
        if token.type in ("fence", "blockquote_open"):
            found |= {
                f"{token.type.removesuffix('_open').removeprefix('block')}:{number}" for number in range(first, end)
            }
        elif token.type in ("list_item_open", "tr_open"):
            found.add(f"{'row' if token.type == 'tr_open' else 'item'}:{first}")
        elif token.type == "heading_open":
            found.add(f"heading:{first}{'#' * int(token.tag[1])}")
    return found


@pytest.mark.parametrize("text", AGREED.values(), ids=AGREED)
def test_the_scanner_finds_what_a_parser_finds(text: str) -> None:
    """Each construct in the ways in which it is written."""
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("departure", DEPARTURES, ids=[departure.reason for departure in DEPARTURES])
def test_the_scanner_departs_from_it_where_people_mean_something_else(departure: Departure) -> None:
    """Exactly so."""
    found, wanted = ours(departure.text), theirs(departure.text)
    assert {each.rstrip("#") for each in found - wanted} == set(departure.ours.split())
    assert {each.rstrip("#") for each in wanted - found} == set(departure.theirs.split())


def test_files_that_people_keep_are_read_alike() -> None:
    """I001-2, I001-14: all plans and memory files in the tests; those with a departure are listed."""
    texts = [(path.stem, prose.decode(path.read_bytes())) for path in FILES]
    assert len(texts) > 400
    assert {name for name, text in texts if ours(text) != theirs(text)} == {
        name for departure in DEPARTURES for name in departure.files
    }


WORDS = st.sampled_from(["a", "Phase 1", "**Status**: Done", "`x`", "[x] d", "🔄 e"])
BLOCK = st.one_of(
    WORDS,
    st.builds("{} {}".format, st.sampled_from(["#", "##", "######", "   ###"]), WORDS),
    st.lists(WORDS, min_size=1, max_size=3).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(WORDS, min_size=1, max_size=3).map(lambda items: "\n".join(f"> {item}" for item in items)),
    st.builds("{0}\n{1}\n\n# {1}\n- x\n{0}".format, st.sampled_from(["```", "~~~", "````", "~~~~~"]), WORDS),
    st.builds("| {0} | b |\n|:--|--:|\n| c | {0} |".format, WORDS),
    st.builds("{0} | b\n---|---\nc | {0}".format, WORDS),
)


@given(st.lists(BLOCK, max_size=8).map("\n\n".join))
def test_any_blocks_are_read_alike(text: str) -> None:
    """One after another, in any order."""
    assert ours(text) == theirs(text)
