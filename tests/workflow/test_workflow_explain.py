"""The answers to document 001's troubleshooting."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast.workflow import explain
from holdfast.workflow.formats import compaction, hybrid
from holdfast.workflow.model import Start

if TYPE_CHECKING:
    from holdfast.project import Project
    from tests.workflow.conftest import Put, Seed

FOLDER = "untracked/workflow-state"


def snapshot(project: Project) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in project.root.rglob("*") if path.is_file()
    }


def test_every_question_has_its_answer(project: Project, put: Put, seed: Seed) -> None:
    """R001-27: detected and by which marker; which files exist, where, when created and changed; which pile up."""
    put("CLAUDE.local.md", seed("memory.md"))
    put("CLAUDE/Plan/001-x/PLAN.md", "# Plan 1: X\nStatus: Complete\nphase")
    put(f"{FOLDER}/qa-loop/state-qa-loop-1.json", seed("compaction-qa-loop.json"), age=50)
    put(f"{FOLDER}/qa-loop/state-qa-loop-2.json", seed("compaction-qa-loop.json"), age=10)
    put(
        f"{FOLDER}/done/state-done-1.json",
        {"workflow": "D", "phase": {"current": 1, "total": 1, "status": "completed"}},
        age=5,
    )
    put(f"{FOLDER}/broken/state-broken-1.json", "{")
    before = snapshot(project)
    told = explain.explain(project)
    assert snapshot(project) == before
    assert [(each["method"], each["accepted"]) for each in told["candidates"]] == [
        ("CLAUDE.local.md", True),
        ("plan", False),
    ]
    assert told["detected"]["name"] == "Page Orchestration - Case Studies"
    assert told["would_save"]["action"] == "created"
    assert told["would_save"]["path"].startswith(f"{FOLDER}/page-orchestration-case-studies/state-")
    assert {each["path"] for each in told["state_files"]} == {
        f"{FOLDER}/qa-loop/state-qa-loop-1.json",
        f"{FOLDER}/qa-loop/state-qa-loop-2.json",
        f"{FOLDER}/done/state-done-1.json",
    }
    qa = next(each for each in told["state_files"] if each["path"].endswith("loop-2.json"))
    assert (qa["created_at"], qa["current"], qa["total"], qa["phase"]) == (
        "2025-12-09T15:00:00Z",
        2,
        3,
        "Fixing Errors",
    )
    assert qa["updated_at"].startswith("2023-11-14T")
    assert {each["path"] for each in told["accumulating"]} == {
        f"{FOLDER}/qa-loop/state-qa-loop-1.json",
        f"{FOLDER}/done/state-done-1.json",
    }
    assert [each["path"].rsplit("/", 1)[-1] for each in told["problems"]] == ["state-broken-1.json"]
    assert told["would_restore"] == [f"compaction:{FOLDER}/qa-loop/state-qa-loop-2.json"]
    json.dumps(told)


def test_the_text_says_the_same_for_people(project: Project, put: Put, seed: Seed) -> None:
    """R001-27: marker and reason, path, created, changed, problem."""
    put("CLAUDE.local.md", seed("memory.md"))
    put(f"{FOLDER}/qa-loop/state-qa-loop-1.json", seed("compaction-qa-loop.json"))
    hybrid.start(project, Start(title="Ship", phases=(("A", "x"),)))
    text = explain.text(explain.explain(project))
    for piece in (
        'CLAUDE.local.md: names the workflow "Page Orchestration - Case Studies" and has a heading "Workflow State"',
        "the next PreCompact would create",
        "created 2025-12-09T15:00:00Z, changed 2023-11-14T",
        '"Ship" (hybrid): phase 0/1',
        "hybrid:.claude/state/workflow.json: in full",
    ):
        assert piece in text


def test_an_empty_project_is_explained_too(project: Project) -> None:
    """Nothing is detected, and the reason stands there."""
    told = explain.explain(project)
    assert told["detected"] is None
    assert told["would_save"] == {"action": "none", "path": None}
    assert told["candidates"][0]["reasons"] == ["does not exist"]
    assert "nothing to save" in explain.text(told)


@pytest.mark.parametrize("everything", [False, True])
def test_a_completed_workflow_is_said_to_be_buried(project: Project, put: Put, seed: Seed, everything: bool) -> None:
    """Why nothing is saved although the memory file still names a workflow."""
    from holdfast.workflow.detect import detect

    put("CLAUDE.local.md", seed("memory.md"))
    workflow = compaction.save(project, detect(project).extract).workflow
    assert workflow is not None
    if everything:
        compaction.done(project, workflow, everything=True)
    else:
        workflow.path.unlink()
    assert explain.explain(project)["would_save"]["action"] == "buried"
    assert "this workflow was completed" in explain.text(explain.explain(project))
