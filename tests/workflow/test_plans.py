"""Detection method 2: plans in progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.workflow import plans
from holdfast.workflow.extract import Extract

if TYPE_CHECKING:
    from holdfast.project import Project
    from tests.workflow.conftest import Put

PLAN = """# Plan 001: User Auth

**Status**: 🔄 In Progress

See CLAUDE/PlanWorkflow.md and @CLAUDE/Auth.md.

## Tasks

### Phase 1: Design ✅
- [x] Sketch

### Phase 2: Build Components
- [x] Login
- [ ] Logout

### Phase 3: Test
- [ ] All of it
"""


def parsed(project: Project, text: str, folder: str = "001-user-auth") -> Extract | str:
    return plans.parse(text, project.root / "CLAUDE/Plan" / folder / "PLAN.md", project.root, 1.0)


def test_a_plan_gives_name_number_readings_and_phase(project: Project) -> None:
    """R001-22, I001-15: the title without "Plan NNN:", documents as readings, the first phase that is not done."""
    extract = parsed(project, PLAN)
    assert isinstance(extract, Extract)
    assert extract.name == "User Auth"
    assert extract.context == {"plan_number": 1}
    assert extract.reading == ("@CLAUDE/Plan/001-user-auth/PLAN.md", "@CLAUDE/PlanWorkflow.md", "@CLAUDE/Auth.md")
    assert (extract.current, extract.total, extract.phase) == (2, 3, "Build Components")
    assert extract.origin == "plan"


def test_without_phase_headings_a_plan_is_at_one_of_one(project: Project) -> None:
    """I001-15: the original's 1/1, and the folder gives the number the title does not."""
    extract = parsed(project, "# User Auth\nStatus: In Progress\nA workflow.\n", "042-auth")
    assert isinstance(extract, Extract)
    assert (extract.current, extract.total, extract.name) == (1, 1, "User Auth")
    assert extract.context == {"plan_number": 42}


@pytest.mark.parametrize(
    "status",
    ["**Status**: In Progress", "- **Status:** 🔄 In Progress", "status: in_progress", "| Status | 🔄 In Progress |"],
)
def test_the_status_line_counts_with_and_without_emoji(project: Project, status: str) -> None:
    """I001-14: real plans write the status in many ways."""
    assert isinstance(parsed(project, f"# P\n{status}\nphase\n"), Extract)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# P\n**Status**: ✅ Complete\nphase\nLegend: 🔄 In Progress\n", 'its status is "✅ Complete"'),
        ("# P\nStatus: Not in progress\nphase", "its status is"),
        ("# P\nphase without any status", "no status line"),
        ("# P\nStatus: In Progress\nnothing formal", "neither the word"),
        ("# P\n```\nStatus: In Progress\n```\nphase", "no status line"),
    ],
)
def test_other_plans_are_refused_with_the_reason(project: Project, text: str, reason: str) -> None:
    """I001-14: the literal elsewhere counts only without a status line; legends and code do not."""
    found = parsed(project, text)
    assert isinstance(found, str)
    assert reason in found


def test_the_literal_counts_where_there_is_no_status_line(project: Project) -> None:
    """R001-22: "🔄 In Progress" anywhere in a plan without a status line."""
    assert isinstance(parsed(project, "# P\nThe phase is 🔄 In Progress now.\n"), Extract)


def test_phase_marks_are_read_and_left_out_of_titles(project: Project) -> None:
    """A heading's own mark tells what is done where there are no boxes."""
    text = "# P\nStatus: In Progress\n## Phase 1: Get it done (Complete)\n## Phase 2 - Build 🔄\n## Phase 3: Check\n"
    extract = parsed(project, text)
    assert isinstance(extract, Extract)
    assert (extract.current, extract.total, extract.phase) == (2, 3, "Build")


def test_when_all_phases_are_done_the_last_one_is_current(project: Project) -> None:
    """A plan still in progress with all its boxes ticked stands at its last phase."""
    extract = parsed(project, "# P\nStatus: In Progress\n## Phase 1: A\n- [x] a\n## Phase 2: B\n- [X] b\n")
    assert isinstance(extract, Extract)
    assert (extract.current, extract.total, extract.phase) == (2, 2, "B")


def test_the_most_recently_changed_plan_in_progress_counts(project: Project, put: Put) -> None:
    """I001-13: of several, the last changed; the others say so."""
    put("CLAUDE/Plan/001-old/PLAN.md", PLAN.replace("User Auth", "Old"), age=100)
    put("CLAUDE/Plan/002-new/PLAN.md", PLAN.replace("User Auth", "New"), age=10)
    put("CLAUDE/Plan/003-done/PLAN.md", "# D\nStatus: Complete\nphase\n")
    looked = plans.look(project.root)
    assert [extract.name for _, extract in looked if extract] == ["New"]
    assert [candidate.accepted for candidate, _ in looked] == [False, True, False]
    assert looked[2][0].reasons == ("is in progress too, but another changed later",)


def test_plans_of_one_moment_are_ordered_by_name(project: Project, put: Put) -> None:
    """I001-13: deterministic, also after a checkout gave all files one time."""
    for name in ("b", "a", "c"):
        put(f"CLAUDE/Plan/{name}/PLAN.md", PLAN.replace("User Auth", name))
    assert [extract.name for _, extract in plans.look(project.root) if extract] == ["a"]
