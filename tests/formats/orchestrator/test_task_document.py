"""Phases, tasks and bounds are read from a task document's headings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.errors import BrokenError
from holdfast.formats.orchestrator import task_document
from tests.requirements.document_003 import DOCUMENT

if TYPE_CHECKING:
    from pathlib import Path


def test_duplicates_and_strays_are_reported() -> None:
    """The first of two counts, and a task's own number."""
    read = task_document.parse(
        "#### Task 1.1: early\n### Phase 1: A\n#### Task 1.3: c\n#### Task 1.3: again\n"
        "### Phase 3: C\n#### Task 1.4: d\n"
    )

    assert [(each.id, each.name) for each in read.tasks] == [("1.1", "early"), ("1.3", "c"), ("1.4", "d")]
    assert set(read.faults) == {
        "task 1.1 isn't below a phase",
        "task 1.3 is there twice; the first one counts",
        "task 1.4 is below phase 3; its number counts",
    }


def test_a_task_says_when_it_is_done() -> None:
    """Its section ends with the next heading."""
    said = task_document.section(DOCUMENT, "1.1")

    assert said.criteria == ("model updated", "migration tested")
    assert "middleware" not in said.text
    assert task_document.section(DOCUMENT, "9.9") == ("", ())


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """It names no tasks, whatever its bytes look like."""
    (tmp_path / "doc.md").write_bytes(b"#### Task 1.1: a\0b")

    with pytest.raises(BrokenError, match="NUL"):
        task_document.content(tmp_path / "doc.md")


def test_headings_inside_the_section_of_bounds_do_not_end_it() -> None:
    """One of its own level does."""
    said = task_document.parse(
        "## Safety Bounds\n### Money\n- Max cost: $3\n## Else\n- Max time: 9h\n#### Task 1.1: A\n"
    )
    assert said.bounds == {"max_cost": "$3"}


def test_the_last_section_goes_to_the_documents_last_line() -> None:
    """Without a line end, too."""
    assert task_document.section("#### Task 1.1: A\nFirst.\nLast.", "1.1").text == "First.\nLast."


def test_criteria_may_stand_below_an_empty_line() -> None:
    """As most people and formatters write lists; a paragraph of its own ends them."""
    said = "#### Task 1.1: A\n\n**Success Criteria**:\n\n- [ ] built\n\n- [ ] tested\n\nAnd also:\n\n- no criterion\n"
    assert task_document.section(said, "1.1").criteria == ("built", "tested")
