"""Both methods together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.formats.compaction import adapter as compaction
from holdfast.formats.compaction.detection.detect import detect
from holdfast.workflow import verbs
from holdfast.workflow.model import Start

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put, Seed

pytestmark = pytest.mark.usefixtures("soon_after")

PLAN = "# Plan 7: Something else\nStatus: In Progress\nWorkflow with CLAUDE/Extra.md\n## Phase 1: P\n- [ ] x\n"


def test_nothing_is_detected_in_an_empty_project(project: Workspace) -> None:
    """R001-14: no workflow, no extract; the candidate says why."""
    detection = detect(project)
    assert detection.extract is None
    assert [candidate.accepted for candidate in detection.candidates] == [False]


def test_looking_at_everything_finds_the_same_and_says_more(project: Workspace, put: Put, seed: Seed) -> None:
    """R001-27: for people every plan is a candidate; a compaction gets the same extract sooner."""
    put("CLAUDE.local.md", seed("memory.md") + "\n@CLAUDE/Plan/007-x/PLAN.md\n")
    put("CLAUDE/Plan/007-x/PLAN.md", PLAN, age=10)
    put("CLAUDE/Plan/008-y/PLAN.md", PLAN.replace("Plan 7: Something", "Plan 8: Anything"), age=20)
    put("CLAUDE/Plan/009-z/PLAN.md", PLAN.replace("In Progress", "Complete"))
    soon, all_of_it = detect(project), detect(project, everything=True)
    assert soon.extract == all_of_it.extract
    assert [candidate.path.name for candidate in soon.candidates] == ["CLAUDE.local.md"]
    assert [(candidate.path.parent.name, candidate.accepted) for candidate in all_of_it.candidates[1:]] == [
        ("009-z", False),
        ("007-x", True),
        ("008-y", False),
    ]
    assert all_of_it.candidates[2].reasons == (
        'is in progress ("Something else"); the memory file names the workflow, this adds its reading to it',
    )
    names = "Page Orchestration - Case Studies", "Something else", "Anything else"
    assert tuple(extract.name for extract in soon.extracts) == names
    assert tuple(extract.name for extract in all_of_it.extracts) == names


def test_a_completed_plan_stays_buried_though_another_one_was_newer(project: Workspace, put: Put) -> None:
    """I001-6: the tombstone is for every plan of that name, also one that did not count when the workflow ended."""
    put("CLAUDE/Plan/001-old/PLAN.md", PLAN.replace("Something else", "Old"), age=100)
    old = compaction.save(project, detect(project).extract).workflow
    assert old is not None
    old.path.unlink()
    project.ledger.run("DELETE FROM extracts")  # as if it had been started by hand
    started = compaction.start(project, Start(title="Old"))
    put("CLAUDE/Plan/002-new/PLAN.md", PLAN.replace("Something else", "New"), age=10)
    verbs.done(project, started, everything=True)
    put("CLAUDE/Plan/002-new/PLAN.md", PLAN.replace("In Progress", "Complete"), age=5)

    extract = detect(project).extract
    assert extract is not None
    assert extract.name == "Old"
    assert compaction.save(project, extract).action == "buried"


def test_the_memory_file_names_and_the_plan_adds(project: Workspace, put: Put, seed: Seed) -> None:
    """I001-16: name and phase come from the memory file, readings and context are added from the plan."""
    put("CLAUDE.local.md", seed("memory.md"))
    put("CLAUDE/Plan/007-x/PLAN.md", PLAN)
    extract = detect(project).extract
    assert extract is not None
    assert (extract.name, extract.current, extract.phase) == ("Page Orchestration - Case Studies", 4, "SEO Generation")
    assert extract.reading[-2:] == ("@CLAUDE/Plan/007-x/PLAN.md", "@CLAUDE/Extra.md")
    assert extract.context == {"plan_number": 7}
    assert extract.origin == "memory+plan"


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize(("days", "fresh"), [(6, True), (8, False), (90, False)])
def test_a_plan_counts_as_long_as_it_is_fresh_itself(
    project: Workspace, put: Put, days: int, fresh: bool, everything: bool
) -> None:
    """Nobody works on what nobody changed for `freshness_days`; it does not even add to a memory file."""
    path = put("CLAUDE/Plan/007-x/PLAN.md", PLAN, age=days * 24 * 3600)
    found = detect(project, everything=everything)
    assert (found.extract is not None, not found.waiting) == (fresh, fresh)
    if everything:
        plan = next(each for each in found.candidates if each.path == path)
        assert (plan.accepted, plan.notable) == (fresh, not fresh)
        way = "holdfast start 'Something else' --read CLAUDE/Plan/007-x/PLAN.md"
        assert (way in plan.reasons[0]) is not fresh

    put("CLAUDE.local.md", "# Workflow State\nWorkflow: X\nPhase: 1/2\n")
    both = detect(project, everything=everything).extract
    assert both is not None
    assert bool(both.reading) is fresh


def test_a_plan_stands_alone_where_the_memory_file_names_nothing(project: Workspace, put: Put) -> None:
    """R001-22: method 2 counts without method 1."""
    put("CLAUDE.local.md", "# Notes\n")
    put("CLAUDE/Plan/007-x/PLAN.md", PLAN)
    extract = detect(project).extract
    assert extract is not None
    assert (extract.name, extract.origin) == ("Something else", "plan")


def test_a_change_in_the_plan_leaves_the_memory_files_digest(project: Workspace, put: Put, seed: Seed) -> None:
    """A plan that merely adds must not make a buried memory file look new."""
    put("CLAUDE.local.md", seed("memory.md"))
    alone = detect(project).extract
    put("CLAUDE/Plan/007-x/PLAN.md", PLAN)
    both = detect(project).extract
    assert alone is not None
    assert both is not None
    assert alone.digest == both.digest
    assert alone.content != both.content


def test_the_digest_follows_the_content_and_not_the_time(project: Workspace, put: Put, seed: Seed) -> None:
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
