"""What a plan's text says; the samples of `test_plans` show how people write it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.compaction.detection import plan_file
from holdfast.workflow.model import UNKNOWN
from tests.tables import each_row

if TYPE_CHECKING:
    from holdfast.formats.compaction.detection.extract import Candidate, Extract

ROOT = Path("/project")
WILD = st.sampled_from(
    [
        *("# ", "## Phase 1: ", "Status", ": ", "In Progress", "🔄 ", "✅", "|", "---", "\n", "\n\n", "- [x] ", "```"),
        *("<!--", "-->", "Plan 7", "phase", " ", "CLAUDE/a.md", "**", "> ", "    ", "→", "[", "]", "~~", "e.g.:", "\t"),
        *("Done", "1/2", "| Phase | Status |\n|---|---|\n", "← here", "Phase 2"),
    ]
)


def read(text: str, folder: str = "001-user-auth") -> Candidate:
    return plan_file.parse(text, ROOT / "CLAUDE/Plan" / folder / "PLAN.md", ROOT, 1.0)


def parsed(text: str, folder: str = "001-user-auth") -> Extract:
    reading = read(text, folder)
    assert reading.extract is not None, reading.reason
    return reading.extract


HEADINGS = "\n## Phase 1: A\n{}\n## Phase 2: B\n{}\n## Phase 3: C\n"


@each_row(
    "said, first, second, place",
    [
        ("Status: Phase 2 in progress", "", "", (2, 3, "B")),
        ("Status: In Progress\nPhase: 2 of 3", "", "", (2, 3, "B")),
        ("Status: In Progress (Phase 2)", "", "", (2, 3, "B")),
        ("Status: In Progress (Phase 2 of 3)", "", "", (2, 3, "B")),
        ("Status: In Progress (Phase 2/5)", "", "", (None, None, UNKNOWN)),
        ("Status: In Progress — Phase 1 complete, then phase 2", "", "", (None, None, UNKNOWN)),
        ("Status: In Progress — Phase 1a complete", "", "", (1, 3, "A")),
        ("Status: In Progress — Phase 1 complete, then phase 2", "- [x] a", "", (2, 3, "B")),
        ("Status: Phase 9 in progress", "", "", (1, 3, "A")),
        ("Status: Phase 1 in progress", "- [x] a", "", (2, 3, "B")),
        ("Status: Phase 3 in progress", "", "Status: In Progress", (2, 3, "B")),
        ("Status: In progress (phase 3/2)", "", "", (None, None, UNKNOWN)),
    ],
)
def test_what_is_said_of_the_phase_goes_before_what_is_guessed(
    said: str, first: str, second: str, place: tuple[int | None, int | None, str]
) -> None:
    """I001-15: number and total as they are said, unless a phase's own mark or boxes contradict."""
    extract = parsed(f"# P\n{said}\n{HEADINGS.format(first, second)}")
    assert (extract.current, extract.total, extract.phase) == place


@each_row(
    "text, reason",
    [
        ("**Status**: 🔄 In Progress", 'is in progress (its status is "🔄 In Progress") and names the workflow "P"'),
        ("## Phase 1: A [IN PROGRESS]", '(it has no status of its own, but "Phase 1: A" in it is in progress)'),
        ("🔄 In Progress: a", '(it has no status line, but says "🔄 In Progress: a")'),
    ],
)
def test_the_reason_says_what_makes_it_active(text: str, reason: str) -> None:
    """R001-27: detected, and by which marker."""
    assert reason in read(f"# P\n{text}\n\nphase\n").reason


@given(st.lists(WILD, max_size=60).map("".join))
def test_any_text_is_an_extract_or_a_reason(text: str) -> None:
    """Nothing a plan holds raises; a name and a phase are never empty, and the quick look agrees with the long one."""
    reading = read(text)
    assert reading.reason
    if reading.extract:
        assert reading.extract.name
        assert reading.extract.phase
        assert 1 <= (reading.extract.current or 1) <= (reading.extract.total or 10_000)
        assert plan_file.may_be_active(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "|---|---|\n",
        "\u00a0" * 1000 + "Status:x\n",
        "| Phase | Status |\n|---|---|\n",
        "Status:\n",
        "## In Progress\n",
        "```x\n```y\n```\n",
        "<!-- x\n",
        "- 🔄 In Progress\n",
        "## Phase 1: x\n",
        "a: b | ",
        "Status ",
        "format: ",
        "-",
    ],
)
def test_the_worst_of_texts_takes_time_in_proportion_to_its_length(piece: str) -> None:
    """A quarter of a megabyte of it: one pass too many for each line would outlast the time limit of the tests."""
    text = f"# P\nphase 🔄\n{piece * (256 * 1024 // len(piece))}\n"
    assert read(text).reason
