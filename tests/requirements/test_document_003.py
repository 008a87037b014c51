"""Document 003: `.claude/agent-state.json`, requirement by requirement."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import HoldfastError, SchemaMismatch, TransitionError
from holdfast.formats.orchestrator import (
    adapter,
    agents,
    amounts,
    check,
    learnings,
    locks,
    queries,
    restoration,
    schema,
    store,
    supervision,
    taskdoc,
    transitions,
)
from holdfast.formats.orchestrator.run import Run
from holdfast.formats.orchestrator.supervision import Conflict
from tests.commandline import holdfast
from tests.formats.orchestrator.conftest import EXAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.formats.orchestrator.conftest import Scene

FIXED = Conflict("pattern", "low", "auto_fix", "Fixed naming in 3 files")


def head(scene: Scene) -> dict[str, Any]:
    found: dict[str, Any] = scene.data["orchestrator"]
    return found


def finish(scene: Scene, *ids: str, cost: str | None = None) -> None:
    for id_ in ids:
        scene.do(lambda run, id_=id_: transitions.finish(run, id_, cost=cost))  # type: ignore[misc]


def test_the_state_lies_at_its_path(scene: Scene) -> None:
    """R003-01: and without the file there is no run."""
    assert adapter.find(scene.project).workflows == ()
    scene.start()
    assert scene.path == scene.project.root / ".claude/agent-state.json"
    scene.put(scene.path.read_bytes().replace(b'"planning"', b'"executing"'))
    assert scene.workflow.status == "active"  # the file alone says so


def test_a_new_state_has_exactly_the_schemas_keys(scene: Scene) -> None:
    """R003-02, R003-11 and R003-34: those of version 1.0, in its order."""
    example = json.loads(EXAMPLE)
    scene.start()
    finish(scene, "1.1", "1.2")
    scene.do(lambda run: transitions.begin(run, "2.1"))
    scene.do(lambda run: supervision.supervise(run, "post_task", "1.2", FIXED))
    scene.do(lambda run: learnings.add(run, "insight", "Look first"))

    assert list(scene.data) == list(example)
    for name in ("orchestrator", "supervisor", "safety_bounds"):
        assert list(scene.data[name]) == list(example[name])
    for name in ("active_agents", "completed_tasks", "learnings", "milestones", "checkpoints"):
        assert [list(each) for each in scene.data[name][:1]] == [list(example[name][0])]
    assert list(scene.data["supervisor"]["interventions"][0]) == list(example["supervisor"]["interventions"][0])


def test_the_complete_example_is_valid(scene: Scene) -> None:
    """R003-03, I003-2 and I003-6: its 3/5 and its shas that are none are read as they are."""
    scene.put(EXAMPLE)
    assert list(check.types(json.loads(EXAMPLE))) == []
    assert scene.workflow.warnings == ()
    assert not scene.do(lambda run: None).changed
    assert scene.path.read_bytes() == EXAMPLE
    assert list(check.types(json.loads(EXAMPLE.replace(b'"3/5"', b'"6/5"')))) != []


def test_a_run_lives_from_planning_to_its_end(scene: Scene) -> None:
    """R003-04, R003-09, R003-10, R003-22 and I003-14: the outer review comes between, and the end has its time."""
    scene.start()
    seen = [(head(scene)["status"], head(scene)["outer_ralph"], head(scene)["end_time"])]
    moves: list[Callable[[Run], object]] = [transitions.approve]
    moves += [lambda run, id_=id_: transitions.finish(run, id_) for id_ in ("1.1", "1.2", "2.1")]  # type: ignore[misc]
    for move in (*moves, transitions.review, transitions.complete):
        scene.do(move)
        seen.append((head(scene)["status"], head(scene)["outer_ralph"], head(scene)["end_time"]))

    assert list(dict.fromkeys(seen)) == [
        ("planning", False, None),
        ("executing", False, None),
        ("reviewing", False, None),
        ("reviewing", True, None),
        ("completed", False, "2026-01-15T12:00:00Z"),
    ]
    assert head(scene)["start_time"] == "2026-01-15T12:00:00Z"
    assert set(schema.STATUSES) == {"planning", "executing", "reviewing", "completed", "failed"}


@pytest.mark.parametrize("at", ["planning", "executing", "reviewing"])
def test_a_run_can_fail_from_any_state_and_no_further(scene: Scene, at: str) -> None:
    """I003-13: completed and failed are final; a new run takes the place of one."""
    scene.start()
    scene.do(lambda run: run.head.update(status=at))
    scene.do(transitions.abort)
    assert head(scene)["status"] == "failed"
    with pytest.raises(TransitionError, match="final"):
        scene.do(transitions.approve)
    scene.at("12:30:00")
    assert scene.start().status == "pending"
    assert [each.status for each in scene.project.archived.values()] == ["failed"]


def test_the_task_documents_path_is_absolute(scene: Scene) -> None:
    """R003-05: wherever the command was run."""
    holdfast("orchestrator", "start", str(scene.doc), root=scene.project.root)
    assert head(scene)["task_doc"] == str(scene.doc)
    assert scene.doc.is_absolute()


def test_phases_count_from_zero(scene: Scene) -> None:
    """R003-06, R003-16 and I003-1: a task's prefix is one more; the example's way of counting is read too."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "2.1"))
    assert (head(scene)["current_phase"], head(scene)["total_phases"]) == (1, 2)
    assert scene.data["pending_tasks"][0] == {"phase": 0, "task": "1.1", "name": "Update the model"}
    run = Run(
        {**scene.data, "pending_tasks": [{"phase": each, "task": "2.1", "name": "x"} for each in (0, 1, 2, 3)]}, {}
    )
    wrong = [said for said, _ in check.contradictions(run) if "expected" in said]
    assert ["phase 0" in each or "phase 3" in each for each in wrong] == [True, True]


def test_the_current_task_is_n_of_m(scene: Scene) -> None:
    """R003-07 and I003-18: M is what the task document has in that phase."""
    scene.start()
    assert head(scene)["current_task"] == "0/2"
    scene.do(lambda run: transitions.begin(run, "1.2"))
    assert head(scene)["current_task"] == "2/2"
    assert [task.id for task in taskdoc.parse(scene.doc.read_text()).in_phase(1)] == ["1.1", "1.2"]


def test_iterations_count_from_zero_for_each_task(scene: Scene) -> None:
    """R003-08: whatever the task before took."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    for _ in range(3):
        scene.do(lambda run: transitions.iterate(run, "1.1"))
    assert head(scene)["ralph_iteration"] == 3
    finish(scene, "1.1")
    scene.do(lambda run: transitions.begin(run, "1.2"))
    assert head(scene)["ralph_iteration"] == 0


def test_counters_and_interventions_move_together(scene: Scene) -> None:
    """R003-12, R003-13 and I003-4: every check counts, and each conflict is listed."""
    scene.start()
    for kind in schema.CHECK_TYPES:
        scene.do(lambda run, kind=kind: supervision.supervise(run, kind, "1.1"))  # type: ignore[misc]
    for action in schema.ACTIONS:
        found = Conflict("architecture", "high", action, "Used the module that is there")
        scene.do(lambda run, found=found: supervision.supervise(run, "post_task", "1.1", found))  # type: ignore[misc]

    supervisor = scene.data["supervisor"]
    assert (supervisor["checks_performed"], supervisor["last_check"]) == (6, "2026-01-15T12:00:00Z")
    assert (supervisor["conflicts_detected"], len(supervisor["interventions"])) == (3, 3)
    assert (supervisor["auto_fixes_applied"], supervisor["re_plans_triggered"]) == (1, 1)
    scene.do(lambda run: run.part("supervisor").update(conflicts_detected=9))
    assert list(check.contradictions(store.current(scene.project)[1])) == []  # a list need not be complete


def test_there_is_no_medium(scene: Scene) -> None:
    """I003-5: a severity is critical, high or low."""
    scene.start()
    with pytest.raises(HoldfastError, match="critical, high, low"):
        scene.do(lambda run: supervision.supervise(run, "pre_task", "1.1", FIXED._replace(severity="medium")))


def test_an_agent_at_work_is_listed_and_its_task_no_longer_pending(scene: Scene) -> None:
    """R003-14 and I003-3."""
    scene.start()
    judged = adapter.judge(scene.project, scene.workflow, "1.1", "active", "")
    assert judged.changed
    entry = {"type": "task-executor", "task": "1.1", "started": "2026-01-15T12:00:00Z"}
    assert scene.data["active_agents"] == [{**entry, "iteration": 0, "status": "in_progress"}]
    assert "1.1" not in [each["task"] for each in scene.data["pending_tasks"]]


def test_sums_of_money_and_time_are_exact(scene: Scene) -> None:
    """R003-15, I003-10 and I003-11: $0.20 + $0.55, 15m 23s + 18m 45s; failed tasks are not completed ones."""
    scene.start()
    for id_, begins, ends, cost in (("1.1", "12:00:00", "12:15:23", "$0.20"), ("1.2", "13:00:00", "13:18:45", "$0.55")):
        scene.at(begins)
        scene.do(lambda run, id_=id_: transitions.begin(run, id_))  # type: ignore[misc]
        scene.at(ends)
        finish(scene, id_, cost=cost)
    scene.do(lambda run: transitions.fail(run, "2.1", "No net", cost="$0"))

    limits = scene.data["safety_bounds"]
    assert (limits["cost_so_far"], limits["elapsed_time"]) == ("$0.75", "0h 34m 8s")
    assert [each["time_elapsed"] for each in scene.data["completed_tasks"]] == ["15m 23s", "18m 45s"]
    assert (amounts.seconds("2h"), amounts.as_money(amounts.sum_money(["$10"]))) == (7200, "$10.00")


def test_bounds_have_defaults_and_warn(scene: Scene) -> None:
    """R003-17, I003-12 and I003-19: 30 iterations, $10, 2h; at 75 % and at 100 %, once each."""
    scene.doc.write_text("### Phase 1: A\n#### Task 1.1: a\n#### Task 1.2: b\n#### Task 1.3: c\n")
    scene.start()
    limits = scene.data["safety_bounds"]
    assert [limits[name] for name in schema.BOUNDS] == [30, "$10", "2h"]
    finish(scene, "1.1", cost="$7.50")
    assert scene.data["safety_bounds"]["warnings"] == ["Cost at 75% of limit"]
    finish(scene, "1.2", cost="$2.50")
    assert scene.data["safety_bounds"]["warnings"] == ["Cost at 75% of limit", "Cost at 100% of limit"]
    finish(scene, "1.3", cost="$1")
    assert len(scene.data["safety_bounds"]["warnings"]) == 2


def test_a_learning_is_in_the_state_and_in_the_log(scene: Scene) -> None:
    """R003-18: and its type is one of three."""
    scene.start()
    scene.do(lambda run: learnings.add(run, "pattern", "Reuse", pattern="Look", context="Auth", task="1.1"))
    assert scene.data["learnings"] == learnings.logged(scene.project)
    with pytest.raises(HoldfastError, match="pattern, antipattern, insight"):
        scene.do(lambda run: learnings.add(run, "rumour", "x"))


def test_a_phase_that_is_done_has_its_milestone(scene: Scene) -> None:
    """R003-19: with the URL of its issue once there is one."""
    scene.start()
    finish(scene, "1.1")
    assert scene.data["milestones"] == []
    finish(scene, "1.2")
    scene.do(lambda run: transitions.finish_phase(run, 1, "https://github.com/u/r/issues/1"))
    (milestone,) = scene.data["milestones"]
    assert (milestone["phase"], milestone["name"]) == (0, "Foundation")
    assert milestone["issue_url"] == "https://github.com/u/r/issues/1"


def test_a_checkpoint_is_a_whole_copy_with_its_own_entry(scene: Scene) -> None:
    """R003-20 and I003-17: it names the real commit."""
    sha = "0123456789abcdef0123456789abcdef01234567"
    (scene.project.root / ".git").mkdir()
    (scene.project.root / ".git/HEAD").write_text(f"{sha}\n")
    scene.start()
    finish(scene, "1.1", "1.2")
    (entry,) = scene.data["checkpoints"]
    assert (entry["phase"], entry["task"], entry["git_sha"]) == (0, "1.2", sha)
    assert scene.path.with_name(entry["state_snapshot"]).read_bytes() == scene.path.read_bytes()


def test_task_ids_are_phase_and_number() -> None:
    """R003-21: 1.10 comes after 1.9."""
    assert sorted(["1.10", "2.1", "1.9", "x"], key=schema.key) == ["1.9", "1.10", "2.1", "x"]
    assert [schema.phase_of(each) for each in ("3.1", "x")] == [3, None]


def test_the_file_follows_each_event(scene: Scene) -> None:
    """R003-23: a phase, a task, an iteration, a check, a warning, a learning, a checkpoint."""
    scene.start()
    moves: list[Callable[[Run], object]] = [
        lambda run: transitions.begin(run, "1.1"),
        lambda run: transitions.iterate(run, "1.1"),
        lambda run: transitions.finish(run, "1.1"),
        lambda run: supervision.supervise(run, "on_demand", "1.1"),
        lambda run: run.part("safety_bounds").update(cost_so_far="$0.80"),  # the warning follows
        lambda run: learnings.add(run, "insight", "x"),
        lambda run: setattr(run, "checkpoint", "1.1"),
        lambda run: transitions.finish(run, "1.2"),
    ]
    for move in moves:
        before = scene.path.read_bytes()
        assert scene.do(move).changed
        assert scene.path.read_bytes() != before
    assert "Cost at 75% of limit" in scene.data["safety_bounds"]["warnings"]


def test_a_change_is_whole_or_not_there(scene: Scene) -> None:
    """R003-24 and I003-7: a new file takes the old one's place under a lock, with two blanks."""
    scene.start()
    before, inode = scene.path.read_bytes(), scene.path.stat().st_ino

    def half(run: Run) -> None:
        transitions.begin(run, "1.1")
        raise TransitionError("halfway")

    with pytest.raises(TransitionError, match="halfway"):
        scene.do(half)
    assert scene.path.read_bytes() == before
    scene.do(lambda run: transitions.begin(run, "1.1"))
    assert scene.path.stat().st_ino != inode
    assert scene.path.read_bytes().startswith(b'{\n  "orchestrator": {\n    "')
    assert not list(scene.path.parent.glob("*.tmp"))


def test_the_six_queries_answer_and_write_nothing(scene: Scene) -> None:
    """R003-25: on the document's example; `test_commands.py` compares them with jq."""
    scene.put(EXAMPLE)
    when = scene.path.stat().st_mtime_ns
    found = {
        name: holdfast("orchestrator", "query", name, "--json", root=scene.project.root).json
        for name in queries.QUERIES
    }
    assert found["status"] == "executing"
    assert found["progress"] == {"phase": 2, "task": "3/5", "status": "executing"}
    assert found["cost"] == {"cost": "$0.75", "time": "0h 34m 8s", "max_cost": "$10", "max_time": "2h"}
    assert [len(found[name]) for name in ("completed", "interventions", "learnings")] == [2, 2, 2]
    assert (scene.path.read_bytes(), scene.path.stat().st_mtime_ns) == (EXAMPLE, when)


@pytest.mark.parametrize(
    "content",
    [
        {"status": "executing", "current_step": 5, "total_steps": 10},
        {"timestamp": "2026-01-15", "phase": "x", "completed_todos": []},
        {"agents": {"a": {"status": "idle"}}},
        {},
        {"checkpoints": []},
    ],
)
def test_a_file_of_somebody_else_is_left_alone(scene: Scene, content: dict[str, Any]) -> None:
    """R003-26 and I003-20: the old format isn't migrated, and eight other programs use the path."""
    raw = json.dumps(content).encode()
    scene.put(raw)
    with pytest.raises(SchemaMismatch, match="left alone"):
        scene.start()
    assert scene.path.read_bytes() == raw
    assert [each.path for each in adapter.foreign(scene.project)] == [scene.path]


def test_files_are_locked_for_parallel_agents(scene: Scene) -> None:
    """R003-27: in `.claude/locks.json`, until the owner ends or the lock expires."""
    workflow = scene.start()
    assert locks.lock(scene.project, workflow, "a.py", "a1", {"a1", "a2"}) == ""
    assert "Agent a1 is editing a.py" in locks.lock(scene.project, workflow, "a.py", "a2", {"a1", "a2"})
    assert json.loads(scene.path.with_name("locks.json").read_bytes()) == {
        "locks": [
            {
                "path": "a.py",
                "owner": "a1",
                "acquired": "2026-01-15T12:00:00Z",
                "expires": "2026-01-15T12:10:00Z",
            }
        ]
    }
    locks.unlock(scene.project, workflow, "a1")
    assert locks.lock(scene.project, workflow, "a.py", "a2", {"a2"}) == ""


def test_checkpoint_of_another_program_is_left_alone(scene: Scene) -> None:
    """R003-27 and I003-15: another program's checkpoint.json is neither overwritten nor restored from."""
    scene.start()
    theirs = scene.path.with_name("checkpoint.json")
    theirs.write_text('{"todos": ["x"]}')
    finish(scene, "1.1", "1.2")
    scene.do(lambda run: learnings.add(run, "insight", "x"))
    names = {each.name for each in scene.path.parent.iterdir() if each.is_file()}
    assert {"learnings.jsonl", "checkpoint-001.json"} <= names
    assert "locks.json" not in names
    assert theirs.read_text() == '{"todos": ["x"]}'
    assert restoration.chosen(scene.project).document.path.name == "checkpoint-001.json"
    with pytest.raises(SchemaMismatch):
        restoration.chosen(scene.project, "checkpoint.json")


def test_a_corrupt_state_falls_back_to_the_newest_checkpoint(scene: Scene) -> None:
    """R003-28 and I003-16: the last one listed that can be read, else the highest number."""
    scene.start()
    for _ in range(2):
        scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    scene.path.with_name("checkpoint-002.json").write_text("{")
    scene.put(b'{"orchestrator"')
    scene.project.kept.clear()  # nothing is remembered
    (found,) = adapter.find(scene.project).workflows
    assert (found.recovered, found.title) == (True, "User auth")
    said = scene.do(lambda run: transitions.begin(run, "1.1")).run.said
    assert "checkpoint-001.json was restored" in said[0]
    assert [each.read_bytes() for each in scene.path.parent.glob("*.corrupt-*")] == [b'{"orchestrator"']


def test_the_way_back_in_git_is_advice(scene: Scene) -> None:
    """R003-29 and I003-9: the checkpoint's commit is printed with a warning, and git is never run."""
    sha = "0123456789abcdef0123456789abcdef01234567"
    (scene.project.root / ".git").mkdir()
    (scene.project.root / ".git/HEAD").write_text(f"{sha}\n")
    scene.start()
    scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    said = holdfast("orchestrator", "restore", root=scene.project.root).out
    assert f"git reset --hard {sha}" in said
    assert "uncommitted changes" in said
    assert "never runs it" in said


def test_agents_that_are_gone_are_removed_by_a_command(scene: Scene) -> None:
    """R003-30 and I003-8: nobody has to edit the file, and their tasks start again."""
    scene.start()
    scene.do(lambda run: transitions.begin(run, "1.1"))
    scene.do(lambda run: agents.prune(run))
    assert scene.data["active_agents"] == []
    assert [each["task"] for each in scene.data["pending_tasks"]] == ["1.1", "1.2", "2.1"]


def test_bounds_that_were_exceeded_can_be_seen_and_extended(scene: Scene) -> None:
    """R003-31: what is used, and a new bound."""
    scene.start()
    finish(scene, "1.1", cost="$1.50")
    said = holdfast("orchestrator", "bounds", root=scene.project.root).out
    assert "150%  Cost: $1.50 of $1.00" in said
    holdfast("orchestrator", "bounds", "extend", "--cost", "10", root=scene.project.root)
    assert " 15%  Cost: $1.50 of $10" in holdfast("orchestrator", "bounds", root=scene.project.root).out


def test_a_run_that_is_over_is_put_away(scene: Scene) -> None:
    """R003-32: for a look at it later, and only then."""
    scene.start()
    with pytest.raises(TransitionError, match="end it first"):
        restoration.put_away(scene.project)
    scene.do(transitions.abort)
    kept = scene.path.read_bytes()
    folder = restoration.put_away(scene.project)
    assert (folder / "agent-state.json").read_bytes() == kept
    assert not scene.path.exists()


def test_there_is_a_checkpoint_before_a_major_change(scene: Scene) -> None:
    """R003-33: a re-plan has one without being asked for."""
    scene.start()
    words = ("--conflict", "api", "--severity", "high", "--action", "re_plan", "--resolution", "Planned anew")
    holdfast("orchestrator", "supervise", "pre_task", "--task", "1.1", *words, root=scene.project.root)
    (snapshot,) = scene.path.parent.glob("checkpoint-*.json")
    assert json.loads(snapshot.read_bytes())["supervisor"]["re_plans_triggered"] == 0
    assert scene.data["supervisor"]["re_plans_triggered"] == 1
