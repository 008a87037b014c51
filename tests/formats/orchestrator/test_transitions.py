"""Tasks, phases and the run move by the document's rules; counters and lists move together."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import BrokenError, HoldfastError, TransitionError
from holdfast.formats.orchestrator import (
    adapter,
    bounds,
    check,
    learnings,
    repair,
    restoration,
    store,
    transitions,
    work,
)
from holdfast.workflow.model import AgentWork
from tests.formats.memory import Memory

if TYPE_CHECKING:
    from tests.requirements.document_003 import Scene


def test_a_failed_task_is_not_completed_and_its_attempt_counts(scene: Scene) -> None:
    """It holds up nothing but itself; the retry is the next iteration, and the sums have both attempts."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.at("12:10:00")
    scene.do(lambda run: transitions.fail(run, "1.1", "No disk", cost="$0.30"))

    assert scene.data["completed_tasks"] == []
    assert scene.data["active_agents"][0]["status"] == "blocked"
    assert scene.data["safety_bounds"]["cost_so_far"] == "$0.30"
    assert scene.workflow.phases[0].status == "failed"
    with pytest.raises(TransitionError, match=r"task retry 1\.1"):
        scene.do(lambda run: transitions.finish(run, "1.1"))

    scene.at("13:00:00")  # the pause between the attempts is nobody's time
    scene.do(lambda run: transitions.retry(run, "1.1"))
    scene.at("13:05:00")
    scene.do(lambda run: transitions.finish(run, "1.1", cost="$0.10"))
    done = scene.data["completed_tasks"][0]
    assert (done["cost"], done["time_elapsed"], done["iterations"]) == ("$0.40", "15m 0s", 2)
    assert scene.data["safety_bounds"]["cost_so_far"] == "$0.40"
    assert scene.data["safety_bounds"]["elapsed_time"] == "0h 15m 0s"
    assert list(check.contradictions(store.current(scene.project)[1])) == []


def test_an_earlier_runs_checkpoint_is_no_way_back(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays beside the next run, and is restored if somebody names it."""
    scene.start()
    scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    scene.do(transitions.abort)
    scene.at("13:00:00")
    scene.start()
    monkeypatch.setattr(type(scene.project), "latest", lambda *_: None)  # or the last content would be used
    whole = scene.path.read_bytes()
    for raw in (whole, b"{"):
        scene.put(raw)
        with pytest.raises(HoldfastError, match=r"of this run; checkpoint-001\.json is another run's"):
            restoration.chosen(scene.project)
    with pytest.raises(BrokenError):
        store.load(scene.project)
    with pytest.raises(BrokenError):
        scene.do(lambda run: None)

    assert (
        restoration.chosen(scene.project, "checkpoint-001.json").document.data["orchestrator"]["status"] == "planning"
    )
    scene.put(whole)
    scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    scene.put(b"{")
    assert restoration.chosen(scene.project).document.path.name == "checkpoint-002.json"


def test_an_unknown_cost_is_never_guessed(scene: Scene) -> None:
    """It has a text of its own, is in no sum, and is counted; a known part of it stays in the sum."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1", cost="$0.20"))
    scene.do(lambda run: transitions.fail(run, "1.2", "Broken", cost="$0.10"))
    scene.do(lambda run: transitions.retry(run, "1.2"))
    scene.do(lambda run: transitions.finish(run, "1.2"))

    assert [each["cost"] for each in scene.data["completed_tasks"]] == ["$0.20", "unknown"]
    assert scene.data["safety_bounds"]["cost_so_far"] == "$0.30"
    assert scene.data["safety_bounds"]["warnings"] == []
    assert bounds.unknown(store.current(scene.project)[1]) == "Cost is unknown for 1 task, so the sum may be too low"
    assert list(check.types(scene.data)) == []
    assert list(check.contradictions(store.current(scene.project)[1])) == []


def test_every_fifth_task_makes_a_checkpoint(scene: Scene) -> None:
    """Besides the one at the end of a phase."""
    scene.doc.write_text("# Many\n### Phase 1: A\n" + "".join(f"#### Task 1.{n}: t\n" for n in range(1, 8)))
    scene.start()
    for number in range(1, 8):
        scene.do(lambda run, id_=f"1.{number}": transitions.finish(run, id_))  # type: ignore[misc]

    assert [each["task"] for each in scene.data["checkpoints"]] == ["1.5", "1.7"]
    assert [each["state_snapshot"] for each in scene.data["checkpoints"]] == [
        "checkpoint-001.json",
        "checkpoint-002.json",
    ]


def test_a_skipped_task_is_in_no_list_and_comes_back_by_a_retry(scene: Scene) -> None:
    """The document still names it, and that doesn't make it pending again."""
    scene.start()
    scene.do(lambda run: transitions.skip(run, "1.1"))
    scene.do(lambda run: transitions.finish(run, "1.2"))
    assert [each["name"] for each in scene.data["milestones"]] == ["Foundation"]
    scene.doc.write_text(scene.doc.read_text() + "\n#### Task 2.2: More\n")
    scene.do(lambda run: None)
    assert [each["task"] for each in scene.data["pending_tasks"]] == ["2.1", "2.2"]

    scene.do(lambda run: transitions.retry(run, "1.1"))
    assert [each["task"] for each in scene.data["active_agents"]] == ["1.1"]
    assert scene.workflow.phases[0].title == "Update the model"


def test_bounds_warn_once_at_75_and_once_at_100_percent(scene: Scene) -> None:
    """Cost, time and iterations; an extension takes back what holds no more (R003-31)."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1", cost="$0.75"))
    assert scene.data["safety_bounds"]["warnings"] == ["Cost at 75% of limit"]
    scene.do(lambda run: transitions.begin(run, "1.2"))
    scene.at("12:46:00")
    for _ in range(3):
        scene.do(lambda run: transitions.iterate(run, "1.2"))
    assert scene.data["safety_bounds"]["warnings"] == [
        "Cost at 75% of limit",
        "Time at 75% of limit",
        "Iterations of task 1.2 at 75% of limit",
    ]
    scene.at("13:00:01")
    said = scene.do(lambda run: transitions.iterate(run, "1.2")).run.said
    assert said == ["Time at 100% of limit", "Iterations of task 1.2 at 100% of limit"]

    scene.do(lambda run: bounds.extend(run, cost="$10", time="3h", iterations=30))
    assert scene.data["safety_bounds"]["warnings"] == []
    with pytest.raises(HoldfastError):
        scene.do(lambda run: bounds.extend(run, cost="lots"))


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


def test_the_state_holds_the_last_learnings_and_the_log_all(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that somebody wrote into the state alone; none is logged twice."""
    monkeypatch.setattr(learnings, "KEPT", 3)
    scene.start()
    by_hand = {"timestamp": "x", "task": "1.1", "iteration": 1, "type": "insight", "lesson": "hand"}
    scene.do(lambda run: run.listed("learnings").append({**by_hand, "pattern": "", "context": ""}))
    for number in range(5):
        scene.do(lambda run, n=number: learnings.add(run, "insight", f"lesson {n}"))  # type: ignore[misc]

    assert [each["lesson"] for each in scene.data["learnings"]] == ["lesson 2", "lesson 3", "lesson 4"]
    kept = [each["lesson"] for each in learnings.logged(scene.project)]
    assert sorted(kept) == ["hand", "lesson 0", "lesson 1", "lesson 2", "lesson 3", "lesson 4"]


def test_a_change_of_an_earlier_run_is_refused(scene: Scene) -> None:
    """An agent that outlives its run moves no task of the next one."""
    old = scene.start()
    scene.do(transitions.abort)
    scene.at("13:00:00")
    scene.start()
    before = scene.path.read_bytes()

    with pytest.raises(HoldfastError, match="holds the run run_20260115_130000, not run_20260115_120000"):
        adapter.judge(scene.project, old, "1.1", "active", "")
    assert scene.path.read_bytes() == before


def test_a_finished_run_stays_beside_the_next_one_without_a_ledger(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever starts that is told where."""
    scene.start()
    scene.do(transitions.abort)
    monkeypatch.setattr(Memory, "holds", lambda *given: False)
    before = scene.path.read_bytes()
    scene.at("13:00:00")
    made = scene.start()

    (kept,) = [each for each in scene.path.parent.iterdir() if each.is_file() and each.read_bytes() == before]
    assert any(kept.name in warning for warning in made.warnings)


@pytest.mark.parametrize(("listed", "after"), [(["mine.py"], ["mine.py"]), ([], ["edited.py"])])
def test_what_a_completed_task_lists_is_filled_in_and_not_replaced(
    scene: Scene, listed: list[str], after: list[str]
) -> None:
    """Its agent completed it, and said which files it was about (I000-8)."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1", files=listed))
    work.credit(scene.project, scene.workflow, "1.1", AgentWork(files=("edited.py",)))
    assert scene.data["completed_tasks"][0]["files_modified"] == after


def test_a_repair_removes_the_agents_of_completed_tasks_only(scene: Scene) -> None:
    """Others go on."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    gone = scene.data["active_agents"]
    scene.do(lambda run: transitions.finish(run, "1.1"))
    scene.do(lambda run: transitions.begin(run, "1.2"))
    data = scene.data
    scene.put(json.dumps(data | {"active_agents": gone + data["active_agents"]}).encode())
    scene.do(lambda run: repair.repair(scene.project, run))

    assert [each["task"] for each in scene.data["active_agents"]] == ["1.2"]


def test_another_programs_checkpoint_is_not_archived(scene: Scene) -> None:
    """It stays where it is."""
    scene.start()
    latest = scene.path.with_name("checkpoint.json")
    latest.write_text('{"mine": 1}')
    scene.do(transitions.abort)
    folder = restoration.put_away(scene.project)

    assert latest.read_text() == '{"mine": 1}'
    assert sorted(each.name for each in folder.iterdir()) == ["agent-state.extra.json", "agent-state.json"]


def test_a_warning_of_your_own_outlives_an_extension(scene: Scene) -> None:
    """Only Holdfast's own are taken back."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1", cost="$0.80"))
    data = scene.data
    data["safety_bounds"]["warnings"].append("Ask Ann before you spend more")
    scene.put(json.dumps(data).encode())
    scene.do(lambda run: bounds.extend(run, cost="10"))

    assert scene.data["safety_bounds"]["warnings"] == ["Ask Ann before you spend more"]
