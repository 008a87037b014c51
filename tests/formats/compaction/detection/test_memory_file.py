"""Detection method 1: CLAUDE.local.md."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.compaction.detection import memory_file, plan_phases
from holdfast.formats.compaction.detection.extract import Extract
from holdfast.workflow import text_file
from tests.tables import each_row
from tests.workflow import samples

if TYPE_CHECKING:
    from tests.workflow.conftest import Put
    from tests.workflow.samples import Sample


def read(text: str) -> Extract | str:
    """Return what is taken from a memory file with this text, or the reason why it names no workflow."""
    with TemporaryDirectory() as folder:
        path = Path(folder, memory_file.FILE)
        path.write_bytes(text.encode())
        candidate = memory_file.look(path)
    return candidate.extract or candidate.reason


def parsed(text: str) -> Extract:
    extract = read(text)
    assert isinstance(extract, Extract), extract
    return extract


@each_row("sample", samples.of("memory"), ids=str)
def test_a_memory_file_kept_by_hand_is_read_as_it_is_meant(sample: Sample, tmp_path: Path) -> None:
    """R001-21, R001-27, I001-1, I001-2: no false workflow, none missed, and the reason for either."""
    path = tmp_path / "CLAUDE.local.md"
    path.write_bytes(sample.raw)

    candidate = memory_file.look(path)
    extract = candidate.extract

    if sample.why:
        assert extract is None, candidate.reason
        assert sample.why in candidate.reason
    else:
        assert extract is not None, candidate.reason
        assert candidate.reason.startswith("names the workflow ")
        assert (extract.name, f"{extract.current}/{extract.total} {extract.phase}") == (
            sample.expected["name"],
            sample.expected["at"],
        )
        assert extract.status == sample.expected.get("status")
        assert list(extract.reading) == sample.expected.get("reading", [])
        assert list(extract.reminders) == sample.expected.get("reminders", [])


@each_row(
    "line, position",
    [
        ("4/10 - SEO Generation", (4, 10, "SEO Generation")),
        ("4 / 10: SEO", (4, 10, "SEO")),
        ("4 of 10 – SEO (draft)", (4, 10, "SEO (draft)")),
        ("4", (4, None, None)),
        ("Phase 4/10", (4, 10, None)),
        ("4. **Build**", (4, None, "Build")),
        ("Building", (None, None, "Building")),
        ("3D models", (None, None, "3D models")),
        ("SEO (draft)", (None, None, "SEO (draft)")),
        ("2 of 3 (Print)", (2, 3, "Print")),
        ("", (None, None, None)),
    ],
)
def test_phase_lines_are_read_as_people_write_them(
    line: str, position: tuple[int | None, int | None, str | None]
) -> None:
    """Number, total and name are taken where they are said, and nothing is made up."""
    assert position == plan_phases.position(line)


@each_row(
    "text",
    [
        "Workflow: ci.yml\n\nIt runs on each push.\n\nPhase: beta\n",
        "Phase: beta\n\nThe build runs on each push.\n\nWorkflow: build\n",
        "Workflow: build\n\nIt runs on each push.\n\n- Phase 1: Design\n- Phase 2: Test\n",
        "Workflow: build\n## Release\nPhase: beta\n",
    ],
)
def test_a_phase_elsewhere_makes_no_workflow(text: str) -> None:
    """I001-2: without the heading the fields stand beside each other, and the file of a build server is no name."""
    assert isinstance(read(text), str)


@each_row(
    "text",
    [
        "Workflow: X\n\nPhase: 1/2\n",
        "Phase: 1/2\nWorkflow: X\n",
        "Workflow: X\nBranch: main\n\n@docs/a.md\n- a note\n\nPhase: 1/2\n",
        "Workflow: X\n\nKey Reminders:\n- one\n\nPhase: 1/2\n\nText.\n",
    ],
)
def test_fields_and_lists_may_stand_between_a_workflow_and_its_phase(text: str) -> None:
    """I001-2: what people keep with the two lines does not part them."""
    assert parsed(text).name == "X"


def test_an_example_ends_with_its_section() -> None:
    """I001-2: what is below it belongs to it; a heading of its level begins something else."""
    lines = "Workflow: {}\nPhase: 1/2\n"
    assert parsed(f"## Example\n{lines}### More\n{lines}## Work\n{lines}".format("A", "B", "X")).name == "X"


@each_row(
    "line, phase, status",
    [
        ("1/3 - New", "New", None),
        ("2/5 - Paused", "Paused", None),
        ("2/5: Review", "Review", None),
        ("3 of 4 (Testing)", "Testing", None),
        ("4/4 - Done", "Done", None),
        ("2/5 - in_progress", None, "in_progress"),
        ("2/5 - 🔄 In Progress", None, "in_progress"),
        ("5/5 - Completed", None, "completed"),
        ("5/5 - Review (done)", "Review", "completed"),
        ("Paused", None, "blocked"),
    ],
)
def test_a_title_behind_a_number_is_no_status(line: str, phase: str | None, status: str | None) -> None:
    """R001-07: only the document's own words, which are no title, or a mark behind the title, say a status there."""
    extract = parsed(f"# Workflow State\nWorkflow: X\nPhase: {line}\n")
    assert (extract.phase, extract.status) == (phase, status)


def test_what_is_too_long_to_be_read_whole_is_said(put: Put) -> None:
    """R001-27: what is beyond the limit is missing from the workflow, so it is no secret."""
    lines = "@docs/of/a/file.md\n" * 15_000
    candidate = memory_file.look(put("CLAUDE.local.md", f"# Workflow State\nWorkflow: X\nPhase: 1/2\n{lines}"))
    extract = candidate.extract

    assert extract is not None
    assert extract.unread == "only its first 256 KB were read. Shorten it"
    assert candidate.warnings == (extract.unread,)


def test_reminders_context_status_and_type_are_taken_over() -> None:
    """R001-11: what the agent keeps in the memory file is part of the extract."""
    extract = parsed(
        "# Workflow State\n\n- **Workflow:** QA Loop\n- **Type:** qa-loop\n- **Phase:** 2/3 - Fixing\n"
        "- **Status:** 🔄 In Progress\n\n## Required Reading\n- `@docs/a.md`\n- docs/b.md\n- a note, no path\n\n"
        "## Key Reminders\n- Run tests\n- Fix types\n\n## Context\n- iteration: 3\n- page: home\n- ready: true\n"
    )
    assert (extract.kind, extract.status) == ("qa-loop", "in_progress")
    assert extract.reading == ("@docs/a.md", "@docs/b.md")
    assert extract.reminders == ("Run tests", "Fix types")
    assert extract.context == {"iteration": 3, "page": "home", "ready": True}


@each_row(
    "name, phase",
    [
        ("Tide  **Phase:** 2/3 - Print  **Status:** In Progress", "1/2"),
        ("~~Tide~~", "1/2"),
        ("[workflow name]", "1/2"),
        ("<name>", "1/2"),
        ("No active workflow at the moment", "1/2"),
        ("see docs/workflow.md", "1/2"),
        ("Tide ✅ done", "2/3 - Print"),
        ("Tide\nWorkflow status: Complete", "2/3 - Print"),
        ("Tide\nStatus: Cancelled", "2/3 - Print"),
        ("Tide\nStatus: inactive", "2/3 - Print"),
    ],
)
def test_what_names_no_workflow_that_goes_on_is_left_alone(name: str, phase: str) -> None:
    """I001-2: placeholders, several fields on one line, and what is over: no state is better than a false one."""
    assert isinstance(read(f"# Workflow State\nWorkflow: {name}\nPhase: {phase}\n"), str)


@each_row("name", ["TODO app", "See the sea", "[Auth] rework", "Order status: rework", "No-code tide", "Idle game"])
def test_a_name_may_begin_like_none(name: str) -> None:
    """I001-2, R001-23."""
    assert parsed(f"# Workflow State\nWorkflow: {name}\n").name == name


@each_row("more", ["", "Status: In Progress (phase 2/5)\n", "- [x] Phase 1: Design\n- [ ] Phase 2: Build\n"])
def test_only_a_phase_line_names_the_phase(more: str) -> None:
    """R001-21: without one the position is unknown, whatever else names phases."""
    extract = parsed(f"# Workflow State\nWorkflow: X\n{more}")
    assert (extract.current, extract.total, extract.phase) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("Phase: 7/5", "phase 7 is beyond the total of 5; 5 is taken instead"),
        ("Phase: 2/0", "phase 2 is beyond the total of 0; 1 is taken instead"),
        ("Phase: 0/5", "phase 0 is before the first; 1 is taken instead"),
        ("Phase: 1/2\n\n# Workflow State\nWorkflow: Y", 'also names the workflow "Y", which is not used: the first'),
        ("Phase: 1/2\n\n# Workflow State\nWorkflow: X", 'again names the workflow "X", which is not used'),
    ],
)
def test_what_is_odd_or_left_aside_in_the_file_is_a_warning(put: Put, text: str, warning: str) -> None:
    """R001-27, I001-17: a phase beyond the total, and every other block, with the reason why it is not used."""
    candidate = memory_file.look(put("CLAUDE.local.md", f"# Workflow State\nWorkflow: X\n{text}\n"))
    [said] = candidate.warnings
    assert warning in said


def test_what_comes_before_the_block_that_is_used_is_mentioned_too(put: Put) -> None:
    """R001-27: a workflow without a heading gives way to one under a heading."""
    path = put("CLAUDE.local.md", "Workflow: X\nPhase: 1/2\n\n# Workflow State\nWorkflow: Y\n")
    candidate = memory_file.look(path)
    extract = candidate.extract
    assert extract is not None
    assert extract.name == "Y"
    assert candidate.warnings == (
        'also names the workflow "X", which is not used: one under a heading "Workflow State" comes first',
    )


@pytest.mark.parametrize(
    "text", ["Phase: 5/5", "Phase: 1/2\n\n## Workflow state notes\n\nMore.", "Phase: 1/2\n\n# Other\n\nText."]
)
def test_a_file_with_one_sound_block_has_no_warning(put: Put, text: str) -> None:
    """R001-27: nothing is called odd that is not."""
    candidate = memory_file.look(put("CLAUDE.local.md", f"# Workflow State\nWorkflow: X\n{text}\n"))
    extract = candidate.extract
    assert extract is not None
    assert candidate.warnings == ()


@each_row(
    "text, reason",
    [
        ("Workflow: X\nPhase: n/a\n", 'nor a "Phase:" line beside it that names a phase'),
        ("Workflow: none\nPhase: 1/2\n", 'has a line "Workflow: none", which names no workflow'),
        ("Workflow: X\n", 'neither a heading "Workflow State" above it nor a "Phase:" line beside it'),
        ("# A\nWorkflow: X\n# B\nPhase: 1/2\n", 'nor a "Phase:" line beside it'),
    ],
)
def test_the_reason_why_there_is_no_workflow_is_true(text: str, reason: str) -> None:
    """R001-27: what is missing is said to be missing, and what stands there is not."""
    found = read(text)
    assert isinstance(found, str)
    assert reason in found


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "Workflow: X\n",
        "# Workflow State\nWorkflow: X\n",
        "Workflow State\n",
        "\u00a0" * 1000 + "Workflow:x\n",
        "Phase 1: a\n",
        "## Required Reading\n- a.b\n",
        "e.g.:\n    x\n",
        "a: b   ",
        "\n",
    ],
)
def test_the_worst_of_files_takes_time_in_proportion_to_its_length(piece: str) -> None:
    """A quarter of a megabyte of it: one pass too many for each line would outlast the time limit of the tests."""
    text = piece * (text_file.LIMIT_BYTES // len(piece))
    assert read(text)


@given(st.text(alphabet=st.sampled_from("Workflow: Phase4/10-@#*\n`a.b\t"), max_size=400))
def test_any_text_is_an_extract_or_a_reason(text: str) -> None:
    """Nothing a memory file holds raises, and a name is never empty."""
    found = read(text)
    assert found.name if isinstance(found, Extract) else found
