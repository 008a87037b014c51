"""What an earlier run left, and what was lost, moves nothing of a run."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import BrokenError, HoldfastError
from holdfast.formats.orchestrator import faults, moves, snapshots
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes
from tests.formats.memory import Memory

if TYPE_CHECKING:
    from tests.requirements.document_003 import Scene


def test_an_earlier_runs_checkpoint_is_no_way_back(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that lies beside the next run is restored if somebody names it."""
    scene.start()
    scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    old = scene.path.with_name("checkpoint-001.json").read_bytes()
    scene.do(lambda run: moves.cancel(run, "Enough"))
    scene.at("13:00:00")
    scene.start()
    assert not list(scene.path.parent.glob("checkpoint*"))  # they went into the archive
    scene.path.with_name("checkpoint-001.json").write_bytes(old)
    monkeypatch.setattr(type(scene.project), "latest", lambda *_: None)  # or the last content would be used
    whole = scene.path.read_bytes()
    for raw in (whole, b"{"):
        scene.put(raw)
        with pytest.raises(HoldfastError, match=r"of this run; checkpoint-001\.json is another run's"):
            snapshots.choose(scene.project)
    with pytest.raises(BrokenError):
        FORMAT.load(scene.project, scene.path)
    with pytest.raises(BrokenError):
        scene.do(lambda run: None)

    named = snapshots.choose(scene.project, "checkpoint-001.json")
    assert named.document.data["orchestrator"]["status"] == "planning"
    scene.put(whole)
    scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    scene.put(b"{")
    assert snapshots.choose(scene.project).document.path.name == "checkpoint-002.json"


@pytest.mark.parametrize("harm", ["removed", "emptied", "a pipe"])
def test_a_document_that_is_gone_changes_nothing(scene: Scene, harm: str) -> None:
    """An editor may be in the middle of saving it."""
    scene.start()
    before = scene.path.read_bytes()
    scene.doc.unlink()
    if harm == "emptied":
        scene.doc.write_text("")
    elif harm == "a pipe":
        os.mkfifo(scene.doc)

    assert not scene.do(lambda run: None).changed
    assert scene.path.read_bytes() == before
    assert scene.workflow.title == "User auth"


def test_a_change_of_an_earlier_run_is_refused(scene: Scene) -> None:
    """An agent that outlives its run moves no task of the next one."""
    old = scene.start()
    scene.do(lambda run: moves.cancel(run, "Enough"))
    scene.at("13:00:00")
    scene.start()
    before = scene.path.read_bytes()

    judged = FORMAT.judge(scene.project, old, "1.1", "active", "")

    assert "holds run_20260115_130000 by now, not run_20260115_120000" in judged.remark
    assert not judged.changed
    assert scene.path.read_bytes() == before


def test_a_finished_run_stays_beside_the_next_one_without_a_ledger(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever starts that is told where."""
    scene.start()
    scene.do(lambda run: moves.cancel(run, "Enough"))
    monkeypatch.setattr(Memory, "holds", lambda *given: False)
    before = scene.path.read_bytes()
    scene.at("13:00:00")
    made = scene.start()

    (kept,) = [each for each in scene.path.parent.iterdir() if each.is_file() and each.read_bytes() == before]
    assert any(kept.name in warning for warning in made.warnings)


def test_a_repair_removes_the_agents_of_completed_tasks_only(scene: Scene) -> None:
    """Others go on."""
    scene.start()
    scene.do(lambda run: moves.begin(run, "1.1"))
    gone = scene.data["active_agents"]
    scene.do(lambda run: moves.finish(run, "1.1"))
    scene.do(lambda run: moves.begin(run, "1.2"))
    data = scene.data
    scene.put(json.dumps(data | {"active_agents": gone + data["active_agents"]}).encode())
    scene.do(faults.mend_lists)

    assert [each["task"] for each in scene.data["active_agents"]] == ["1.2"]


def test_an_attempt_that_failed_counts_once_in_the_sums(scene: Scene) -> None:
    """The end of the run ends only what was still going on."""
    scene.start()
    scene.do(lambda run: moves.begin(run, "1.1"))
    scene.at("12:10:00")
    scene.do(lambda run: moves.fail(run, "1.1", "Disk"))
    before = scene.data["safety_bounds"]
    scene.at("12:40:00")
    scene.do(lambda run: moves.cancel(run, "Enough"))

    assert scene.data["safety_bounds"] == before


def test_a_milestone_with_an_issue_outlives_its_phase_being_reopened(scene: Scene) -> None:
    """The issue is there still; one without goes, because the phase is no longer complete."""
    scene.start()
    for task in ("1.1", "1.2", "2.1"):
        scene.do(partial(moves.finish, id_=task))
    scene.do(lambda run: moves.name_issue(run, "1.2", "https://x/1"))
    for task in ("1.2", "2.1"):
        scene.do(partial(moves.reopen, id_=task))

    assert [(each["name"], each["issue_url"]) for each in scene.data["milestones"]] == [("Foundation", "https://x/1")]


def test_what_a_task_hands_over_is_kept_until_it_is_completed(scene: Scene) -> None:
    """A person may write it before."""
    verbs.update(scene.project, scene.start(), Changes(current=1, handover="Mind the gap"))
    scene.do(lambda run: moves.finish(run, "1.1"))
    assert scene.workflow.phases[0].handover == "Mind the gap"
