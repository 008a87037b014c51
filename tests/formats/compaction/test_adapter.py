"""The compaction format's verbs: start, begin, done, update, step and find."""

from __future__ import annotations

import errno
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import MissingError, StateError, TransitionError
from holdfast.files import atomic
from holdfast.formats.compaction import adapter as compaction
from holdfast.formats.compaction import record
from holdfast.sessions.history import generations, history
from holdfast.workflow import registry, verbs
from holdfast.workflow.model import Changes, Start, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.formats.record import Record
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.adapter import FindsForeignFiles, Format
    from tests.workflow.conftest import Put, Seed

# mypy holds them to what a format has to offer.
RECORD: Record = record
ADAPTER: Format = compaction
LOOKING: FindsForeignFiles = compaction
FOLDER = "untracked/workflow-state"
NAMED = (("Design", ""), ("Build", "coder"), ("Test", ""))


def started(project: Workspace, **changes: Any) -> Workflow:
    return compaction.start(project, Start(**({"title": "QA Loop", "kind": "qa-loop", "phases": NAMED} | changes)))


def data_of(workflow: Workflow) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(workflow.path.read_text(encoding="utf-8"))
    return data


def test_start_writes_the_documents_file(project: Workspace, seed: Seed, monkeypatch: pytest.MonkeyPatch) -> None:
    """R001-11: name, type, phase 1 of the total, reading, context and reminders, as in Example 1."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-09T14:30:52Z")
    example = json.loads(seed("compaction-feature-start.json"))
    workflow = compaction.start(
        project,
        Start(
            title=example["workflow"],
            kind="implementation",
            phases=(("Design", ""),),
            total=5,
            reading=tuple(example["required_reading"]),
            reminders=tuple(example["key_reminders"]),
            context=example["context"],
        ),
    )
    data = data_of(workflow)
    assert data["context"].pop("phases") == ["Design"]
    assert data == example | {"created_at": "2025-12-09T14:30:52.000000Z"}
    assert workflow.path.name == "state-feature-implementation-user-auth-20251209_143052.json"
    assert workflow.ref == f"compaction:{workflow.path.relative_to(project.root)}"


def test_a_second_start_of_an_unfinished_workflow_is_refused(project: Workspace) -> None:
    """R001-12: no second file of the same workflow; the message says where it is and the way out."""
    started(project)
    with pytest.raises(TransitionError, match=r"phase 1/3 in untracked/.*holdfast done --all"):
        started(project, title="qa loop")
    assert len(compaction.find(project).workflows) == 1


def test_done_advances_in_the_same_file(project: Workspace) -> None:
    """R001-12: number, name and status move on, the note is kept, created_at stays."""
    first = started(project)
    second = verbs.done(project, first, note="use the old patterns")
    assert (second.position, second.phase, second.phase_status) == ("2/3", "Build", "active")
    assert second.path == first.path
    assert second.created_at == first.created_at
    assert second.phases[0].handover == "use the old patterns"
    step = verbs.step(second)
    assert step is not None
    assert (step.number, step.agent) == (2, "coder")
    assert step.prompt == "Build\n\nContext: use the old patterns"


def test_the_last_phase_completes_and_removes_the_workflow(project: Workspace, put: Put) -> None:
    """R001-19, R001-20, I001-3: only this workflow's files go; the last content stays as a generation."""
    other = started(project, title="Other")
    workflow = started(project)
    note = put(f"{FOLDER}/qa-loop/notes.txt", "mine")
    stranger = put(f"{FOLDER}/qa-loop/state-else-20250101_000000.json", {"workflow": "Else", "phase": 1})
    older = put(f"{FOLDER}/qa-loop/state-qa-loop-20200101_000000.json", {"workflow": "QA Loop", "phase": 1})
    for _ in range(3):
        workflow = verbs.done(project, workflow)
    assert workflow.finished
    assert (workflow.current, workflow.total) == (3, 3)
    assert not workflow.path.exists()
    assert not older.exists()
    assert note.exists()
    assert stranger.exists()
    assert other.path.exists()
    kept = generations.latest(project, workflow.path)
    assert kept is not None
    assert json.loads(kept)["phase"]["status"] == "completed"


def test_an_empty_folder_goes_with_its_workflow(project: Workspace) -> None:
    """R001-19: the workflow's directory is deleted, the folder of all workflows is not."""
    workflow = verbs.done(project, started(project), everything=True)
    assert workflow.finished
    assert not workflow.path.parent.exists()
    assert (project.root / FOLDER).is_dir()


def test_what_a_killed_writer_left_goes_with_its_workflow(project: Workspace) -> None:
    """Nobody writes it any more; what another file's writer left is none of this workflow's."""
    workflow, other = started(project), started(project, title="Other")
    left = [each.path.with_name(f".{each.path.name}.4711.tmp") for each in (workflow, other)]
    for each in left:
        each.write_text("{")

    verbs.done(project, workflow, everything=True)

    assert [each.exists() for each in left] == [False, True]
    assert not workflow.path.parent.exists()


def test_a_workflow_that_is_gone_cannot_be_moved(project: Workspace) -> None:
    """Its file was removed meanwhile: an error that says so, and no folder is made for the lock."""
    workflow = verbs.done(project, started(project), everything=True)
    shutil.rmtree(project.root / FOLDER)
    with pytest.raises(MissingError, match="gone"):
        verbs.update(project, workflow, Changes(status="blocked"))
    assert not (project.root / FOLDER).exists()


def test_begin_starts_what_was_not_started(project: Workspace, put: Put) -> None:
    """A first phase that waits becomes active, a running one stays as it is."""
    phase = {"current": 1, "total": 2, "name": "A", "status": "not_started"}
    put(f"{FOLDER}/x/state-x-20250101_000000.json", {"workflow": "X", "phase": phase})
    (workflow,) = compaction.find(project).workflows
    begun = verbs.begin(project, workflow)
    before = begun.path.stat().st_mtime_ns
    assert begun.phase_status == "active"
    assert verbs.begin(project, begun).path.stat().st_mtime_ns == before


def test_begin_leaves_a_blocked_phase_blocked(project: Workspace) -> None:
    """To ask what is next clears nothing up."""
    blocked = verbs.update(project, started(project), Changes(status="blocked"))

    assert verbs.begin(project, blocked).phase_status == "blocked"


def test_beyond_the_last_phase_nobody_knows_that_it_was_the_last(project: Workspace, put: Put) -> None:
    """The file contradicts itself, so its workflow is not removed over it; who says so completes it."""
    phase = {"current": 7, "total": 5, "name": "A", "status": "in_progress"}
    path = put(f"{FOLDER}/x/state-x-20250101_000000.json", {"workflow": "X", "phase": phase})
    (workflow,) = compaction.find(project).workflows

    with pytest.raises(TransitionError, match="doesn't say whether this is the last phase"):
        verbs.done(project, workflow)
    assert path.exists()
    assert verbs.done(project, workflow, everything=True).finished


def test_update_adds_and_keeps(project: Workspace) -> None:
    """R001-12: context and reminders are added, nothing goes."""
    workflow = started(project, reading=("@a.md",), reminders=("one",), context={"k": 1})
    changes = Changes(reading=("b.md", "@a.md"), reminders=("two",), context={"l": [2]}, handover="note")
    after = verbs.update(project, workflow, changes)
    assert after.reading == ("@a.md", "@b.md")
    assert after.reminders == ("one", "two")
    assert after.context == {"k": 1, "l": [2]}
    assert after.phases[0].handover == "note"
    moved = verbs.update(project, after, Changes(current=3, status="blocked"))
    assert (moved.position, moved.phase, moved.status) == ("3/3", "Test", "blocked")
    renamed = verbs.update(project, moved, Changes(phase="Verify", total=4))
    assert (renamed.position, renamed.phase, renamed.phase_status) == ("3/4", "Verify", "blocked")


def test_a_note_never_replaces_what_somebody_kept_under_that_key(project: Workspace) -> None:
    """The context is free: another use of our key stays beside the note."""
    workflow = started(project, context={"phase_notes": ["mine"]})
    after = verbs.update(project, workflow, Changes(handover="note"))
    assert data_of(after)["context"]["phase_notes"] == {"phase_notes": ["mine"], "1": "note"}
    assert after.context["phase_notes"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (Changes(current=4), "there is no phase 4; .* has 3 phases"),
        (Changes(current=0), "there is no phase 0; .* has 3 phases"),
        (Changes(status="failed"), "can't be failed"),
        (Changes(deliverables=("x",)), "no deliverables"),
    ],
)
def test_updates_the_format_cannot_hold_are_refused(project: Workspace, changes: Changes, reason: str) -> None:
    """I001-17, R001-07: nothing out of bounds is ever written."""
    workflow = started(project)
    before = workflow.path.read_bytes()
    with pytest.raises(TransitionError, match=reason):
        verbs.update(project, workflow, changes)
    assert workflow.path.read_bytes() == before


def test_a_hand_kept_file_keeps_its_style_and_unknown_keys(project: Workspace, put: Put) -> None:
    """Only what changed changes: indentation, line ends, unknown keys and key order stay."""
    lines = [
        "{",
        '\t"zeta": [1, 2],',
        '\t"workflow": "X",',
        '\t"phase": {"current": 1, "total": 3, "name": "A", "extra": 0}',
        "}",
    ]
    text = "\r\n".join(lines)
    put(f"{FOLDER}/x/state-x-20250101_000000.json", text)
    (workflow,) = compaction.find(project).workflows
    after = verbs.done(project, workflow)
    written = after.path.read_bytes().decode()
    assert written.startswith('{\r\n\t"zeta"')
    assert "\n" not in written.replace("\r\n", "")
    assert data_of(after)["phase"] == {"current": 2, "total": 3, "name": "Phase 2", "extra": 0, "status": "in_progress"}
    assert list(data_of(after)) == ["zeta", "workflow", "phase", "context"]
    assert data_of(after)["context"] == {"phases": ["A"]}  # the title of a phase that is behind


def test_find_gives_one_workflow_a_name_from_its_newest_file(project: Workspace, put: Put) -> None:
    """R001-04, I001-7: several workflows are normal, several files of one are warned of."""
    put(f"{FOLDER}/x/state-x-1.json", {"workflow": "X", "phase": {"current": 1, "total": 3}}, age=20)
    put(f"{FOLDER}/x/state-x-2.json", {"workflow": "x", "phase": {"current": 2, "total": 3}}, age=10)
    put(f"{FOLDER}/y/state-y-1.json", {"workflow": "Y", "phase": {"current": 1, "total": 1}}, age=0)
    found = compaction.find(project)
    assert [(each.title, each.current) for each in found.workflows] == [("Y", 1), ("x", 2)]
    assert any("state-x-1.json is an older file" in warning for warning in found.workflows[1].warnings)


def test_files_of_one_moment_are_ordered_by_name(project: Workspace, put: Put) -> None:
    """I001-10: ties are broken by name, so that a checkout does not decide."""
    for name in ("b", "a"):
        put(f"{FOLDER}/{name}/state-{name}.json", {"workflow": name, "phase": 1})
    assert [each.title for each in compaction.find(project).workflows] == ["a", "b"]


def test_of_files_of_one_moment_the_one_named_later_is_the_newest(project: Workspace, put: Put) -> None:
    """I001-7, R001-01: after a checkout all files have one time; the name still says which is newer."""
    for stamp, phase in (("20250102_000000", 2), ("20250103_000000", 3), ("20250101_000000", 1)):
        path = put(f"{FOLDER}/x/state-x-{stamp}.json", {"workflow": "X", "phase": phase})
        os.utime(path, (1_700_000_000, 1_700_000_000))
    (workflow,) = compaction.find(project).workflows
    assert (workflow.current, len(workflow.warnings) > 0) == (3, True)


def test_the_title_of_a_phase_outlives_it(project: Workspace) -> None:
    """R001-12: what a phase was called, by its start, by an update or by hand, is known after the next one began."""
    workflow = compaction.start(project, Start(title="X", total=4, phases=(("Design", ""), ("Build", "coder"))))
    workflow = verbs.update(project, workflow, Changes(phase="Sketch"))
    for name in ("Build", "Review", "Ship"):
        workflow = verbs.done(project, workflow)
        workflow = verbs.update(project, workflow, Changes(phase=name))
    assert [phase.title for phase in workflow.phases] == ["Sketch", "Build", "Review", "Ship"]
    assert workflow.phases[1].agent == "coder"
    assert "phases" not in workflow.context


def test_a_list_of_phases_that_is_not_ours_is_left_alone(project: Workspace, put: Put) -> None:
    """R001-05: the context is free; a title finds no place where somebody keeps something else."""
    theirs = {"phases": [1, 2], "note": "x"}
    state = {"workflow": "X", "phase": {"current": 1, "total": 3, "name": "A"}, "context": theirs}
    put(f"{FOLDER}/x/state-x-20250101_000000.json", state)
    (workflow,) = compaction.find(project).workflows
    assert data_of(verbs.done(project, workflow))["context"] == theirs


def test_what_an_agent_changes_is_no_longer_derived_from_a_plan(project: Workspace, put: Put) -> None:
    """I001-9: from then on the plan's own state has no say."""
    state = {"workflow": "X", "phase": {"current": 1, "total": 3, "name": "A"}, "required_reading": []}
    for number, changes in enumerate((Changes(reminders=("r",)), Changes(reading=("a",)), Changes(context={"k": 1}))):
        derived = state | {"workflow": f"X{number}", "context": {"derived_from": "CLAUDE/Plan/X/PLAN.md"}}
        put(f"{FOLDER}/x{number}/state-x-20250101_000000.json", derived)
        (workflow,) = [each for each in compaction.find(project).workflows if each.title == f"X{number}"]
        assert workflow.origin == "plan"
        assert verbs.update(project, workflow, changes).origin == "agent"


def test_an_error_needs_a_phase_that_is_blocked(project: Workspace) -> None:
    """What is given is kept or refused, never dropped."""
    workflow = started(project)
    with pytest.raises(TransitionError, match="--status blocked"):
        verbs.update(project, workflow, Changes(error="no disk"))
    blocked = verbs.update(project, workflow, Changes(status="blocked", error="no disk"))
    verbs.update(project, blocked, Changes(error="no tape either"))
    assert [each.error for each in history.of(project, blocked).phases.values()] == ["no tape either"]


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


def test_a_broken_newest_file_gives_the_next_one_and_a_problem(project: Workspace, put: Put) -> None:
    """I001-11: skip to the next good one and mention the bad one."""
    put(f"{FOLDER}/x/state-x-1.json", {"workflow": "X", "phase": 1}, age=20)
    broken = put(f"{FOLDER}/x/state-x-2.json", "{", age=10)
    found = compaction.find(project)
    assert [each.path.name for each in found.workflows] == ["state-x-1.json"]
    assert [(problem.path, "not JSON" in problem.reason) for problem in found.problems] == [(broken, True)]


def test_a_broken_file_seen_before_gives_its_last_generation(project: Workspace, put: Put) -> None:
    """The last good content of the newest file beats an older file, and says that it was recovered."""
    put(f"{FOLDER}/x/state-x-1.json", {"workflow": "X", "phase": {"current": 1, "total": 5}}, age=20)
    path = put(f"{FOLDER}/x/state-x-2.json", {"workflow": "X", "phase": {"current": 4, "total": 5}}, age=10)
    raw = path.read_bytes()
    generations.keep(project, path, raw, why="seen")
    put(f"{FOLDER}/x/state-x-2.json", "{ torn", age=10)
    found = compaction.find(project)
    assert [(each.current, each.recovered, each.raw) for each in found.workflows] == [(4, True, raw)]
    assert "the last content Holdfast kept is used" in found.problems[0].reason
    assert path.read_text() == "{ torn"


def test_an_update_mends_a_broken_file_though_it_changes_nothing(project: Workspace, put: Put) -> None:
    """Whoever updates it has seen its last good content, and means to have it."""
    path = put(f"{FOLDER}/x/state-x-2.json", {"workflow": "X", "phase": {"current": 4, "total": 5}})
    reminded = verbs.update(project, compaction.find(project).workflows[0], Changes(reminders=("Small",)))
    path.write_text("{ torn")
    (workflow,) = compaction.find(project).workflows
    assert workflow.recovered

    assert verbs.update(project, workflow, Changes(reminders=("Small",))).reminders == ("Small",)
    assert path.read_bytes() == reminded.raw
    assert [each.read_text() for each in path.parent.glob("*.corrupt-*")] == ["{ torn"]


def test_all_formats_are_found_together(project: Workspace) -> None:
    """The newest change comes first, whatever the format."""
    from holdfast.formats.hybrid import adapter as hybrid

    first = started(project)
    second = hybrid.start(project, Start(title="Task", phases=(("A", "x"),)))
    found = registry.all_found(project).workflows
    assert [each.ref for each in found] == [
        each.ref for each in sorted((first, second), key=lambda each: each.updated_at, reverse=True)
    ]
    assert {each.format for each in found} == {"compaction", "hybrid"}


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


@pytest.mark.parametrize(
    ("current", "status", "said"),
    [
        (1, "not_started", "start phase 1/2"),
        (1, "in_progress", "go on with phase 1/2"),
        (1, "blocked", "unblock phase 1/2"),
        (1, "completed", "start phase 2/2"),
        (2, "completed", None),
    ],
)
def test_the_next_step_follows_from_the_current_phase(
    project: Workspace, put: Put, current: int, status: str, said: str | None
) -> None:
    """A person may have written that it is completed and not gone on to the next one."""
    phase = {"current": current, "total": 2, "name": "A", "status": status}
    put(f"{FOLDER}/x/state-x-20250101_000000.json", {"workflow": "X", "phase": phase})

    step = verbs.step(compaction.find(project).workflows[0])

    assert (step and step.text.partition(' "')[0]) == said


def test_what_blocked_a_phase_does_not_block_the_one_gone_on_to(project: Workspace) -> None:
    """Unless it is said to; another change leaves the block where it is."""
    blocked = verbs.update(project, started(project), Changes(status="blocked"))
    assert verbs.update(project, blocked, Changes(total=4, phase="Plan it")).phase_status == "blocked"

    assert verbs.update(project, blocked, Changes(current=2)).phase_status == "active"
    assert verbs.update(project, blocked, Changes(current=3, status="pending")).phase_status == "pending"


@pytest.mark.parametrize(("said", "total"), [(None, 3), (2, 3), (5, 5)])
def test_a_workflow_has_at_least_the_phases_that_are_named(project: Workspace, said: int | None, total: int) -> None:
    """More of them may have no name yet."""
    workflow = started(project, total=said)

    assert (workflow.current, workflow.total) == (1, total)
    assert [phase.title for phase in workflow.phases][:3] == [title for title, _ in NAMED]


def test_only_another_unfinished_workflow_keeps_an_earlier_content_out_of_its_file(project: Workspace) -> None:
    """Somebody wrote it there by hand; one that is finished gives way unasked, and so does a later content."""
    workflow = started(project)

    def restored(title: str, status: str, *, replace: bool = False) -> bool:
        phase = {"current": 1, "total": 1, "name": "A", "status": status}
        workflow.path.write_text(json.dumps({"workflow": title, "phase": phase}))
        done = compaction.restore(project, workflow.path, workflow.raw, why="test", replace=replace)
        assert workflow.path.read_bytes() == workflow.raw
        return done.changed

    assert restored("Another", "completed")
    assert restored("qa loop", "in_progress")
    with pytest.raises(TransitionError, match="is in the way: it is active at phase"):
        restored("Another", "in_progress")
    assert restored("Another", "in_progress", replace=True)


def test_a_finished_workflow_of_its_name_is_in_no_starts_way(project: Workspace) -> None:
    """Completed by hand, its file is there still, and stays."""
    before = started(project)
    over = data_of(before)["phase"] | {"current": 3, "status": "completed"}
    before.path.write_text(json.dumps(data_of(before) | {"phase": over}))
    held = before.path.read_bytes()

    for replace in (False, True):
        after = started(project, replace=replace)
        assert (after.position, after.path == before.path) == ("1/3", False)
        assert before.path.read_bytes() == held


def test_all_is_completed_wherever_it_has_come_to_meanwhile(project: Workspace) -> None:
    """Unlike one phase, which whoever saw it does not complete twice."""
    first = started(project)
    verbs.done(project, first)

    assert verbs.done(project, first, everything=True).finished
    assert not first.path.exists()


def test_where_nobody_says_how_many_phases_there_are_any_next_one_can_be(project: Workspace, put: Put) -> None:
    """It is the last that is known; how many there are is still not written."""
    put(f"{FOLDER}/x/state-x-20250101_000000.json", {"workflow": "X", "phase": {"current": 2, "name": "A"}})
    (workflow,) = compaction.find(project).workflows

    after = verbs.update(project, workflow, Changes(current=3))

    assert after.position == "3/3"
    assert "total" not in data_of(after)["phase"]


@pytest.mark.parametrize("move", [verbs.begin, verbs.done])
def test_what_an_agent_moves_is_no_longer_derived_from_a_plan(
    project: Workspace, put: Put, move: Callable[[Workspace, Workflow], Workflow]
) -> None:
    """I001-9: else the plan would move it back."""
    phase = {"current": 1, "total": 3, "name": "A", "status": "not_started"}
    state = {"workflow": "X", "phase": phase, "context": {"derived_from": "CLAUDE/Plan/X/PLAN.md"}}
    put(f"{FOLDER}/x/state-x-20250101_000000.json", state)
    (workflow,) = compaction.find(project).workflows
    assert workflow.origin == "plan"

    assert move(project, workflow).origin == "agent"


def test_a_phase_that_nobody_named_is_not_listed_once_it_is_behind(project: Workspace) -> None:
    """Its number says as much."""
    workflow = started(project, phases=(), total=3)
    assert workflow.phase == "Phase 1"

    assert data_of(verbs.done(project, workflow))["context"] == {}
