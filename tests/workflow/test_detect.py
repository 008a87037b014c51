"""Both methods together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.workflow.detect import detect

if TYPE_CHECKING:
    from holdfast.project import Project
    from tests.workflow.conftest import Put, Seed

PLAN = "# Plan 7: Something else\nStatus: In Progress\nWorkflow with CLAUDE/Extra.md\n## Phase 1: P\n- [ ] x\n"


def test_nothing_is_detected_in_an_empty_project(project: Project) -> None:
    """R001-14: no workflow, no extract; the candidate says why."""
    detection = detect(project)
    assert detection.extract is None
    assert [candidate.accepted for candidate in detection.candidates] == [False]


def test_the_memory_file_names_and_the_plan_adds(project: Project, put: Put, seed: Seed) -> None:
    """I001-16: name and phase come from the memory file, readings and context are added from the plan."""
    put("CLAUDE.local.md", seed("memory.md"))
    put("CLAUDE/Plan/007-x/PLAN.md", PLAN)
    extract = detect(project).extract
    assert extract is not None
    assert (extract.name, extract.current, extract.phase) == ("Page Orchestration - Case Studies", 4, "SEO Generation")
    assert extract.reading[-2:] == ("@CLAUDE/Plan/007-x/PLAN.md", "@CLAUDE/Extra.md")
    assert extract.context == {"plan_number": 7}
    assert extract.origin == "memory+plan"


def test_a_plan_stands_alone_where_the_memory_file_names_nothing(project: Project, put: Put) -> None:
    """R001-22: method 2 counts without method 1."""
    put("CLAUDE.local.md", "# Notes\n")
    put("CLAUDE/Plan/007-x/PLAN.md", PLAN)
    extract = detect(project).extract
    assert extract is not None
    assert (extract.name, extract.origin) == ("Something else", "plan")


def test_a_change_in_the_plan_leaves_the_memory_files_digest(project: Project, put: Put, seed: Seed) -> None:
    """A plan that merely adds must not make a buried memory file look new."""
    put("CLAUDE.local.md", seed("memory.md"))
    alone = detect(project).extract
    put("CLAUDE/Plan/007-x/PLAN.md", PLAN)
    both = detect(project).extract
    assert alone is not None
    assert both is not None
    assert alone.digest == both.digest
    assert alone.content != both.content


def test_the_digest_follows_the_content_and_not_the_time(project: Project, put: Put, seed: Seed) -> None:
    """Touching a file changes nothing, changing its phase does."""
    put("CLAUDE.local.md", seed("memory.md"))
    first = detect(project).extract
    put("CLAUDE.local.md", seed("memory.md"), age=500)
    touched = detect(project).extract
    put("CLAUDE.local.md", seed("memory.md").replace("4/10", "5/10"))
    moved = detect(project).extract
    assert first is not None
    assert touched is not None
    assert moved is not None
    assert first.digest == touched.digest != moved.digest
