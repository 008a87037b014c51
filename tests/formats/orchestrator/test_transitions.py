"""Tasks, phases and the run move by the document's rules; counters and lists move together."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from holdfast.errors import BrokenError, HoldfastError, TransitionError
from holdfast.files.transcript import Run as Ran
from holdfast.formats.orchestrator import (
    adapter,
    agents,
    bounds,
    check,
    evidence,
    learnings,
    repair,
    restoration,
    store,
    transitions,
    view,
    work,
)
from holdfast.workflow import verbs
from holdfast.workflow.model import AgentWork, Changes, Start
from tests.formats.memory import Memory

if TYPE_CHECKING:
    from holdfast.workflow.model import Workflow
    from tests.requirements.document_003 import Scene


def test_a_run_begins_in_planning_with_the_documents_tasks_and_bounds(scene: Scene) -> None:
    """Phases count from 0, the prefixes of tasks from 1 (I003-1)."""
    made = scene.start()

    assert (made.title, made.status, made.id) == ("User auth", "pending", "run_20260115_120000")
    assert scene.data["orchestrator"]["task_doc"] == str(scene.doc)
    assert scene.data["orchestrator"]["total_phases"] == 2
    assert scene.data["pending_tasks"][2] == {"phase": 1, "task": "2.1", "name": "Create the endpoints"}
    assert scene.data["safety_bounds"]["max_cost"] == "$1.00"


def test_starting_a_task_takes_it_from_the_pending_ones(scene: Scene) -> None:
    """I003-3; its iterations count from 0."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.2"))

    data = scene.data
    assert [each["task"] for each in data["pending_tasks"]] == ["1.1", "2.1"]
    assert data["active_agents"] == [
        {
            "type": "task-executor",
            "task": "1.2",
            "started": "2026-01-15T12:00:00Z",
            "iteration": 0,
            "status": "in_progress",
        }
    ]
    head = data["orchestrator"]
    assert (head["status"], head["current_phase"], head["current_task"]) == ("executing", 0, "2/2")
    assert scene.workflow.phase == "Write the middleware"  # though the entry has no name


def test_a_finished_task_moves_lists_and_sums_together(scene: Scene) -> None:
    """$0.20 + $0.55, 15m 23s + 18m 45s; the phase's last task makes the milestone and a checkpoint."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.do(lambda run: transitions.iterate(run, "1.1"))
    scene.at("12:15:23")
    scene.do(lambda run: transitions.finish(run, "1.1", cost="0.20", files=["a.ts", "a.ts"], criteria={"tested": True}))
    scene.do(lambda run: transitions.begin(run, "1.2"))
    assert scene.data["orchestrator"]["ralph_iteration"] == 0
    scene.at("12:34:08")
    scene.do(lambda run: transitions.finish(run, "1.2", cost="$0.55"))

    data = scene.data
    assert data["completed_tasks"][0] == {
        "task": "1.1",
        "name": "Update the model",
        "completed": "2026-01-15T12:15:23Z",
        "iterations": 1,
        "time_elapsed": "15m 23s",
        "cost": "$0.20",
        "files_modified": ["a.ts"],
        "success_criteria_met": {"tested": True},
    }
    assert data["safety_bounds"]["cost_so_far"] == "$0.75"
    assert data["safety_bounds"]["elapsed_time"] == "0h 34m 8s"
    assert data["active_agents"] == []
    assert data["milestones"] == [
        {"phase": 0, "name": "Foundation", "completed": "2026-01-15T12:34:08Z", "issue_url": ""}
    ]
    assert [each["state_snapshot"] for each in data["checkpoints"]] == ["checkpoint-001.json"]
    folder = scene.path.parent
    assert (folder / "checkpoint-001.json").read_bytes() == scene.path.read_bytes()  # with its own entry (I003-17)
    assert (folder / "checkpoint.json").read_bytes() == scene.path.read_bytes()
    assert list(check.types(data)) == []
    assert list(check.contradictions(store.current(scene.project)[1])) == []


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


def test_a_task_whose_start_was_forgotten_took_one_iteration(scene: Scene) -> None:
    """It was worked on at least once."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1"))

    assert scene.data["completed_tasks"][0]["iterations"] == 1


def test_a_completed_task_has_no_next_iteration(scene: Scene) -> None:
    """It can't be started again either, so nobody is sent there."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1"))

    with pytest.raises(TransitionError, match=r"^task 1\.1 is completed, so it has no next iteration$"):
        scene.do(lambda run: transitions.iterate(run, "1.1"))


def test_the_review_of_the_whole_run_is_no_tasks_step(scene: Scene) -> None:
    """So the agent of the last task isn't taken for the reviewer."""
    scene.start()
    for each in ("1.1", "1.2", "2.1"):
        scene.do(lambda run, each=each: transitions.finish(run, each))  # type: ignore[misc]
    step = verbs.step(scene.workflow)

    assert step is not None
    assert (step.title, step.number) == ("Outer review", 0)


def test_tasks_have_their_notes_and_names_whatever_list_they_are_in(scene: Scene) -> None:
    """One that is pending, at work or completed, with notes or without; a name that is none gives way."""
    scene.start()
    scene.do(lambda run: run.note("1.2").update(agent="writer"))
    data = scene.data
    data["pending_tasks"][2]["name"] = 7
    scene.put(json.dumps(data).encode())
    listed = [
        ("1.1", "Update the model", "pending", "", ()),
        ("1.2", "Write the middleware", "pending", "writer", ()),
        ("2.1", "7", "pending", "", ()),
    ]
    assert [(*each[:1], *each[2:6]) for each in scene.workflow.phases] == listed

    scene.do(lambda run: transitions.begin(run, "1.1"))
    assert scene.workflow.phases[0].status == "active"
    data = scene.data
    data["completed_tasks"] = [{"task": "2.1", "name": "Create it", "files_modified": ["user.py"]}]  # without notes
    scene.put(json.dumps(data).encode())
    assert scene.workflow.phases[2][2:6] == ("Create it", "completed", "", ("user.py",))


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


def test_a_retry_forgets_the_failure(scene: Scene) -> None:
    """Whoever blocks the task by hand after that says nothing of a failure."""
    scene.start()
    scene.do(lambda run: transitions.fail(run, "1.1", "No disk"))
    scene.do(lambda run: transitions.retry(run, "1.1"))
    scene.put(scene.path.read_bytes().replace(b'"in_progress"', b'"blocked"'))

    assert scene.workflow.phases[0].status == "blocked"


@pytest.mark.parametrize("mend", ["prune", "repair"])
def test_a_warning_of_what_was_not_used_after_all_comes_again_when_it_is_due(scene: Scene, mend: str) -> None:
    """An agent that was gone took no time, and a sum that was wrong was none."""
    scene.start()
    if mend == "prune":
        scene.do(lambda run: transitions.begin(run, "1.1"))
        scene.at("13:30:00")
    else:
        scene.do(lambda run: run.part("safety_bounds").update(elapsed_time="1h 30m 0s"))
    scene.do(lambda run: None if bounds.warn(run) else run.note("1.2").update(handover="x"))
    assert "Time at 100% of limit" in scene.data["safety_bounds"]["warnings"]

    scene.do(agents.prune if mend == "prune" else lambda run: repair.repair(scene.project, run))
    assert scene.data["safety_bounds"]["warnings"] == []
    scene.do(lambda run: transitions.begin(run, "1.2"))
    scene.at("15:00:00")
    scene.do(lambda run: transitions.finish(run, "1.2", cost="$0.10"))
    assert scene.data["safety_bounds"]["warnings"] == ["Time at 75% of limit", "Time at 100% of limit"]


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


def test_the_last_task_makes_the_run_reviewing_and_no_more(scene: Scene) -> None:
    """The outer review comes between; completed is final (I003-13, I003-14)."""
    scene.start()
    with pytest.raises(TransitionError, match=r"1\.1, 1\.2, 2\.1 are not completed"):
        scene.do(transitions.complete)
    for id_ in ("1.1", "1.2", "2.1"):
        scene.do(lambda run, id_=id_: transitions.finish(run, id_))  # type: ignore[misc]
    assert (scene.data["orchestrator"]["status"], scene.data["orchestrator"]["end_time"]) == ("reviewing", None)

    scene.do(transitions.review)
    assert scene.data["orchestrator"]["outer_ralph"] is True
    scene.at("14:00:00")
    scene.do(transitions.complete)
    head = scene.data["orchestrator"]
    assert (head["status"], head["outer_ralph"], head["end_time"]) == ("completed", False, "2026-01-15T14:00:00Z")
    for edit in (transitions.review, transitions.abort, lambda run: transitions.begin(run, "1.1")):
        with pytest.raises(TransitionError, match="final"):
            scene.do(edit)


def test_a_run_that_is_aborted_keeps_what_was_not_done(scene: Scene) -> None:
    """No agent is at work any more, and what was at work is pending again."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.do(transitions.abort)

    assert scene.data["orchestrator"]["status"] == "failed"
    assert scene.data["active_agents"] == []
    assert [each["task"] for each in scene.data["pending_tasks"]] == ["1.1", "1.2", "2.1"]
    assert scene.workflow.finished


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


def test_a_phase_ends_with_all_of_its_tasks(scene: Scene) -> None:
    """Then its milestone can get the URL of its issue."""
    scene.start()
    with pytest.raises(TransitionError, match=r"1\.1, 1\.2 are not completed"):
        scene.do(lambda run: transitions.finish_phase(run, 1, "https://x/1"))
    with pytest.raises(TransitionError, match="no tasks"):
        scene.do(lambda run: transitions.finish_phase(run, 7))
    for id_ in ("1.1", "1.2"):
        scene.do(lambda run, id_=id_: transitions.finish(run, id_))  # type: ignore[misc]
    scene.do(lambda run: transitions.finish_phase(run, 1, "https://x/1"))

    assert [each["issue_url"] for each in scene.data["milestones"]] == ["https://x/1"]


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


def test_editing_the_document_adds_pending_tasks_only(scene: Scene) -> None:
    """With a notice; what was begun, and what a person put into the state, stays."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.do(lambda run: run.listed("pending_tasks").append({"phase": 1, "task": "2.7", "name": "By hand"}))
    scene.doc.write_text(
        "# User auth\n### Phase 1: F\n#### Task 1.2: Write middleware\n### Phase 2: E\n#### Task 2.2: New\n"
    )

    said = scene.do(lambda run: None).run.said

    assert said == ["the task document changed: added 2.2"]
    assert [(each["task"], each["name"]) for each in scene.data["pending_tasks"]] == [
        ("1.2", "Write the middleware"),
        ("2.1", "Create the endpoints"),
        ("2.2", "New"),
        ("2.7", "By hand"),
    ]
    assert [each["task"] for each in scene.data["active_agents"]] == ["1.1"]
    assert scene.workflow.phases[0].title == "Update the model"
    assert "added 2.2" in scene.workflow.context["task_document_changed"]
    assert scene.do(lambda run: None).run.said == []


def test_what_an_event_did_in_silence_is_said_by_the_next_change_that_is_told(scene: Scene) -> None:
    """An event that only reads the run follows an edited document; the model hears of it with its next agent, once."""
    workflow = scene.start()
    scene.doc.write_text(f"{scene.doc.read_text()}\n#### Task 2.2: More\n")
    adapter.candidates(scene.project, ())
    work.credit(scene.project, workflow, "1.1", AgentWork((), None, ()))

    made = adapter.judge(scene.project, workflow, "1.1", "active", "")
    assert made.notes == ("the task document changed: added 2.2",)
    assert adapter.judge(scene.project, workflow, "1.1", "completed", "").notes == ()


def test_an_update_says_what_came_of_it(scene: Scene) -> None:
    """As the format's own commands do."""
    workflow = scene.start()
    scene.doc.write_text(f"{scene.doc.read_text()}\n#### Task 2.2: More\n")
    now = verbs.update(scene.project, workflow, Changes(current=1, status="completed"))

    assert any("added 2.2" in each for each in now.warnings)


@pytest.mark.parametrize(("begun", "now"), [(None, "0/3"), ("1.3", "3/3"), ("2.1", "1/1")])
def test_the_place_of_the_task_at_work_follows_an_edited_document(scene: Scene, begun: str | None, now: str) -> None:
    """Its phase has more tasks now, one of them before it, and its iterations are still the run's."""
    scene.doc.write_text(scene.doc.read_text().replace("Task 1.2", "Task 1.3"))
    scene.start()
    if begun:
        scene.do(lambda run: transitions.begin(run, begun))
    scene.doc.write_text(scene.doc.read_text().replace("#### Task 1.3", "#### Task 1.2: New\n\n#### Task 1.3"))
    scene.do(lambda run: transitions.iterate(run, begun) if begun else None)

    assert scene.data["orchestrator"]["current_task"] == now
    assert scene.data["orchestrator"]["ralph_iteration"] == bool(begun)


def test_an_event_leaves_a_broken_state_alone(scene: Scene) -> None:
    """An edited document is no reason to write it anew; whoever changes the run does."""
    scene.start()
    scene.doc.write_text(scene.doc.read_text() + "\n#### Task 2.2: More\n")
    scene.put(b'{"orchestrator": {"sta')

    found = adapter.candidates(scene.project, ())

    assert [each.recovered for each in found.workflows] == [True]
    assert scene.path.read_bytes() == b'{"orchestrator": {"sta'


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


def test_a_document_without_tasks_begins_no_run(scene: Scene) -> None:
    """The message says what a task looks like."""
    scene.doc.write_text("# Nothing\n")
    with pytest.raises(TransitionError, match=r"#### Task 1\.1"):
        store.create(scene.project, Start("x"), scene.doc)
    assert not scene.path.exists()


def test_another_programs_checkpoint_is_not_overwritten(scene: Scene) -> None:
    """I003-15: a compaction skill keeps to-dos in a file of that name."""
    (scene.path.parent).mkdir(exist_ok=True)
    theirs = scene.path.with_name("checkpoint.json")
    theirs.write_text('{"todos": []}')
    scene.start()
    for id_ in ("1.1", "1.2"):
        told = scene.do(lambda run, id_=id_: transitions.finish(run, id_)).workflow.warnings  # type: ignore[misc]

    assert theirs.read_text() == '{"todos": []}'
    assert any("isn't overwritten" in each for each in told)
    assert scene.path.with_name("checkpoint-001.json").exists()


def test_a_snapshots_number_is_free(scene: Scene) -> None:
    """A file that no entry names, of a killed writer or somebody else, stays as it is."""
    scene.start()
    orphan = scene.path.with_name("checkpoint-041.json")
    orphan.write_text("mine")
    for id_ in ("1.1", "1.2"):
        scene.do(lambda run, id_=id_: transitions.finish(run, id_))  # type: ignore[misc]

    assert orphan.read_text() == "mine"
    assert scene.data["checkpoints"][0]["state_snapshot"] == "checkpoint-042.json"


def test_a_checkpoint_between_tasks_is_one_of_the_current_phase(scene: Scene) -> None:
    """No task is named in it, and so no task's phase either."""
    scene.start()
    scene.do(lambda run: setattr(run, "checkpoint", ""))
    assert (scene.data["checkpoints"][-1]["task"], scene.data["checkpoints"][-1]["phase"]) == ("", 0)


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


def test_the_time_of_a_blocked_task_stands_still(scene: Scene) -> None:
    """It was charged when the attempt failed; the iterations are still those that it had."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.at("12:10:00")
    scene.do(lambda run: transitions.fail(run, "1.1", "no luck"))
    scene.at("13:00:00")
    run = store.current(scene.project)[1]
    assert [(each.name, each.used) for each in bounds.used(run)] == [
        ("Cost", "$0.00"),
        ("Time", "0h 10m 0s"),
        ("Iterations of task 1.1", "0"),
    ]


def test_the_tenth_task_comes_after_the_ninth(scene: Scene) -> None:
    """In the state and in the workflow's units."""
    scene.doc.write_text("### Phase 1: A\n" + "".join(f"#### Task 1.{number}: Part\n" for number in range(1, 11)))
    scene.start()
    wanted = [f"1.{number}" for number in range(1, 11)]
    assert [each["task"] for each in scene.data["pending_tasks"]] == wanted
    assert [each.id for each in scene.workflow.phases] == wanted


def test_the_newest_listed_checkpoint_is_restored(scene: Scene) -> None:
    """Not the first one (I003-16)."""
    scene.start()
    for _ in range(2):
        scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    assert restoration.chosen(scene.project).document.path.name == "checkpoint-002.json"


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


def test_an_update_that_changes_nothing_writes_a_broken_state_anew(scene: Scene) -> None:
    """From its last generation."""
    scene.start()
    before = scene.path.read_bytes()
    scene.put(b"{")

    verbs.update(scene.project, adapter.find(scene.project).workflows[0], Changes())
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


def test_runs_that_start_within_one_second_have_different_ids(scene: Scene) -> None:
    """The later one starts in the next second."""
    first = scene.start()
    scene.do(transitions.abort)
    assert (first.id, scene.start().id) == ("run_20260115_120000", "run_20260115_120001")


def test_an_iteration_is_told_once_there_is_one(scene: Scene) -> None:
    """A task that was only started has none."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    assert scene.workflow.context["run"] == "executing, task 1/2 of phase 1/2 Foundation"

    scene.do(lambda run: transitions.iterate(run, "1.1"))
    assert scene.workflow.context["run"] == "executing, iteration 1, task 1/2 of phase 1/2 Foundation"


def test_what_was_used_of_the_bounds_is_told_once_it_is_something(scene: Scene) -> None:
    """No cost, and less than a minute, say nothing yet."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.at("12:00:59")
    scene.do(lambda run: transitions.finish(run, "1.1", cost="$0"))
    assert scene.workflow.context["bounds"] == "$1.00, 1h, 4 iterations/task"

    scene.do(lambda run: transitions.begin(run, "1.2"))
    scene.at("12:16:00")
    scene.do(lambda run: transitions.finish(run, "1.2", cost="$0.20"))
    assert scene.workflow.context["bounds"] == "$0.20 of $1.00, 0h 16m 0s of 1h, 4 iterations/task"


def test_agents_are_told_with_what_differs_from_the_run(scene: Scene) -> None:
    """One that only works on its task isn't told of; several are a list."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    assert "agents" not in scene.workflow.context, "that task 1.1 is in progress says the same"
    scene.do(lambda run: transitions.begin(run, "2.1"))
    scene.do(lambda run: transitions.iterate(run, "2.1"))
    scene.do(lambda run: transitions.fail(run, "2.1", "No idea"))
    assert scene.workflow.context["agents"] == ["task-executor 1.1", "task-executor 2.1, blocked, iteration 1"]


def test_of_a_task_that_is_listed_twice_the_first_entry_stays(scene: Scene) -> None:
    """It is what every question about the task was answered from."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1", cost="$0.20"))
    data = scene.data
    data["completed_tasks"].append({**data["completed_tasks"][0], "name": "Another"})
    data["pending_tasks"].append({**data["pending_tasks"][0], "name": "Another"})
    scene.put(json.dumps(data).encode())

    done = scene.do(lambda run: run.said.extend(repair.repair(scene.project, run))).run.said
    assert done[:2] == ["task 1.1 was listed as completed twice", "task 1.2 was pending twice"]
    assert [each["name"] for each in scene.data["completed_tasks"]] == ["Update the model"]
    assert "Another" not in {each["name"] for each in scene.data["pending_tasks"]}


def test_what_a_broken_state_held_is_kept_when_a_checkpoint_replaces_it(scene: Scene) -> None:
    """And whoever restores is told where, even if no earlier content is known."""
    scene.start()
    scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    scene.put(b"{")
    scene.project.kept.clear()

    restored = restoration.restore(scene.project, restoration.chosen(scene.project))
    assert restored.aside is not None
    assert restored.aside.read_bytes() == b"{"
    assert len(scene.data["checkpoints"]) == 1


def test_the_next_task_begins_only_if_none_is_at_work_or_failed(scene: Scene) -> None:
    """`holdfast next` starts one thing at a time."""
    workflow = scene.start()
    scene.do(lambda run: transitions.begin(run, "1.2"))
    verbs.begin(scene.project, workflow)
    assert [each["task"] for each in scene.data["active_agents"]] == ["1.2"]
    scene.do(lambda run: transitions.fail(run, "1.2", "No idea"))
    verbs.begin(scene.project, workflow)
    assert [each["task"] for each in scene.data["active_agents"]] == ["1.2"]


def test_a_task_that_somebody_else_completed_is_not_completed_again(scene: Scene) -> None:
    """Neither is the one after it."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    seen = scene.workflow
    scene.do(lambda run: transitions.finish(run, "1.1"))
    verbs.done(scene.project, seen)
    assert [each["task"] for each in scene.data["completed_tasks"]] == ["1.1"]


def test_a_failed_task_whose_agent_ends_well_is_completed(scene: Scene) -> None:
    """As its next iteration."""
    workflow = scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.do(lambda run: transitions.fail(run, "1.1", "No idea"))
    adapter.judge(scene.project, workflow, "1.1", "completed", "Done.")
    assert [(each["task"], each["iterations"]) for each in scene.data["completed_tasks"]] == [("1.1", 2)]


def test_tasks_of_a_later_phase_are_not_ready(scene: Scene) -> None:
    """The pending ones of the first open phase are."""
    assert [each.id for each in verbs.ready(scene.start())] == ["1.1", "1.2"]


def test_the_newest_learnings_come_first_and_those_of_the_task_before_others(scene: Scene) -> None:
    """Then those of its phase."""
    scene.start()
    for task, lesson in (("2.1", "far"), ("1.1", "old"), ("1.2", "near"), ("1.1", "new")):
        scene.do(lambda run, task=task, lesson=lesson: learnings.add(run, "insight", lesson, task=task))  # type: ignore[misc]
    scene.do(lambda run: transitions.begin(run, "1.1"))
    assert [each.rpartition(" ")[2] for each in scene.workflow.context["learnings"]] == ["new", "old", "near", "far"]


def test_of_several_tasks_at_work_the_first_that_was_started_is_the_current_one(scene: Scene) -> None:
    """And what the task before it hands over is needed for it."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.2"))
    scene.at("12:10:00")
    scene.do(lambda run: transitions.begin(run, "2.1"))
    assert (scene.workflow.current, scene.workflow.phase) == (2, "Write the middleware")
    assert scene.workflow.needs == ("1.1",)


def test_an_agent_is_told_the_learnings_of_its_own_task(scene: Scene) -> None:
    """Not those of the task at work."""
    scene.start()
    for number in range(view.LEARNINGS):
        scene.do(lambda run, number=number: learnings.add(run, "insight", f"New {number}", task="1.1"))  # type: ignore[misc]
    scene.do(lambda run: run.listed("learnings").insert(0, {"task": "2.1", "type": "insight", "lesson": "Mine"}))
    scene.do(lambda run: transitions.begin(run, "1.1"))

    told = adapter.brief(scene.project, scene.workflow, scene.workflow.phases[2])
    assert told is not None
    assert [each for each in told.lines if "insight" in each] == ["- 2.1 insight: Mine"]


def test_the_last_commits_of_a_task_are_noted(scene: Scene) -> None:
    """As many as a note holds."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    shas = [f"{number:07x}" for number in range(1, work.COMMITS + 6)]
    at = "2026-01-15T12:01:00Z"
    work.ran(scene.project, scene.workflow, [Ran("git commit -m x", f"[main {sha}] x", False, at) for sha in shas])
    assert store.current(scene.project)[1].noted("1.1")["commits"] == shas[-work.COMMITS :]


@pytest.mark.parametrize(("listed", "after"), [(["mine.py"], ["mine.py"]), ([], ["edited.py"])])
def test_what_a_completed_task_lists_is_filled_in_and_not_replaced(
    scene: Scene, listed: list[str], after: list[str]
) -> None:
    """Its agent completed it, and said which files it was about (I000-8)."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1", files=listed))
    work.credit(scene.project, scene.workflow, "1.1", AgentWork(files=("edited.py",)))
    assert scene.data["completed_tasks"][0]["files_modified"] == after


def test_an_update_changes_what_a_task_hands_over(scene: Scene) -> None:
    """Of the task at work."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    made = verbs.update(scene.project, scene.workflow, Changes(handover="Use the model"))
    assert made.phases[0].handover == "Use the model"


def test_a_run_that_is_over_holds_no_launch(scene: Scene) -> None:
    """Its used-up bounds are nobody's business any more."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1", cost="$2"))
    assert "Cost: $2.00 of $1.00" in adapter.held(scene.project, scene.workflow)

    scene.do(transitions.abort)
    assert adapter.held(scene.project, scene.workflow) == ""


def test_a_phase_that_the_document_gets_is_counted(scene: Scene) -> None:
    """Also when it is gone again: an edit takes nothing away."""
    scene.start()
    before = scene.doc.read_text()
    scene.doc.write_text(before + "\n### Phase 3: Launch\n\n#### Task 3.1: Publish\n")
    scene.do(lambda run: None)
    scene.doc.write_text(before)
    scene.do(lambda run: None)
    assert scene.data["orchestrator"]["total_phases"] == 3


def test_a_task_that_is_skipped_after_the_fifth_makes_no_checkpoint(scene: Scene) -> None:
    """There is one for the fifth already."""
    scene.doc.write_text("".join(f"#### Task 1.{number}: Piece {number}\n" for number in range(1, 9)))
    scene.start()
    for number in range(1, 6):
        scene.do(lambda run, id_=f"1.{number}": transitions.finish(run, id_))  # type: ignore[misc]
    scene.do(lambda run: transitions.skip(run, "1.6"))

    assert [each["task"] for each in scene.data["checkpoints"]] == ["1.5"]


def test_what_a_person_moved_is_noted_before_what_a_command_moves(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each keeps its own time: the file's for the first, the command's for the second."""
    seen = list[tuple[list[str], bool]]()

    def observe(self: object, workflow: Workflow, *, error: str = "", at: str | None = None) -> None:
        seen.append(([each.status for each in workflow.phases], at is not None))

    scene.start()
    data = scene.data
    data["completed_tasks"] = [{"task": "1.1", "name": "Update the model", "cost": "unknown"}]
    data["pending_tasks"] = data["pending_tasks"][1:]
    scene.put(json.dumps(data, indent=2).encode())
    monkeypatch.setattr(type(scene.project), "observe", observe)
    scene.do(lambda run: transitions.begin(run, "1.2"))

    assert seen == [(["completed", "pending", "pending"], False), (["completed", "active", "pending"], True)]


def test_a_checkpoint_of_an_earlier_run_is_not_ahead_of_this_one(scene: Scene) -> None:
    """What was completed then says nothing about what is pending now."""
    scene.start()
    scene.do(lambda run: transitions.finish(run, "1.1"))
    scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    behind = json.dumps(scene.data | {"completed_tasks": []}).encode()
    scene.put(behind)
    assert list(evidence.drift(scene.project, store.current(scene.project)[1])) == [
        "1.1 is completed in checkpoint-001.json; `holdfast orchestrator restore checkpoint-001.json` goes back to it"
    ]

    scene.do(transitions.abort)
    scene.at("13:00:00")
    scene.start()
    assert list(evidence.drift(scene.project, store.current(scene.project)[1])) == []


def test_a_commit_speaks_against_a_task_only_until_that_is_completed(scene: Scene) -> None:
    """Its message names the task."""
    scene.start()
    log = scene.project.root / ".git/logs/HEAD"
    log.parent.mkdir(parents=True)
    log.write_text(f"{'0' * 40} {'a' * 40} A <a@b.c> 1768478700 +0000\tcommit: Finish task 1.1\n")

    def said() -> list[str]:
        return list(evidence.drift(scene.project, store.current(scene.project)[1]))

    assert said() == ["commit aaaaaaaaaaaa names task 1.1, which is pending"]
    scene.do(lambda run: transitions.finish(run, "1.1"))
    assert said() == []


def test_a_skipped_attempt_counts(scene: Scene) -> None:
    """Its time is in the sum, and its cost is unknown."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.at("12:10:00")
    scene.do(lambda run: transitions.skip(run, "1.1"))

    assert scene.data["active_agents"] == []
    assert scene.data["safety_bounds"]["elapsed_time"] == "0h 10m 0s"
    assert "unknown for 1 task" in bounds.unknown(store.current(scene.project)[1])


def test_a_learning_for_a_completed_task_has_the_iterations_that_it_took(scene: Scene) -> None:
    """Nobody works on it any more, so no agent's entry says so."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.do(lambda run: transitions.iterate(run, "1.1"))
    scene.do(lambda run: transitions.finish(run, "1.1"))
    scene.do(lambda run: learnings.add(run, "insight", "Look first", task="1.1"))

    assert scene.data["learnings"][0]["iteration"] == 1


def test_learnings_of_the_same_phase_come_before_those_of_another(scene: Scene) -> None:
    """Though the other ones are newer; an agent hears of none of those."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    for task in ("1.2", "2.1"):
        scene.do(lambda run, id_=task: learnings.add(run, "insight", "Look first", task=id_))  # type: ignore[misc]

    run = store.current(scene.project)[1]
    assert view.lessons(run) == ["1.2 insight: Look first", "2.1 insight: Look first"]
    assert view.lessons(run, "1.1") == ["1.2 insight: Look first"]


def test_nothing_is_due_in_a_run_that_is_over(scene: Scene) -> None:
    """Its pending tasks stay listed, and nobody is asked to start one."""
    scene.start()
    scene.do(transitions.abort)

    assert scene.workflow.due == ()
    assert scene.workflow.needs == ()


def test_a_supervisor_whose_description_names_no_task_of_the_run_checks_the_one_at_work(scene: Scene) -> None:
    """Such as one that names a version."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.2"))
    adapter.joined(scene.project, scene.workflow, "Check release 9.9", "supervisor")

    assert scene.data["active_agents"][-1]["task"] == "1.2"


def test_a_supervisor_that_is_gone_takes_no_task_with_it(scene: Scene) -> None:
    """The task's own agent may work on, if only older entries are removed."""
    scene.start()
    adapter.joined(scene.project, scene.workflow, "Check 1.1", "supervisor")
    scene.at("12:10:00")
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.do(lambda run: agents.prune(run, older_s=300))

    assert [each["type"] for each in scene.data["active_agents"]] == ["task-executor"]
    assert [each["task"] for each in scene.data["pending_tasks"]] == ["1.2", "2.1"]


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


def test_a_task_that_begins_ends_the_outer_review(scene: Scene) -> None:
    """One that the document got meanwhile."""
    scene.start()
    for task in ("1.1", "1.2", "2.1"):
        scene.do(lambda run, id_=task: transitions.finish(run, id_))  # type: ignore[misc]
    scene.do(transitions.review)
    scene.doc.write_text(scene.doc.read_text() + "\n#### Task 2.2: More\n")
    scene.do(lambda run: transitions.begin(run, "2.2"))

    head = scene.data["orchestrator"]
    assert (head["status"], head["outer_ralph"]) == ("executing", False)


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


def test_a_commit_that_names_a_task_of_another_run_says_nothing(scene: Scene) -> None:
    """This run has no such task."""
    scene.start()
    log = scene.project.root / ".git/logs/HEAD"
    log.parent.mkdir(parents=True)
    log.write_text(f"{'0' * 40} {'a' * 40} A <a@b.c> 1768478700 +0000\tcommit: Finish task 9.9\n")

    assert list(evidence.drift(scene.project, store.current(scene.project)[1])) == []


def test_a_learning_that_leaves_the_state_unlogged_is_logged_then(scene: Scene) -> None:
    """Its log couldn't be written when it was recorded."""
    scene.start()
    log = learnings.path(scene.project)
    log.mkdir()
    scene.do(lambda run: learnings.add(run, "insight", "The first"))
    log.rmdir()
    data = scene.data
    data["learnings"] += [{**data["learnings"][0], "lesson": f"{number}"} for number in range(1, learnings.KEPT)]
    scene.put(json.dumps(data).encode())
    scene.do(lambda run: learnings.add(run, "insight", "The last"))

    logged = [each["lesson"] for each in learnings.logged(scene.project)]
    assert (logged[0], logged[-1], len(logged)) == ("The first", "The last", learnings.KEPT + 1)
