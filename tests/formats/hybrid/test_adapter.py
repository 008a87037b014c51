"""The hybrid format's verbs, and what hooks may and may not move."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import log
from holdfast.errors import HoldfastError, StateError, TransitionError
from holdfast.formats.hybrid import adapter as hybrid
from holdfast.formats.hybrid import record
from holdfast.sessions.history import archive, generations
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes, Start, Status, Workflow

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.formats.record import Record
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.adapter import AgentFormat, FindsForeignFiles
    from tests.workflow.conftest import Put

# mypy holds them to what a format has to offer.
RECORD: Record = record
ADAPTER: AgentFormat = hybrid
LOOKING: FindsForeignFiles = hybrid
STATE = ".claude/state/workflow.json"
VIEW = ".claude/workflow_state_system.md"
PHASES = (("Plan it", "planner"), ("Build it", "coder"), ("Test it", "tester"))


@pytest.fixture
def workflow(project: Workspace) -> Workflow:
    """A workflow of three phases, none started."""
    return hybrid.start(project, Start(title="Ship", phases=PHASES))


def state_of(project: Workspace) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((project.root / STATE).read_text(encoding="utf-8"))
    return data


def statuses(workflow: Workflow) -> list[str]:
    return [phase.status for phase in workflow.phases]


def moved(project: Workspace, phase: str, status: Any, **more: Any) -> Workflow:
    return hybrid.move(project, phase, status, **more)[0]


def test_a_hook_starts_finishes_and_advances(project: Workspace, workflow: Workflow) -> None:
    """R000-14, R000-28, R000-35: active at the launch, completed at the result, the next one active."""
    started, changed = hybrid.move(project, "phase_0", "active")
    assert (changed, started.position, started.status) == (True, "1/3", "active")
    done, changed = hybrid.move(project, "phase_0", "completed", deliverables=("plan.md",), handover="use A")
    assert (changed, done.position) == (True, "2/3")
    assert statuses(done) == ["completed", "active", "pending"]
    assert (done.phases[0].deliverables, done.phases[0].handover) == (("plan.md",), "use A")
    step = verbs.step(done)
    assert step is not None
    assert (step.title, step.agent, step.prompt) == ("Build it", "coder", "Build it\n\nContext: use A")


def test_a_hook_never_revives_what_is_completed(project: Workspace, workflow: Workflow) -> None:
    """Neither a completed phase nor a completed workflow is opened again."""
    for phase in ("phase_0", "phase_1", "phase_2"):
        hybrid.move(project, phase, "completed")
    refused: tuple[Status, ...] = ("active", "failed", "pending")
    for phase in ("phase_0", "phase_2"):
        for status in refused:
            after, changed = hybrid.move(project, phase, status)
            assert not changed
            assert after.finished


def test_a_hand_completed_workflow_is_not_moved_by_a_hook(project: Workspace, workflow: Workflow) -> None:
    """A person set the status to completed with phases left: that is what holds."""
    path = project.root / STATE
    path.write_text(json.dumps(state_of(project) | {"status": "completed"}))
    assert hybrid.move(project, "phase_0", "active")[1] is False
    with pytest.raises(TransitionError, match="reopen"):
        hybrid.move(project, "phase_0", "active", by="person")


def test_only_one_phase_is_active(project: Workspace, workflow: Workflow) -> None:
    """R000-15: a second launch leaves its phase pending, a person is told why."""
    hybrid.move(project, "phase_0", "active")
    assert hybrid.move(project, "phase_1", "active")[1] is False
    with pytest.raises(TransitionError, match='phase 1 "Plan it" is active, and only one phase can be'):
        hybrid.move(project, "phase_1", "active", by="person")


def test_a_later_phase_may_finish_first(project: Workspace, workflow: Workflow) -> None:
    """A result out of order is recorded; the current phase stays, and the one left out comes next."""
    hybrid.move(project, "phase_0", "active")
    after = moved(project, "phase_1", "completed", deliverables=("x",))
    assert (statuses(after), after.position) == (["active", "completed", "pending"], "1/3")
    after = moved(project, "phase_0", "completed")
    assert (statuses(after), after.position) == (["completed", "completed", "active"], "3/3")
    assert moved(project, "phase_2", "completed").finished


def test_a_phase_that_was_left_out_comes_after_the_last(project: Workspace, workflow: Workflow) -> None:
    """The last phase is done and earlier ones are not: the workflow goes on with the first of those."""
    after = moved(project, "phase_2", "completed")
    assert (statuses(after), after.position) == (["active", "pending", "completed"], "1/3")


def test_a_failed_phase_fails_the_workflow_at_once(project: Workspace, workflow: Workflow) -> None:
    """I000-9: later phases stay pending, and the failed one stays current."""
    hybrid.move(project, "phase_0", "active")
    after = moved(project, "phase_0", "failed")
    assert (after.status, statuses(after), after.position) == ("failed", ["failed", "pending", "pending"], "1/3")
    assert not after.finished
    step = verbs.step(after)
    assert step is not None
    assert step.text.startswith("retry phase 1/3")


def test_a_failed_phase_is_never_turned_into_a_completed_one(project: Workspace, workflow: Workflow) -> None:
    """The next result after a failure must not do it; a retry comes first."""
    hybrid.move(project, "phase_0", "failed")
    assert hybrid.move(project, "phase_0", "completed")[1] is False
    assert hybrid.move(project, "phase_1", "active")[1] is False
    with pytest.raises(TransitionError, match="failed; retry it with"):
        hybrid.move(project, "phase_0", "completed", by="person")
    with pytest.raises(TransitionError, match='phase 1 "Plan it" failed'):
        hybrid.move(project, "phase_1", "active", by="person")


def test_a_retry_reopens_phase_and_workflow(project: Workspace, workflow: Workflow) -> None:
    """I000-9: failed -> active, then on as usual."""
    hybrid.move(project, "phase_0", "failed")
    after = moved(project, "phase_0", "active")
    assert (after.status, after.position) == ("active", "1/3")
    assert moved(project, "phase_0", "completed").position == "2/3"


def test_a_hook_fills_only_what_is_empty(project: Workspace, workflow: Workflow) -> None:
    """I000-8: what the agent wrote before its phase was completed stays."""
    hybrid.move(project, "phase_0", "active")
    hybrid.move(project, "phase_0", None, deliverables=("by agent",), by="person")
    after = moved(project, "phase_0", "completed", deliverables=("by hook",), handover="from hook")
    assert (after.phases[0].deliverables, after.phases[0].handover) == (("by agent",), "from hook")


def test_people_can_reopen_a_wrong_completion(project: Workspace, workflow: Workflow) -> None:
    """I000-15: the reopened phase is active again and the one after it waits again; what was delivered stays."""
    hybrid.move(project, "phase_0", "completed", deliverables=("x",))
    after = hybrid.reopen(project, "phase_0")
    assert (statuses(after), after.position, after.status) == (["active", "pending", "pending"], "1/3", "active")
    assert after.phases[0].deliverables == ("x",)
    with pytest.raises(TransitionError, match="only a completed or failed phase"):
        hybrid.reopen(project, "phase_1")


def test_people_can_reopen_a_completed_workflow(project: Workspace, workflow: Workflow) -> None:
    """A completed workflow is terminal for hooks and not for people."""
    assert verbs.done(project, workflow, everything=True).finished
    after = hybrid.reopen(project, "phase_2")
    assert (after.status, after.position) == ("active", "3/3")


def test_begin_starts_the_first_pending_phase_once(project: Workspace, workflow: Workflow) -> None:
    """I000-6: an explicit start; asking again changes nothing, nor does it retry a failure by itself."""
    assert verbs.begin(project, workflow).position == "1/3"
    assert verbs.begin(project, workflow).position == "1/3"
    hybrid.move(project, "phase_0", "failed")
    assert statuses(verbs.begin(project, workflow)) == ["failed", "pending", "pending"]


def test_done_moves_through_all_phases(project: Workspace, workflow: Workflow) -> None:
    """R000-35: each done leaves its note for the next phase; after the last there is no next step."""
    for number in range(3):
        workflow = verbs.done(project, workflow, note=f"note {number}")
    assert workflow.finished
    assert [phase.handover for phase in workflow.phases] == ["note 0", "note 1", "note 2"]
    assert verbs.step(workflow) is None
    assert "Status: completed | Current Phase: none" in (project.root / VIEW).read_text()


def test_done_after_a_failure_asks_for_a_retry(project: Workspace, workflow: Workflow) -> None:
    """A failed phase is not completed by moving on."""
    failed = moved(project, "phase_0", "failed")
    with pytest.raises(TransitionError, match="failed; retry it with"):
        verbs.done(project, failed)


def test_a_type_is_kept_where_it_is_given(project: Workspace) -> None:
    """R000-02: without one the file has exactly the schema's keys; with one nothing that was asked for is lost."""
    made = hybrid.start(project, Start(title="T", kind="implementation", phases=(("A", "a"),)))
    assert (made.kind, hybrid.find(project).workflows[0].kind) == ("implementation", "implementation")


def test_update_keeps_extras_only_where_they_are_given(project: Workspace, workflow: Workflow) -> None:
    """R000-02, R000-38: reading, reminders and context are extra keys and appear only when somebody gives them."""
    assert set(state_of(project)) == {"id", "task", "status", "current_phase", "phases"}
    changes = Changes(current=1, reading=("docs/a.md",), reminders=("keep",), context={"k": 1}, deliverables=("d",))
    after = verbs.update(project, workflow, changes)
    assert (after.position, after.reading, after.reminders, dict(after.context)) == (
        "1/3",
        ("@docs/a.md",),
        ("keep",),
        {"k": 1},
    )
    assert after.phases[0].deliverables == ("d",)
    after = verbs.update(project, after, Changes(phase="Plan all", status="completed", handover="h"))
    assert (after.phases[0].title, after.phases[0].handover) == ("Plan all", "h")


@pytest.mark.parametrize(
    "changes", [Changes(total=9), Changes(current=4), Changes(current=0), Changes(status="blocked")]
)
def test_updates_the_format_cannot_hold_are_refused(project: Workspace, workflow: Workflow, changes: Changes) -> None:
    """R000-10: four statuses, and the phases the file lists."""
    before = (project.root / STATE).read_bytes()
    with pytest.raises(TransitionError):
        verbs.update(project, workflow, changes)
    assert (project.root / STATE).read_bytes() == before


def test_another_workflow_meanwhile_is_not_moved(project: Workspace, workflow: Workflow) -> None:
    """The file holds a newer workflow than the caller saw."""
    verbs.done(project, workflow, everything=True)
    hybrid.start(project, Start(title="Next", phases=PHASES))
    with pytest.raises(HoldfastError, match=f"not {workflow.id}"):
        verbs.done(project, workflow)


def test_hand_kept_oddities_are_read_with_warnings(project: Workspace, put: Put) -> None:
    """What can be read is, and what the file says stays until it is moved."""
    put(
        STATE,
        {
            "id": 7,
            "task": "T",
            "status": "In Progress",
            "current_phase": 1,
            "phases": [
                "just text",
                {"title": "B", "status": "running", "deliverables": "x", "extra": 1},
                {"id": None, "status": 3},
                4,
            ],
            "note": {"mine": True},
        },
    )
    (workflow,) = hybrid.find(project).workflows
    assert (workflow.id, workflow.status, workflow.position, workflow.phase) == ("7", "active", "2/4", "B")
    assert [phase.title for phase in workflow.phases] == ["just text", "B", "Phase 2", "4"]
    assert workflow.phases[1].deliverables == ("x",)
    assert len(workflow.warnings) >= 4
    hybrid.move(project, "phase_1", "completed")
    state = state_of(project)
    assert state["note"] == {"mine": True}
    assert state["phases"][1]["extra"] == 1
    assert state["phases"][1]["deliverables"] == "x"
    assert state["phases"][1]["status"] == "completed"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"current_phase": "phase_9", "status": "odd"}, "pending"),
        ({"status": None, "current_phase": ""}, "pending"),
        ({"phases": []}, "pending"),
    ],
)
def test_odd_top_level_values_never_crash(
    project: Workspace, workflow: Workflow, changes: dict[str, Any], status: str
) -> None:
    """A phase that does not exist is no current phase."""
    (project.root / STATE).write_text(json.dumps(state_of(project) | changes))
    (found,) = hybrid.find(project).workflows
    assert (found.current, found.status) == (None, status)


def test_all_phases_completed_means_completed(project: Workspace, workflow: Workflow) -> None:
    """Lesson 1: the status was forgotten; nothing is left, so nothing is restored."""
    state = state_of(project)
    for phase in state["phases"]:
        phase["status"] = "completed"
    (project.root / STATE).write_text(json.dumps(state | {"status": "active"}))
    (found,) = hybrid.find(project).workflows
    assert found.finished
    assert any("all phases are completed" in warning for warning in found.warnings)


def test_a_failed_phase_is_retried_before_another_is_started(project: Workspace, put: Put) -> None:
    """I000-9: also where nothing says which phase is current, and one before it was left out."""
    phases = [{"title": "Plan it", "status": "pending"}, {"title": "Build it", "status": "failed"}]
    put(STATE, {"id": "wf", "task": "Ship", "status": "failed", "current_phase": None, "phases": phases})
    step = verbs.step(hybrid.find(project).workflows[0])
    assert step is not None
    assert step.text.startswith('retry phase 2/2 "Build it"')


def test_a_foreign_or_broken_file_is_a_problem(project: Workspace, put: Put) -> None:
    """Nothing is found, and why is said."""
    put(STATE, {"jobs": {}})
    assert "left alone" in hybrid.find(project).problems[0].reason
    put(STATE, "{")
    assert "not JSON" in hybrid.find(project).problems[0].reason


def test_a_removed_file_is_gone(project: Workspace, workflow: Workflow) -> None:
    """R000-27: no file, no workflow, whatever the generations hold."""
    (project.root / STATE).unlink()
    assert hybrid.find(project).workflows == ()
    assert generations.latest(project, project.root / STATE)


def test_a_foreign_view_is_not_overwritten(project: Workspace, put: Put) -> None:
    """A file at the view's path that is no view stays, the state is written, and the log says so."""
    view = put(VIEW, "# My own notes\n")
    hybrid.start(project, Start(title="Ship", phases=PHASES))
    assert view.read_text() == "# My own notes\n"
    assert (project.root / STATE).exists()
    assert "isn't a view that Holdfast wrote" in log.tail(1)[0]


def test_an_empty_view_is_written_again(project: Workspace, put: Put) -> None:
    """A power failure may leave it so, because a view isn't synced; nothing in it can be lost."""
    view = put(VIEW, "")
    hybrid.start(project, Start(title="Ship", phases=PHASES))
    assert view.read_text().startswith("# Workflow Status: Ship")


def test_a_view_that_cannot_be_written_costs_no_state(project: Workspace) -> None:
    """A folder in the view's place is logged, the move stands."""
    (project.root / VIEW).mkdir(parents=True)
    hybrid.start(project, Start(title="Ship", phases=PHASES))
    assert moved(project, "phase_0", "active").position == "1/3"
    assert "workflow's view wasn't written" in log.tail(1)[0]


def test_one_phase_can_be_begun_at_a_time(project: Workspace, workflow: Workflow) -> None:
    """R000-15: none while one is active; a failed one is the one to retry."""

    def ready(now: Workflow) -> list[str]:
        return [phase.id for phase in verbs.ready(now)]

    assert ready(workflow) == ["phase_0"]
    assert ready(moved(project, "phase_0", "active")) == []
    assert ready(moved(project, "phase_0", "failed")) == ["phase_0"]
    moved(project, "phase_0", "active")
    assert ready(moved(project, "phase_0", "completed", advance=False)) == ["phase_1"]
    assert ready(verbs.done(project, hybrid.find(project).workflows[0], everything=True)) == []


def test_what_is_completed_already_is_not_completed_without_a_word(project: Workspace, workflow: Workflow) -> None:
    """Whoever says so hears how a phase is opened again."""
    over = verbs.done(project, workflow, everything=True)

    for everything in (True, False):
        with pytest.raises(TransitionError, match="To open it again: `holdfast reopen`"):
            verbs.done(project, over, everything=everything)


def test_a_workflow_that_lists_no_phases_is_completed_only_as_a_whole(project: Workspace, put: Put) -> None:
    """Nothing says which phase was done."""
    put(STATE, {"id": "wf_1", "task": "Ship", "status": "active", "current_phase": None, "phases": []})
    (found,) = hybrid.find(project).workflows

    with pytest.raises(TransitionError, match="lists no phases; `holdfast done --all` ends the workflow"):
        verbs.done(project, found)
    assert verbs.done(project, found, everything=True).finished


def test_what_a_hand_wrote_last_is_kept_when_a_workflow_gives_way(project: Workspace, workflow: Workflow) -> None:
    """No command ever saw it."""
    by_hand = json.dumps(state_of(project) | {"task": "Ship it by hand"}).encode()
    (project.root / STATE).write_bytes(by_hand)

    hybrid.start(project, Start(title="Another", phases=(("Build", ""),), replace=True))

    rows = generations.all(project, project.root / STATE)
    assert by_hand in [generations.content(project, row["id"]) for row in rows]


def test_an_earlier_workflow_takes_an_unfinished_ones_place_only_on_purpose(
    project: Workspace, workflow: Workflow
) -> None:
    """Then that one is in the archive; one's own earlier content needs no purpose."""
    path, first = project.root / STATE, (project.root / STATE).read_bytes()
    moved(project, "phase_0", "active")
    assert hybrid.restore(project, path, first, why="rewind", replace=False).changed
    assert statuses(hybrid.find(project).workflows[0]) == ["pending"] * 3
    assert not hybrid.restore(project, path, first, why="rewind", replace=False).changed

    hybrid.start(project, Start(title="Another", phases=(("Build", ""),), replace=True))
    with pytest.raises(TransitionError, match=r'"Another" .* in the way: it is pending at phase .* or add --replace'):
        hybrid.restore(project, path, first, why="rewind", replace=False)
    assert state_of(project)["task"] == "Another"

    assert hybrid.restore(project, path, first, why="rewind", replace=True).workflow.title == "Ship"
    assert "Another" in {each.workflow.title for each in archive.entries(project)}


def test_an_error_of_no_phase_is_refused(project: Workspace, workflow: Workflow) -> None:
    """Once all is completed nothing is left that could have failed; what is given is never dropped."""
    ended = verbs.done(project, workflow, everything=True)

    with pytest.raises(TransitionError, match="no phase is current"):
        verbs.update(project, ended, Changes(error="no disk"))


def test_where_the_file_names_no_current_phase_the_active_one_is_it(project: Workspace, workflow: Workflow) -> None:
    """Another tool that moves the phases may forget the field."""
    hybrid.move(project, "phase_0", "completed")
    (project.root / STATE).write_text(json.dumps(state_of(project) | {"current_phase": None}))

    (found,) = hybrid.find(project).workflows

    assert (found.position, found.phase, found.phase_status) == ("2/3", "Build it", "active")


def test_a_view_that_cannot_be_written_has_its_phase_judged_again(project: Workspace, workflow: Workflow) -> None:
    """The next time writes what is missing; what the phase came to is kept from the first."""
    view = project.root / VIEW
    view.unlink()
    view.mkdir()
    with pytest.raises(StateError):
        hybrid.judge(project, workflow, "phase_0", "completed", "Done.")
    assert statuses(hybrid.find(project).workflows[0])[0] == "completed"
    view.rmdir()

    assert not hybrid.judge(project, workflow, "phase_0", "completed", "Done.").changed
    assert "- [x] Phase 0: Plan it" in view.read_text()


def test_done_goes_on_behind_a_phase_that_was_completed_without_advancing(
    project: Workspace, workflow: Workflow
) -> None:
    """It is still the current one; nobody means it a second time (I000-7)."""
    seen = moved(project, "phase_0", "completed", advance=False)
    assert (seen.position, seen.phase_status) == ("1/3", "completed")

    assert statuses(verbs.done(project, seen)) == ["completed", "active", "pending"]


def test_a_view_behind_a_link_is_in_the_way(project: Workspace, workflow: Workflow, tmp_path: Path) -> None:
    """It reads as ours, but is not written: whoever looks for the reason hears it."""
    view = project.root / VIEW
    assert list(hybrid.foreign(project)) == []
    view.rename(tmp_path / "view.md")
    view.symlink_to(tmp_path / "view.md")

    (found,) = hybrid.foreign(project)

    assert (found.path, found.in_the_way) == (view, True)
    assert "symbolic link" in found.meaning


@pytest.mark.parametrize(
    ("phases", "status"),
    [
        (("completed", "pending", "pending"), "active"),
        (("completed", "failed", "pending"), "failed"),
        (("pending", "pending", "pending"), "pending"),
    ],
)
def test_a_status_that_is_missing_follows_from_the_phases(
    project: Workspace, workflow: Workflow, phases: tuple[str, ...], status: str
) -> None:
    """Between two phases a workflow goes on; it is told that the file does not say so."""
    state = state_of(project)
    del state["status"]
    for phase, said in zip(state["phases"], phases, strict=True):
        phase["status"] = said
    (project.root / STATE).write_text(json.dumps(state))

    (found,) = hybrid.find(project).workflows

    assert found.status == status
    assert any(f"{status} is taken" in warning for warning in found.warnings)
