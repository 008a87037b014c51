"""What a comment cites can be looked up: requirements, resolutions and client facts are in this repository."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.processes import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TOPS = ("src", "handlers", "hooks", "examples", "tests", "tools")
CODE = sorted(file for top in TOPS for file in (ROOT / top).rglob("*.py"))
CODE += sorted(file for top in ("skills", "examples") for file in (ROOT / top).rglob("*.md"))
ROWS = re.compile(r"^\| ([RI]\d{3}-\d+) \|", re.MULTILINE)
SECTIONS = re.compile(r"^##+ (\d+(?:\.\d+)?)\.? ", re.MULTILINE)
FACT = re.compile(r"[Cc]lient facts? ((?:§\d+(?:\.\d+)?(?:, )?)+)")
TAG = re.compile(r"\b[A-Z]\d{3}-\d+\b")


def unknown(cited: dict[str, Path], page: str, entries: re.Pattern[str]) -> dict[str, Path]:
    """Return what is cited of a page and does not stand there, with a file that cites it."""
    known = set(entries.findall((ROOT / "docs" / page).read_text("utf-8")))
    assert len(cited) > 10
    return {number: file for number, file in cited.items() if number not in known}


def test_each_requirement_that_is_cited_has_a_row() -> None:
    """A tag leads to what the document says, where it lives and what shows it."""
    cited = {tag: file for file in CODE for tag in TAG.findall(file.read_text("utf-8"))}
    assert unknown(cited, "requirements.md", ROWS) == {}


def test_each_client_fact_that_is_cited_has_a_section() -> None:
    """Whoever doubts a rule about the client can read where it comes from."""
    cited = {
        section: file
        for file in CODE
        for fact in FACT.findall(file.read_text("utf-8"))
        for section in re.findall(r"[\d.]*\d", fact)
        if not section.startswith("0.")  # a rule's number within section 0
    }
    assert unknown(cited, "client-facts.md", SECTIONS) == {}
