"""The status of a plan that changed lately or long ago, and all candidates for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.formats.compaction.detection.detect import detect

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put, Seed

pytestmark = pytest.mark.usefixtures("soon_after")

PLAN = "# Plan 7: Something else\nStatus: In Progress\nWorkflow with CLAUDE/Extra.md\n## Phase 1: P\n- [ ] x\n"


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
    assert all_of_it.candidates[2].reason == (
        'is in progress ("Something else"); the memory file names the workflow, this adds its reading to it'
    )
    names = "Page Orchestration - Case Studies", "Something else", "Anything else"
    assert tuple(extract.name for extract in soon.extracts) == names
    assert tuple(extract.name for extract in all_of_it.extracts) == names


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
        assert plan.accepted is fresh
        way = "holdfast start 'Something else' --read CLAUDE/Plan/007-x/PLAN.md"
        assert (way in plan.reason) is not fresh

    put("CLAUDE.local.md", "# Workflow State\nWorkflow: X\nPhase: 1/2\n")
    both = detect(project, everything=everything).extract
    assert both is not None
    assert bool(both.reading) is fresh
