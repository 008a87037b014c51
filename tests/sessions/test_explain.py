"""The answers to document 001's troubleshooting."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from holdfast.formats.compaction import merge
from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.sessions import explain
from holdfast.workflow import verbs
from holdfast.workflow.model import Start

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put, Seed

FOLDER = "untracked/workflow-state"


def test_explain_prints_reasons_paths_and_times(project: Workspace, put: Put, seed: Seed) -> None:
    """R001-27: marker and reason, path, created, changed, problem."""
    put("CLAUDE.local.md", seed("memory.md"))
    put(f"{FOLDER}/qa-loop/state-qa-loop-1.json", seed("compaction-qa-loop.json"))
    hybrid.start(project, Start(title="Ship", phases=(("A", "x"),)))
    text = explain.text(explain.explain(project))
    for piece in (
        'CLAUDE.local.md: names the workflow "Page Orchestration - Case Studies" and has a heading "Workflow State"',
        "PreCompact creates",
        "created 2025-12-09 15:00 UTC, changed 2023-11-14 ",
        '"Ship" (hybrid): phase 0/1',
        '"Ship": in one line, below "Page Orchestration - Case Studies"',
        "page-orchestration-case-studies",
        '"Page Orchestration - Case Studies": in full, as PreCompact saves it first',
        ": in one line; too old: it last changed at 2023-11-14 22:13 UTC, more than 7 days ago",
    ):
        assert piece in text


def test_a_path_that_is_no_text_is_told_all_the_same(project: Workspace) -> None:
    """What is printed can be written as UTF-8."""
    folder = project.root / "CLAUDE" / "Plan" / os.fsdecode(b"\xff")
    folder.mkdir(parents=True)
    (folder / "PLAN.md").write_text("Status: In Progress\nphase\n", encoding="utf-8")
    told = explain.explain(project)
    assert json.dumps(told, ensure_ascii=False).encode("utf-8")
    assert "CLAUDE/Plan/\ufffd/PLAN.md: is in progress" in explain.text(told)


def test_explain_marks_warnings(project: Workspace, put: Put) -> None:
    """R001-27: of the memory file, of state files, of what cannot be read, of what is in the way."""
    put("CLAUDE.local.md", "# Workflow State\nWorkflow: X\nPhase: 7/5\n\n# Workflow State\nWorkflow: Y\n")
    put(f"{FOLDER}/a/state-a-1.json", {"workflow": "A", "phase": {"current": 7, "total": 5}})
    put(f"{FOLDER}/b/state-b-1.json", "{")
    put(".claude/state/workflow.json", {"name": "CI", "jobs": {}})
    text = explain.text(explain.explain(project))
    marked = [line.strip() for line in text.splitlines() if line.strip().startswith("warning: ")]
    for words in (
        "phase 7 is beyond the total of 5; 5 is taken instead",
        'also names the workflow "Y", which is not used: the first that is not over counts',
        "state-b-1.json",
        ".claude/state/workflow.json",
        '"required_reading" is missing',
    ):
        assert [line for line in marked if words in line], words
    assert "beyond" not in "\n".join(line for line in text.splitlines() if "warning:" not in line)


def test_files_of_others_are_named_with_what_they_mean(project: Workspace, put: Put) -> None:
    """I000-20, R000-22, R000-37: a foreign state, a foreign view, and an orchestrator's own files."""
    put(".claude/state/workflow.json", {"name": "CI", "jobs": {}})
    put(".claude/workflow_state_system.md", "# My own notes\n")
    put(".claude/state/active_task_graph.json", {"nodes": []})
    put(".claude/state/delegated_sessions.txt", "a\n")
    told = explain.explain(project)
    assert [each["path"].removeprefix(f"{project.root}/") for each in told["left_alone"]] == [
        ".claude/state/workflow.json",
        ".claude/workflow_state_system.md",
        ".claude/state/active_task_graph.json",
        ".claude/state/delegated_sessions.txt",
    ]
    sections = dict(section.split("\n", 1) for section in explain.text(told).split("\n\n"))
    assert "Problems" not in sections, "it is said once"
    alone = sections["Left alone"].splitlines()
    assert alone[0].startswith("  warning: .claude/state/workflow.json: isn't a hybrid workflow")
    assert "so no workflow of the hybrid format can be kept here" in alone[0]
    assert 'it does not begin with "# Workflow Status:"' in alone[1]
    assert "so a hybrid workflow has no view here" in alone[1]
    assert [line.startswith("  warning: ") for line in alone] == [True, True, False, False]
    assert "Holdfast neither reads nor writes it" in alone[2]
    assert "Holdfast neither reads nor writes it" in alone[3]
    assert (project.root / ".claude/workflow_state_system.md").read_text() == "# My own notes\n"


@pytest.mark.parametrize("everything", [False, True])
def test_a_completed_workflow_is_said_to_be_buried(project: Workspace, put: Put, seed: Seed, everything: bool) -> None:
    """Why nothing is saved although the memory file still names a workflow."""
    from holdfast.formats.compaction.detection.detect import detect

    put("CLAUDE.local.md", seed("memory.md"))
    workflow = merge.save(project, detect(project).extract).saved
    assert workflow is not None
    if everything:
        verbs.done(project, workflow, everything=True)
    else:
        workflow.path.unlink()
    assert explain.explain(project)["would_save"]["action"] == "buried"
    text = explain.text(explain.explain(project))
    assert ("this workflow is completed" in text) is everything
    assert ("the state file was removed" in text and "`holdfast restore 1 --workflow " in text) is not everything
