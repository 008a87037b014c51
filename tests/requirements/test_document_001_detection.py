"""Document 001, is somebody in a formal workflow right now? (R001-21 to -23, I001-1, -2, -13 to -16)."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import document_001 as document
from tests.requirements.document_001 import Desk

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

PLAN = """# Plan 001: User Auth

**Status**: 🔄 In Progress

## Phase 1: Design

- [x] a

## Phase 2: Build

- [ ] b
"""


@pytest.fixture
def desk(holdfast_project: Callable[..., HoldfastProject]) -> Desk:
    """A project without a workflow."""
    return Desk(holdfast_project({}))


def saved(desk: Desk, memory: str | None = None) -> dict[str, Any] | None:
    """Let a compaction come; return what the only state file says then, None where there is no file."""
    if memory is not None:
        desk.put("CLAUDE.local.md", memory)
    desk.precompact()
    return desk.state if desk.files else None


def name_of(state: dict[str, Any] | None) -> str | None:
    return str(state["workflow"]) if state else None


def test_the_documents_memory_file_is_detected(desk: Desk) -> None:
    """R001-21: CLAUDE.local.md at the project root gives name, number, total, phase name and both readings."""
    found = saved(desk, document.words("memory-file.md"))

    assert found is not None
    assert found["workflow"] == "Page Orchestration - Case Studies"
    assert (found["phase"]["current"], found["phase"]["total"]) == (4, 10)
    assert found["phase"]["name"] == "SEO Generation"
    assert found["required_reading"] == ["@CLAUDE/PageOrchestration.md", "@CLAUDE/Sitemap/case-studies.md"]


def test_only_the_memory_file_at_the_root_counts(desk: Desk) -> None:
    """R001-21: at the project root, under this name."""
    for place in ("docs/CLAUDE.local.md", "CLAUDE.md", "CLAUDE.local.txt", ".claude/CLAUDE.local.md"):
        desk.put(place, document.words("memory-file.md"))

    assert saved(desk) is None


def test_the_memory_files_status_is_one_of_four_words(desk: Desk) -> None:
    """R001-07: however people write it; what says that work hasn't begun isn't in progress."""
    rows = {
        "Pending": "not_started",
        "Not in progress": "not_started",
        "BLOCKED by X": "blocked",
        "active": "in_progress",
    }
    wrong = []
    for line, status in rows.items():
        desk.put("CLAUDE.local.md", f"# Workflow State\n\nWorkflow: X\nPhase: 1/2 Draft\nStatus: {line}\n")
        found = desk.explain()["detected"]
        if found["status"] != status:
            wrong.append(f"{line}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("spelled", [str, str.upper, str.lower, str.title, str.swapcase])
def test_the_markers_count_in_any_case(desk: Desk, spelled: Callable[[str], str]) -> None:
    """I001-1, R001-21: the document's own three markers, `WORKFLOW STATE`, `workflow:` and `Phase:`, however cased."""
    quoted = document.code(document.words("detection-markers.md"))
    heading, field, phase = (marker.strip('"') for marker in quoted[1:])
    assert (heading, field, phase) == ("WORKFLOW STATE", "workflow:", "Phase:")

    found = saved(desk, f"# {spelled(heading)}\n\n{spelled(field)} Release\n{spelled(phase)} 2/3 - Build\n")

    assert found is not None
    assert found["workflow"] == "Release"
    assert found["phase"] == {"current": 2, "total": 3, "name": "Build", "status": "in_progress"}


@pytest.mark.parametrize(
    "memory",
    [
        "# Workflow State\n\nWorkflow: Release\n",
        "## Current Workflow State\nWorkflow: Release\n",
        "Workflow: Release\nPhase: 2/3 - Build\n",
        "- Workflow: Release\n- Phase: 2/3 - Build\n",
        "* **Workflow**: Release\n* **Phase**: 2/3\n",
        "**Workflow:** Release\n**Phase:** 2/3\n",
        "    workflow: Release\n    phase: 2/3\n",
        "# Notes\n\nSome prose first.\n\n# Workflow State\n\n1. Workflow: Release\n2. Phase: 2/3\n",
        "\ufeff# Workflow State\r\n\r\nWorkflow: Release\r\nPhase: 2/3 - Build\r\n",
    ],
)
def test_a_workflow_line_with_a_heading_or_a_phase_line_is_enough(desk: Desk, memory: str) -> None:
    """I001-2: the `workflow:` field is required, and the heading OR a Phase line; bullets, bold, indents are fine."""
    assert name_of(saved(desk, memory)) == "Release"


@pytest.mark.parametrize(
    "memory",
    [
        "Our git workflow: rebase, never merge.\nPhase: 2/3\n",
        "# Workflow State\n\nWe have no formal workflow: we just work.\n",
        "# Workflow State\n\nWorkflow:\nPhase: 2/3\n",
        "# Workflow State\n\nWorkflow:   \n",
        "# Workflow State\n\nPhase: 2/3 - Build\n",
        "Workflow: Release\n",
        "# Workflow\n\nThe workflow is described elsewhere. Every phase: plan, build, test.\n",
        "# Git\n\n- the workflow: rebase\n- the phase: none\n",
        "",
    ],
)
def test_prose_about_workflows_is_none(desk: Desk, memory: str) -> None:
    """I001-2: neither a heading nor a sentence makes a workflow, and no field alone does."""
    assert saved(desk, memory) is None


def test_an_active_plan_is_detected(desk: Desk) -> None:
    """R001-22: CLAUDE/Plan/*/PLAN.md with the document's status and the word phase or workflow in its content."""
    status, *keywords = document.code(document.words("active-plans.md"))[1:]
    assert (status, keywords) == ("🔄 In Progress", ['"phase"', '"workflow"'])
    for keyword, name in zip(keywords, ("One", "Two"), strict=True):
        word = keyword.strip('"')
        plan = f"# {name}\n\n{status}\n\nA {word} follows.\n"
        desk.put(f"CLAUDE/Plan/{name}/PLAN.md", plan)
        desk.precompact()
        desk.put(f"CLAUDE/Plan/{name}/PLAN.md", plan.replace("In Progress", "Complete"))

    assert {desk.read(path)["workflow"] for path in desk.files} == {"One", "Two"}


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("CLAUDE/Plan/001-x/PLAN.md", "# Plan 001: X\n\n**Status**: 🔄 In Progress\n\nJust a list of things.\n"),
        ("CLAUDE/Plan/001-x/PLAN.md", "# Plan 001: X\n\n**Status**: ✅ Completed\n\n## Phase 1: A\n"),
        ("CLAUDE/Plan/001-x/PLAN.md", "# Plan 001: X\n\n## Phase 1: A\n\n## The workflow\n"),
        ("CLAUDE/Plan/PLAN.md", PLAN),
        ("CLAUDE/Plan/a/b/PLAN.md", PLAN),
        ("CLAUDE/Plan/001-x/NOTES.md", PLAN),
        ("Plan/001-x/PLAN.md", PLAN),
    ],
)
def test_another_plan_is_no_workflow(desk: Desk, place: str, text: str) -> None:
    """R001-22: not in progress, not a formal workflow, or not at that place."""
    desk.put(place, text)

    assert saved(desk) is None


def test_of_several_plans_none_is_taken_without_evidence(desk: Desk) -> None:
    """I001-13: whichever changed last; each is named in a line, and nothing is written."""
    for number, age in ((1, 50), (2, 10), (3, 10)):
        desk.put(f"CLAUDE/Plan/00{number}-x/PLAN.md", PLAN.replace("001: User Auth", f"00{number}: X{number}"), age=age)

    assert saved(desk) is None
    explained = desk.explain()
    assert [each["accepted"] for each in explained["candidates"]] == [False] * 4, "the memory file and three plans"
    given = desk.compaction()
    assert document.RESTORED not in given
    for number in (1, 2, 3):
        assert given.count(f"CLAUDE/Plan/00{number}-x/PLAN.md is in progress") == 1


@pytest.mark.parametrize(
    "status",
    [
        "**Status**: 🔄 In Progress",
        "**Status**: In Progress",
        "**Status:** In progress",
        "Status: in progress",
        "- Status: 🔄 In Progress (2 of 5)",
        "> **Status**: In Progress",
        "| **Status** | 🔄 In Progress |",
        "## Status: In Progress",
        "## 🔄 In Progress",
        "This plan is 🔄 In Progress since Monday.",
    ],
)
def test_a_plan_is_in_progress_with_or_without_the_emoji(desk: Desk, status: str) -> None:
    """I001-14: the Status line says so; the literal elsewhere counts where there is no Status line."""
    desk.put("CLAUDE/Plan/001-x/PLAN.md", f"# Plan 001: X\n\n{status}\n\n## Phase 1: A\n\n- [ ] a\n")

    assert name_of(saved(desk)) == "X"


@pytest.mark.parametrize(
    "text",
    [
        "**Status**: Complete\n\nLegend: ⬜ Not Started, 🔄 In Progress, ✅ Complete\n",
        "**Status**: ⬜ Not Started\n\n- 🔄 In Progress: being worked on\n",
        "**Status**: Proposed, not In Progress\n",
        "The migration is in progress elsewhere.\n",
    ],
)
def test_a_legend_or_prose_does_not_make_a_plan_active(desk: Desk, text: str) -> None:
    """I001-14: where there is a Status line, only it counts; without the emoji prose says nothing."""
    desk.put("CLAUDE/Plan/001-x/PLAN.md", f"# Plan 001: X\n\n{text}\n## Phase 1: A\n")

    assert saved(desk) is None


def test_a_plan_gives_name_number_readings_and_phase(desk: Desk) -> None:
    """I001-15: name without "Plan NNN:", number as context, CLAUDE/ paths and the plan as readings, the phase."""
    text = PLAN.replace("## Phase 1", "See CLAUDE/PlanWorkflow.md and `CLAUDE/Auth/README.md`.\n\n## Phase 1")
    desk.put("CLAUDE/Plan/001-user-auth/PLAN.md", text)

    found = saved(desk)

    assert found is not None
    assert document.violations(found) == []
    assert found["workflow"] == "User Auth"
    assert found["context"]["plan_number"] == 1
    assert found["phase"] == {"current": 2, "total": 2, "name": "Build", "status": "in_progress"}
    assert set(found["required_reading"]) == {
        "@CLAUDE/Plan/001-user-auth/PLAN.md",
        "@CLAUDE/PlanWorkflow.md",
        "@CLAUDE/Auth/README.md",
    }


def test_a_plan_without_phase_headings_is_at_phase_one_of_one(desk: Desk) -> None:
    """I001-15: as the original has it; the number comes from the directory where the title has none."""
    desk.put("CLAUDE/Plan/042-speed/PLAN.md", "# Make it fast\n\n**Status**: In Progress\n\nOne phase only.\n")

    found = saved(desk)

    assert found is not None
    assert (found["workflow"], found["context"]["plan_number"]) == ("Make it fast", 42)
    assert (found["phase"]["current"], found["phase"]["total"]) == (1, 1)


def test_the_memory_file_names_the_workflow_and_a_plan_adds_to_it(desk: Desk) -> None:
    """I001-16: where both methods find one, name and phase are the memory file's, readings and context are united."""
    desk.put("CLAUDE/Plan/001-user-auth/PLAN.md", PLAN)

    found = saved(desk, document.words("memory-file.md"))

    assert found is not None
    assert found["workflow"] == "Page Orchestration - Case Studies"
    assert (found["phase"]["current"], found["phase"]["total"], found["phase"]["name"]) == (4, 10, "SEO Generation")
    assert found["required_reading"] == [
        "@CLAUDE/PageOrchestration.md",
        "@CLAUDE/Sitemap/case-studies.md",
        "@CLAUDE/Plan/001-user-auth/PLAN.md",
    ]
    assert found["context"]["plan_number"] == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Page Orchestration - Case Studies", "page-orchestration"),
        ("Nightly Sourdough", "baking"),
        ("x", "release"),
        ("データ移行", ""),
        ("42", "custom"),
    ],
)
def test_any_workflow_of_any_type_is_one(desk: Desk, name: str, kind: str) -> None:
    """R001-23: "are you in a formal workflow?" is the question; no list of names or types decides."""
    found = saved(desk, f"# Workflow State\n\nWorkflow: {name}\nType: {kind}\nPhase: 1/2 - Begin\n")

    assert name_of(found) == name
    assert f"Workflow: {name}" in desk.begin().context


UNKNOWN = "Phase: position unknown, see the plan (in_progress)"
POSITIONS = {
    "a label with a point": (
        "## Phase 1: Base ✅\n## Phase 2: Data ✅\n## Phase 2.1: Fixes 🔄 In Progress\n## Phase 3: Ship",
        "Phase: 2.1 (3rd of 4) - Fixes (in_progress)",
    ),
    "letters, in a checklist": (
        "- [x] **Phase 1a: Base** - frame\n- [ ] **Phase 1b: Walls** - brick\n- [ ] **Phase 2: Roof**",
        "Phase: 1b (2nd of 3) - Walls (in_progress)",
    ),
    "Roman numbers": ("## Phase I — Base ✅\n## Phase II — Walls", "Phase: II (2nd of 2) - Walls (in_progress)"),
    "from zero": ("## Phase 0: Base ✅\n## Phase 1: Walls", "Phase: 1 (2nd of 2) - Walls (in_progress)"),
    "with their total": ("## Phase 1 of 2: Base ✅\n## Phase 2 of 2: Walls", "Phase: 2/2 - Walls (in_progress)"),
    "steps below a phase": (
        "## Phase 1: Base\n### Phase 1.1: Dig ✅\n### Phase 1.2: Pour\n- [ ] mix\n## Phase 2: Walls",
        "Phase: 1/2 - Base (in_progress)",
    ),
    "a remark behind the mark": (
        "## Phase 1: Base ✅ closed May 2 (see notes)\n## Phase 2: Walls",
        "Phase: 2/2 - Walls (in_progress)",
    ),
    "an open box with a sign": ("- [ ] ✅ Phase 1: Base\n- [ ] Phase 2: Walls", "Phase: 2/2 - Walls (in_progress)"),
    "put off, but with open boxes": (
        "## Phase 1: Base (deferred to host)\n- [x] dig\n- [ ] pour\n## Phase 2: Walls\n- [ ] brick",
        "Phase: 1/2 - Base (in_progress)",
    ),
    "nothing is said of an earlier one": (
        "## Phase 0: Base\nText.\n## Phase 1: Walls\n- [x] brick\n## Phase 2: Roof\n- [ ] tiles",
        "Phase: 2 (3rd of 3) - Roof (in_progress)",
    ),
    "a list under Phases": (
        "## Phases\n1. Base\n2. Walls\n## Skills\n- Phase 1 → direct, plain\n- Phase 2 → direct, plain",
        "Phase: 1/2 - Base (in_progress)",
    ),
    "a table with links": (
        "| Phase | Area | Status |\n|---|---|---|\n| [1](#a) | Base | Done |\n| [2](#b) | Walls | open |",
        "Phase: 2/2 - Walls (in_progress)",
    ),
    "marks of phases before boxes of tasks": (
        "- [x] **Phase 1: Base**\n- [ ] **Phase 2: Walls**\n## Details\n"
        "### Phase 1: Base\n- [ ] a\n### Phase 2: Walls\n- [x] b",
        "Phase: 2/2 - Walls (in_progress)",
    ),
    "a line that names it": (
        "**Current Phase**: Phase 2\n## Phase 1: Base\n## Phase 2: Walls\n## Phase 3: Roof",
        "Phase: 2/3 - Walls (in_progress)",
    ),
    "all done": ("## Phases\n- [x] Base\n- [x] Walls", "Phase: 2/2 - Walls (in_progress)"),
    "a list of what is over": (
        "## Completed phases\n- ✅ Base\n- ✅ Walls\n## Phase 1: Base\n- [x] dig\n## Phase 2: Walls\n- [x] brick\n"
        "## Phase 3: Roof\n- [ ] tile",
        "Phase: 3/3 - Roof (in_progress)",
    ),
    "a count in German": (
        "## Phase 1 von 2: Planen ✅\n## Phase 2 von 2: Bauen\n- [ ] mauern",
        "Phase: 2/2 - Bauen (in_progress)",
    ),
    "headings against boxes": (
        "Done:\n\n✅ **Phase 1: Base** - laid\n✅ **Phase 2: Walls** - up\n\n"
        "## Phase 1: Base - 🔄 IN PROGRESS\n## Phase 2: Walls\n## Phase 3: Roof",
        UNKNOWN,
    ),
    "a mark against its boxes": ("## Phase 1: Base ✅\n- [ ] dig\n## Phase 2: Walls\n- [x] brick\n- [ ] door", UNKNOWN),
    "no list of phases": ("The phases are in the ticket.", UNKNOWN),
    "criteria": ("## Success criteria\n- Phase 1 Complete: it stands\n- Phase 2 Complete: it is dry", UNKNOWN),
    "one bullet": ("- Phase 1: we saw that it rains", UNKNOWN),
    "links to files": (
        "## Phase documents\n- [Phase1.md](Phase1.md) - Base\n- [Phase2.md](Phase2.md) - Walls",
        UNKNOWN,
    ),
}


def test_the_position_is_the_one_that_a_person_reads_in_the_plan(desk: Desk) -> None:
    """I001-15: one list of phases, with the labels as they are written; unknown where nothing tells."""
    wrong = []
    for number, (form, (text, expected)) in enumerate(POSITIONS.items()):
        plan = desk.put("CLAUDE/Plan/001/PLAN.md", f"# House {number}\n\n**Status**: In Progress\n\n{text}\n")
        told = [line for line in desk.compaction().splitlines() if line.startswith("Phase: ")]
        wrong += [] if told == [expected] else [f"{form}: {told}"]
        plan.unlink()
        shutil.rmtree(desk.root / document.FOLDER)

    assert not wrong, "\n".join(wrong)


def test_the_next_step_of_the_memory_file_is_the_next_step_until_its_phase_ends(desk: Desk) -> None:
    """The words that somebody wrote, and a label that is no number."""
    memory = "# Workflow State\n\nWorkflow: House\nPhase: 3A - Walls\nNext step: "
    desk.put("CLAUDE.local.md", f"{memory}order the sand\n")
    assert "Next step: order the sand" in desk.compaction()
    desk.put("CLAUDE.local.md", f"{memory}order the bricks\n")
    told = desk.compaction()

    assert 'Phase: 3A - Walls (in_progress)\nNext step: order the bricks, then holdfast done "Walls"\n' in told
    desk.run("update", "--total", "2")
    desk.run("done")
    assert "order the bricks" not in desk.compaction()


def test_an_unknown_position_isnt_taken_for_the_last_phase(desk: Desk) -> None:
    """R001-19: only a workflow whose phases are all done is removed."""
    desk.put("CLAUDE/Plan/001/PLAN.md", "# House\n\n**Status**: In Progress\n\nA workflow.\n")
    desk.precompact()

    assert "--total" in desk.run("done", code=1).err
    assert desk.file.exists()
