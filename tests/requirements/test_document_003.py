"""Document 003: `.claude/agent-state.json`, requirement by requirement."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import SchemaMismatch, TransitionError
from holdfast.formats.orchestrator import faults, learnings, moves, schema, snapshots, supervision, task_document
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.formats.orchestrator.run import Run
from holdfast.formats.orchestrator.supervision import Conflict
from tests.commandline import holdfast
from tests.requirements.document_003 import EXAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.requirements.document_003 import Scene

FIXED = Conflict("pattern", "low", "auto_fix", "Fixed naming in 3 files")


def head(scene: Scene) -> dict[str, Any]:
    found: dict[str, Any] = scene.data["orchestrator"]
    return found


def finish(scene: Scene, *ids: str, cost: str | None = None) -> None:
    for id_ in ids:
        scene.do(lambda run, id_=id_: paid(run, id_, cost))  # type: ignore[misc]


def paid(run: Run, id_: str, cost: str | None) -> None:
    if cost:
        moves.price(run, id_, cost)
    moves.finish(run, id_)


def test_the_state_lies_at_its_path(scene: Scene) -> None:
    """R003-01, R003-05: without the file there is no run; the task document's path is absolute."""
    assert FORMAT.find(scene.project).workflows == ()
    holdfast("start", str(scene.doc), "--format", "orchestrator", root=scene.project.root)
    assert head(scene)["task_doc"] == str(scene.doc)
    assert scene.doc.is_absolute()
    assert scene.path == scene.project.root / ".claude/agent-state.json"
    scene.put(scene.path.read_bytes().replace(b'"planning"', b'"executing"'))
    assert scene.workflow.status == "active"  # the file alone says so


def test_a_new_state_has_exactly_the_schemas_keys(scene: Scene) -> None:
    """R003-02, R003-11 and R003-34: those of version 1.0, in its order."""
    example = json.loads(EXAMPLE)
    scene.start()
    finish(scene, "1.1", "1.2")
    scene.do(lambda run: moves.begin(run, "2.1"))
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
    assert schema.deviations(json.loads(EXAMPLE)) == []
    assert scene.workflow.warnings == ()
    assert not scene.do(lambda run: None).changed
    assert scene.path.read_bytes() == EXAMPLE
    assert schema.deviations(json.loads(EXAMPLE.replace(b'"3/5"', b'"6/5"'))) != []


def test_a_run_lives_from_planning_to_its_end(scene: Scene) -> None:
    """R003-04, R003-09, R003-10, R003-22 and I003-14: the outer review comes between, and the end has its time."""
    scene.start()
    seen = [(head(scene)["status"], head(scene)["outer_ralph"], head(scene)["end_time"])]
    steps: list[Callable[[Run], object]] = [moves.approve]
    steps += [lambda run, id_=id_: moves.finish(run, id_) for id_ in ("1.1", "1.2", "2.1")]  # type: ignore[misc]
    for move in (*steps, lambda run: supervision.join(run, "outer-ralph", ""), moves.complete):
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
    scene.do(lambda run: moves.cancel(run, "Enough"))
    assert head(scene)["status"] == "failed"
    with pytest.raises(TransitionError, match="final"):
        scene.do(moves.approve)
    scene.at("12:30:00")
    assert scene.start().status == "pending"
    assert [each.status for each in scene.project.archived.values()] == ["failed"]


def test_phases_count_from_zero_and_the_current_task_is_n_of_m(scene: Scene) -> None:
    """R003-06, R003-07, R003-16, I003-1 and I003-18: a task's prefix is one more than its phase.

    M is what the task document has in that phase. The example's way of counting is read too.
    """
    scene.start()
    assert head(scene)["current_task"] == "0/2"
    scene.do(lambda run: moves.begin(run, "2.1"))
    assert (head(scene)["current_phase"], head(scene)["total_phases"]) == (1, 2)
    assert scene.data["pending_tasks"][0] == {"phase": 0, "task": "1.1", "name": "Update the model"}
    run = Run(
        {**scene.data, "pending_tasks": [{"phase": each, "task": "2.1", "name": "x"} for each in (0, 1, 2, 3)]}, {}
    )
    wrong = [each.text for each in faults.contradictions(run, scene.doc, str) if "expected" in each.text]
    assert ["phase 0" in each or "phase 3" in each for each in wrong] == [True, True]
    scene.do(lambda run: moves.remove_agent(run, "2.1"))
    scene.do(lambda run: moves.begin(run, "1.2"))
    assert head(scene)["current_task"] == "2/2"
    assert [task.id for task in task_document.parse(scene.doc.read_text()).in_phase(1)] == ["1.1", "1.2"]


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
    assert (
        list(faults.contradictions(FORMAT.current(scene.project), scene.doc, str)) == []
    )  # a list need not be complete


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


def test_the_file_follows_each_event(scene: Scene) -> None:
    """R003-23: a phase, a task, an iteration, a check, a warning, a learning, a checkpoint."""
    scene.start()
    steps: list[Callable[[Run], object]] = [
        lambda run: moves.begin(run, "1.1"),
        lambda run: moves.iterate(run, "1.1"),
        lambda run: moves.finish(run, "1.1"),
        lambda run: supervision.supervise(run, "on_demand", "1.1"),
        lambda run: run.part("safety_bounds").update(cost_so_far="$0.80"),  # the warning follows
        lambda run: learnings.add(run, "insight", "x"),
        lambda run: setattr(run, "checkpoint", "1.1"),
        lambda run: moves.finish(run, "1.2"),
    ]
    for move in steps:
        before = scene.path.read_bytes()
        assert scene.do(move).changed
        assert scene.path.read_bytes() != before
    assert "Cost at 75% of limit" in scene.data["safety_bounds"]["warnings"]


def test_a_change_is_whole_or_not_there(scene: Scene) -> None:
    """R003-24 and I003-7: a new file takes the old one's place under a lock, with two blanks."""
    scene.start()
    before, inode = scene.path.read_bytes(), scene.path.stat().st_ino

    def half(run: Run) -> None:
        moves.begin(run, "1.1")
        raise TransitionError("halfway")

    with pytest.raises(TransitionError, match="halfway"):
        scene.do(half)
    assert scene.path.read_bytes() == before
    scene.do(lambda run: moves.begin(run, "1.1"))
    assert scene.path.stat().st_ino != inode
    assert scene.path.read_bytes().startswith(b'{\n  "orchestrator": {\n    "')
    assert not list(scene.path.parent.glob("*.tmp"))


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
    assert [each.path for each in FORMAT.foreign(scene.project)] == [scene.path]


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
    assert snapshots.choose(scene.project).document.path.name == "checkpoint-001.json"
    with pytest.raises(SchemaMismatch):
        snapshots.choose(scene.project, "checkpoint.json")


def test_a_corrupt_state_falls_back_to_the_newest_checkpoint(scene: Scene) -> None:
    """R003-28 and I003-16: the last one listed that can be read, else the highest number."""
    scene.start()
    for _ in range(2):
        scene.do(lambda run: setattr(run, "checkpoint", "1.1"))
    scene.path.with_name("checkpoint-002.json").write_text("{")
    scene.put(b'{"orchestrator"')
    scene.project.kept.clear()  # nothing is remembered
    (found,) = FORMAT.find(scene.project).workflows
    assert (found.recovered, found.title) == (True, "User auth")
    changed = scene.do(lambda run: moves.begin(run, "1.1"))
    assert any("checkpoint-001.json was restored" in each for each in changed.workflow.warnings)
    assert [each.read_bytes() for each in scene.path.parent.glob("*.corrupt-*")] == [b'{"orchestrator"']


@pytest.mark.parametrize(("action", "counter"), [("re_plan", "re_plans_triggered"), ("auto_fix", "auto_fixes_applied")])
def test_there_is_a_checkpoint_before_a_major_change(scene: Scene, action: str, counter: str) -> None:
    """R003-33: a re-plan and a fix have one without being asked for."""
    scene.start()
    words = ("--conflict", "api", "--severity", "high", "--action", action, "--resolution", "Planned anew")
    holdfast("orchestrator", "supervise", "pre_task", "--task", "1.1", *words, root=scene.project.root)
    (snapshot,) = scene.path.parent.glob("checkpoint-*.json")
    assert json.loads(snapshot.read_bytes())["supervisor"][counter] == 0
    assert scene.data["supervisor"][counter] == 1


def test_there_is_no_medium(scene: Scene) -> None:
    """I003-5: a severity is critical, high or low."""
    scene.start()
    words = ("--conflict", "api", "--severity", "medium", "--action", "pass", "--resolution", "Fine")
    refused = holdfast("orchestrator", "supervise", "pre_task", *words, root=scene.project.root, code=2)
    assert "'critical', 'high', 'low'" in refused.err


def test_task_ids_are_phase_and_number() -> None:
    """R003-21: 1.10 comes after 1.9."""
    assert sorted(["1.10", "2.1", "1.9", "x"], key=schema.key) == ["1.9", "1.10", "2.1", "x"]
    assert [schema.phase_of(each) for each in ("3.1", "x")] == [3, None]
