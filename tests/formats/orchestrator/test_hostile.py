"""Files that a cloned repository or another program brings cost nothing but themselves."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import BrokenError, StateError
from holdfast.formats.orchestrator import learnings, locks, moves, schema, snapshots, task_document
from holdfast.formats.orchestrator.format import FORMAT
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.formats.orchestrator.run import Run
    from tests.requirements.document_003 import Scene

SECRET = (
    "# Secret title\n\n### Phase 1: P\n\n#### Task 1.1: Secret name\n\nSecret text\n\n**Success criteria**:\n- Secret\n"
)


@pytest.mark.parametrize("way", ["outside", "../outside", "a link"])
def test_a_state_has_no_file_read_outside_the_project(scene: Scene, tmp_path: Path, way: str) -> None:
    """Neither its title nor its text reaches anybody: whoever wrote the state may name any file of yours."""
    scene.start()
    secret = scene.project.root.parent / "private.md"
    secret.write_text(SECRET)
    named = {"outside": str(secret), "../outside": "../private.md", "a link": "tasks/link.md"}[way]
    (scene.project.root / "tasks/link.md").symlink_to(secret)
    data = scene.data
    data["orchestrator"]["task_doc"] = named
    schema.state_path(scene.project.root).with_name("agent-state.extra.json").unlink()
    scene.put(json.dumps(data).encode())

    workflow = scene.workflow
    told = FORMAT.brief(scene.project, workflow, workflow.phases[0])

    assert "Secret" not in workflow.title + str(workflow.phases)
    assert told is not None
    assert "Secret" not in "\n".join(told.lines)
    scene.do(lambda run: moves.begin(run, "1.1"))
    assert b"Secret" not in scene.path.read_bytes()


@each_row("mark", ["# T", "### Phase 1: p", "#### Task 1.1: a"])
def test_a_heading_of_blanks_takes_no_time(mark: str) -> None:
    """Two megabytes between its words; a quadratic search would take hours. What counts is its beginning."""
    read = task_document.parse(f"{mark}{' ' * 2_000_000}x\n")
    assert (read.title or read.phases or read.tasks) and "x" not in f"{read.title}{read.phases}{read.tasks}"


@pytest.mark.parametrize(
    ("heading", "fault"),
    [("### Phase 0: z", "phase 0 doesn't count"), ("#### Task 0.0: z", "task 0.0 doesn't count")],
)
def test_nothing_counts_from_zero(heading: str, fault: str) -> None:
    """A state can't hold it."""
    read = task_document.parse(f"# T\n{heading}\n")
    assert not read.phases and not read.tasks
    assert any(fault in each for each in read.faults)


def test_only_plain_digits_number_a_task() -> None:
    """A heading in another script would take a task's id without looking like it."""
    assert task_document.parse("### Phase 1: P\n#### Task ١.١: other\n").tasks == ()


@each_row(
    "bound",
    [
        "Max cost: USD 3",
        "Max cost: $0",
        "Max time: 0m",
        "Max time: 2 days",
        "Max cost: -5",
        "Max iterations per task: five",
        "Max time: 1.5h",
    ],
)
def test_a_bound_that_cannot_be_understood_is_said(bound: str) -> None:
    """A looser default must not take its place in silence."""
    read = task_document.parse(f"# T\n\n## Safety Bounds\n- {bound}\n")
    assert read.bounds == {}
    assert [each for each in read.faults if bound in each]


def test_a_planted_checkpoint_leaves_numbers_for_ours(scene: Scene) -> None:
    """However high its number is."""
    scene.start()
    folder = scene.path.parent
    for number in (99_999_999, 999_999_999):
        (folder / f"checkpoint-{number}.json").write_text('{"mine": 1}')
    names = [scene.do(lambda run: setattr(run, "checkpoint", "1.1")).run.listed("checkpoints")[-1] for _ in range(3)]
    made = [str(each["state_snapshot"]) for each in names]
    assert len(set(made)) == 3
    assert all(snapshots.is_name(each) and (folder / each).exists() for each in made)
    assert (folder / "checkpoint-999999999.json").read_text() == '{"mine": 1}'


@pytest.mark.parametrize("planted", ["pipe", "folder", "other"])
def test_a_log_that_cannot_be_written_is_told_and_caught_up_with(scene: Scene, planted: str) -> None:
    """The learning is in the state, once; the log gets it as soon as it can."""
    scene.start()
    log = learnings.path(scene.project)
    if planted == "pipe":
        os.mkfifo(log)
    elif planted == "folder":
        log.mkdir()
    else:
        log.write_text("another program's notes")

    def learn(run: Run, lesson: str) -> None:
        learnings.add(run, "insight", lesson)

    changed = scene.do(lambda run: learn(run, "first"))
    assert any("learnings.jsonl" in each for each in changed.workflow.warnings)
    assert [each["lesson"] for each in scene.data["learnings"]] == ["first"]
    if planted == "other":
        assert log.read_text() == "another program's notes"
    log.rmdir() if planted == "folder" else log.unlink()

    scene.do(lambda run: learn(run, "second"))
    assert [json.loads(each)["lesson"] for each in log.read_text().splitlines()] == ["first", "second"]


def test_a_state_too_deep_to_copy_is_broken_and_not_a_failure(scene: Scene) -> None:
    """Python reads more levels than it copies."""
    scene.start()
    deep = json.dumps(scene.data)[:-1] + ', "extra": ' + "[" * 500 + "]" * 500 + "}"
    scene.put(deep.encode())
    assert scene.workflow.recovered
    with pytest.raises(BrokenError, match="nested too deeply"):
        snapshots.read(scene.project, _copy(scene))


def _copy(scene: Scene) -> str:
    name = "checkpoint-007.json"
    (scene.path.parent / name).write_bytes(scene.path.read_bytes())
    return name


@pytest.mark.parametrize("linked", [".claude/agent-state.json", ".claude/learnings.jsonl", ".claude/locks.json"])
def test_a_link_in_a_files_place_is_refused_with_a_way_on(scene: Scene, linked: str) -> None:
    """It is named itself, and nothing is written through it."""
    scene.start()
    path = scene.project.root / linked
    aside = path.with_name("aside")
    path.rename(aside) if path.exists() else aside.write_text("{}")
    path.symlink_to(aside)
    before = aside.read_bytes()
    acts: dict[str, Callable[[], object]] = {
        "agent-state.json": lambda: scene.do(lambda run: None),
        "learnings.jsonl": lambda: learnings.read(scene.project),
        "locks.json": lambda: locks.read(scene.project),
    }

    with pytest.raises(StateError) as refused:
        acts[path.name]()

    assert "is a symbolic link, which is not followed; put the file or folder itself there" in str(refused.value)
    assert aside.read_bytes() == before


@pytest.mark.parametrize("notes", [{"tasks": 7}, {"tasks": {"1.1": []}}, {"tasks": {"1.1": {"criteria": "x"}}}, {}])
def test_notes_of_another_type_give_way(scene: Scene, notes: dict[str, Any]) -> None:
    """Whoever edited them by hand: the run goes on, and what they held stays among its generations."""
    scene.start()
    beside = scene.path.with_name("agent-state.extra.json")
    data = json.loads(beside.read_bytes())
    beside.write_text(json.dumps(data | {"notes": notes}))

    scene.do(lambda run: moves.judge_criteria(run, "1.1", {"done": True}))
    scene.do(lambda run: moves.finish(run, "1.1"))
    scene.do(lambda run: moves.fail(run, "1.2", "No database"))

    assert scene.data["completed_tasks"][0]["success_criteria_met"] == {"done": True}
    assert [each.status for each in scene.workflow.phases] == ["completed", "failed", "pending"]
