"""Ends and starts of compaction workflows beside leftovers, other lists, a full disk and a missing ledger."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import StateError
from holdfast.files import atomic
from holdfast.formats.compaction.detection import memory_file
from holdfast.formats.compaction.format import FORMAT as compaction
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes, Start, Workflow
from tests.doctoring import examine

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put

FOLDER = "untracked/workflow-state"
NAMED = (("Design", ""), ("Build", "coder"), ("Test", ""))


def started(project: Workspace, **changes: Any) -> Workflow:
    return compaction.start(project, Start(**({"title": "QA Loop", "kind": "qa-loop", "phases": NAMED} | changes)))


def data_of(workflow: Workflow) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(workflow.path.read_text(encoding="utf-8"))
    return data


def test_what_a_killed_writer_left_goes_with_its_workflow(project: Workspace) -> None:
    """Nobody writes it any more; what another file's writer left is none of this workflow's."""
    workflow, other = started(project), started(project, title="Other")
    left = [each.path.with_name(f".{each.path.name}.4711.tmp") for each in (workflow, other)]
    for each in left:
        each.write_text("{")

    verbs.done(project, workflow, everything=True)

    assert [each.exists() for each in left] == [False, True]
    assert not workflow.path.parent.exists()


def test_a_phase_that_gets_another_title_keeps_its_agent(project: Workspace) -> None:
    """Whether it is current or not."""
    now = verbs.update(project, started(project), Changes(current=2, phase="Build it"))
    assert [(each.title, each.agent) for each in now.phases] == [("Design", ""), ("Build it", "coder"), ("Test", "")]


def test_doctor_names_an_older_state_and_what_is_odd_in_the_memory_file(project: Workspace, put: Put) -> None:
    """Each with what to do."""
    newer = started(project).path
    older = newer.with_name("state-qa-loop-20200101_000000.json")
    older.write_bytes(newer.read_bytes())
    os.utime(older, (0, 0))
    put(memory_file.FILE, "# One\n\nWorkflow: A\nPhase: 1/2\n\n# Two\n\nWorkflow: B\nPhase: 1/2\n")

    found = {each.code: each for each in examine("compaction", project.root)}
    assert found["older"].text == f'{older} is an older state of "QA Loop", which has a newer file'
    assert found["older"].remedy == f"rm {older}"
    assert 'also names the workflow "B", which is not used: the first that is not over counts' in found["source"].text
    assert found["source"].remedy == f"correct {project.root / memory_file.FILE}"


def test_a_list_of_phases_that_is_not_ours_is_left_alone(project: Workspace, put: Put) -> None:
    """R001-05: the context is free; a title finds no place where somebody keeps something else."""
    theirs = {"phases": [1, 2], "note": "x"}
    state = {"workflow": "X", "phase": {"current": 1, "total": 3, "name": "A"}, "context": theirs}
    put(f"{FOLDER}/x/state-x-20250101_000000.json", state)
    (workflow,) = compaction.find(project).workflows
    assert data_of(verbs.done(project, workflow))["context"] == theirs


def test_without_a_ledger_the_completed_file_stays_under_another_name(project: Workspace) -> None:
    """Nothing is lost: what the ledger cannot keep is kept beside it, and said."""
    workflow = started(project)
    project.ledger.problem = "the disk is full"
    after = verbs.done(project, workflow, everything=True)
    (kept,) = workflow.path.parent.iterdir()
    assert kept.name.startswith(f"{workflow.path.name}.kept-")
    assert json.loads(kept.read_bytes())["phase"]["status"] == "completed"
    assert any(kept.name in warning for warning in after.warnings)
    assert compaction.find(project).workflows == ()


def test_a_start_that_cannot_be_written_leaves_nothing_and_takes_nothing_away(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither an empty folder nor the workflow that was to give way removed: as on a full disk."""
    before = started(project)

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(atomic, "_fill", refuse)
        for title in (before.title, "Another"):
            with pytest.raises(StateError):
                started(project, title=title, replace=True)

    assert [each.name for each in (project.root / FOLDER).iterdir() if each.is_dir()] == [before.path.parent.name]
    assert [each.path for each in compaction.find(project).workflows] == [before.path]
