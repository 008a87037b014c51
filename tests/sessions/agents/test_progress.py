"""What agents were launched for and what they reported moves the phases of the session's own workflow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from holdfast.errors import StateError
from holdfast.formats.hybrid import adapter as hybrid
from holdfast.formats.hybrid import view as hybrid_view
from holdfast.formats.hybrid.commands import functions
from holdfast.formats.wfs import places, store
from holdfast.formats.wfs import transitions as wfs_moves
from holdfast.formats.wfs import view as wfs_view
from holdfast.formats.wfs.task import New
from holdfast.sessions.agents import agent_status, lifecycle, progress
from holdfast.sessions.history import history
from holdfast.sessions.ownership import owners, sessions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, verbs
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.agents.lifecycle import State

PHASES = [("Design the parser", "architect"), ("Write the parser", "builder"), ("Test the parser", "tester")]


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """A project with a hybrid workflow of three phases."""
    functions.create_workflow_state("Parser", PHASES, root=tmp_path)
    return Workspace.open(tmp_path)


def launch(
    project: Workspace, description: str = "", agent: str = "architect", call: str = "c1"
) -> progress.Moved | None:
    return progress.launch(project, ME, call, agent, description, "Do it.")


def end(project: Workspace, state: State = "completed", words: str = "", call: str = "c1") -> None:
    lifecycle.reported(project, ME, f"run of {call}", "", state, words or ("Done." if state == "completed" else ""))
    lifecycle.named(project, ME, call, f"run of {call}")


def statuses(project: Workspace) -> list[str]:
    (workflow,) = hybrid.find(project).workflows
    return [phase.status for phase in workflow.phases]


def moves(project: Workspace) -> list[tuple[str, str]]:
    return [(moved.phase.id, moved.phase.status) for moved in progress.settle(project, ME)]


def test_the_session_works_on_the_workflow_that_is_its_own(project: Workspace) -> None:
    """Alone a session works on what there is; beside another only on what it owns."""
    workflow = progress.session_workflow(project, ME)
    assert workflow is not None
    assert workflow.title == "Parser"

    sessions.note_event(project, OTHER)
    assert progress.session_workflow(project, ME) is None

    owners.own(project, workflow, ME)
    assert progress.session_workflow(project, ME) is not None


def test_without_a_workflow_there_is_nothing_to_work_on(tmp_path: Path) -> None:
    """Agents are launched in most sessions, and most have no workflow."""
    project = Workspace.open(tmp_path)

    assert progress.session_workflow(project, ME) is None
    assert launch(project) is None
    end(project)
    assert progress.settle(project, ME) == []


def test_a_workflow_that_is_only_remembered_is_not_worked_on(project: Workspace) -> None:
    """A broken file is not to be written over by a hook."""
    path = project.root / ".claude" / "state" / "workflow.json"
    path.write_bytes(path.read_bytes()[:50])
    assert hybrid.find(project).workflows[0].recovered

    assert progress.session_workflow(project, ME) is None


def test_a_launch_begins_the_phase_it_is_for(project: Workspace) -> None:
    """The phase that became active is returned, as it is now."""
    moved = launch(project)

    assert moved is not None
    assert (moved.phase.id, moved.phase.status, moved.words) == ("phase_0", "active", "")
    assert moved.workflow.current == 1
    found = agent_status.find(project, ME, "c1")
    assert found is not None
    assert (found.phase, found.workflow) == ("phase_0", moved.workflow.key)


def test_a_session_that_comes_later_does_not_keep_a_result_from_counting(project: Workspace) -> None:
    """Whose agent works on a workflow owns it from then on, unless another live session does."""
    launch(project)
    sessions.note_event(project, OTHER)
    end(project)

    assert moves(project) == [("phase_0", "completed")]


def test_a_helper_makes_nobody_an_owner(project: Workspace) -> None:
    """An agent that is for no phase says nothing about whose the workflow is."""
    launch(project, "look around", "Explore")

    (workflow,) = hybrid.find(project).workflows
    assert owners.owner(project, workflow) is None


def test_a_launch_for_no_phase_is_noted_all_the_same(project: Workspace) -> None:
    """That an agent runs matters beyond phases; without a name it is the client's general-purpose agent."""
    assert launch(project, "look around", "", "c1") is None

    found = agent_status.find(project, ME, "c1")
    assert found is not None
    assert (found.phase, found.workflow, found.agent_type) == (None, None, "general-purpose")


def test_a_launch_for_no_phase_reads_the_workflows_once(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may have a thousand tasks, and each question that a launch asks is about the same moment."""
    read, real = [], registry.agents_work_on

    def counted(project: Any, session: str) -> Any:
        read.append(session)
        return real(project, session)

    monkeypatch.setattr(registry, "agents_work_on", counted)
    assert launch(project, "Something else", agent="helper") is None
    assert read == [ME]


def test_a_launch_is_noted_once(project: Workspace) -> None:
    """PostToolUse notes it again; by then its phase may have moved on, and is not to be begun once more."""
    launch(project)
    hybrid.move(project, "phase_0", "failed")

    assert launch(project) is None
    assert statuses(project) == ["failed", "pending", "pending"]


def test_one_phase_is_active_at_a_time(project: Workspace) -> None:
    """R000-15: an agent launched for a later phase meanwhile does not begin it, but its result counts."""
    launch(project)
    assert launch(project, "Write the parser", "builder", "c2") is None
    assert statuses(project) == ["active", "pending", "pending"]

    end(project, call="c2")
    assert moves(project) == [("phase_1", "completed")]
    end(project, call="c1")
    assert moves(project) == [("phase_0", "completed")]
    assert statuses(project) == ["completed", "completed", "active"]


def test_a_launch_for_the_active_phase_moves_nothing(project: Workspace) -> None:
    """A person has begun it, or another agent works on it."""
    hybrid.move(project, "phase_0", "active")

    assert launch(project) is None
    end(project)
    assert moves(project) == [("phase_0", "completed")]


def test_another_agent_of_the_kind_is_not_for_a_phase_at_work(project: Workspace) -> None:
    """The client launches helpers of the same kind beside it; only by name is one of them for the phase too."""
    launch(project)
    launch(project, "Look for an example", call="c2")
    end(project, call="c2")
    assert moves(project) == []

    launch(project, "Design the parser", call="c3")
    end(project, call="c3")
    assert moves(project) == [("phase_0", "completed")]


def test_of_two_workflows_a_name_in_one_goes_before_a_kind_in_the_other(project: Workspace) -> None:
    """Also where the other is the session's own and comes first."""
    owners.own(project, hybrid.find(project).workflows[0], ME)
    session = store.create(project, "Docs")
    wfs_moves.add(project, session, New("Describe the parser", agent="@writer"))

    moved = launch(project, "Describe the parser")

    assert moved is not None
    assert (moved.workflow.format, moved.phase.id, moved.phase.status) == ("wfs", "IMPL-1", "active")
    assert statuses(project) == ["pending", "pending", "pending"]


def test_a_workflow_that_nobody_touched_for_long_is_not_claimed(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launch that happens to fit it is for other work, unless somebody takes it first."""
    monkeypatch.setenv("HOLDFAST_NOW", "2099-01-01T00:00:00Z")
    assert launch(project, "Design the parser") is None
    assert owners.owner(project, hybrid.find(project).workflows[0]) is None

    owners.own(project, hybrid.find(project).workflows[0], ME)
    assert launch(project, "Design the parser", call="c2") is not None


def test_a_sessions_own_workflow_comes_first_though_it_is_finished(project: Workspace) -> None:
    """What an agent reports late belongs there."""
    owners.own(project, hybrid.find(project).workflows[0], ME)
    for number in range(3):
        hybrid.move(project, f"phase_{number}", "completed")
    store.create(project, "Docs")

    workflow = progress.session_workflow(project, ME)

    assert workflow is not None
    assert (workflow.title, workflow.finished) == ("Parser", True)


def test_what_an_event_has_moved_is_not_read_again(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the session owns another workflow, which may come first."""
    moved = launch(project)
    assert moved is not None
    read = Mock(side_effect=registry.agents_work_on)
    monkeypatch.setattr(registry, "agents_work_on", read)

    assert progress.session_workflow(project, ME, [moved]) is moved.workflow
    read.assert_not_called()
    (again,) = hybrid.find(project).workflows
    assert progress.session_workflow(project, ME) == moved.workflow == again
    read.assert_called_once()

    owners.own(project, wfs_view.of_session(project, store.create(project, "Docs")), ME)
    progress.session_workflow(project, ME, [moved])
    assert read.call_count == 2


def test_a_launch_past_a_failed_phase_begins_nothing(project: Workspace) -> None:
    """I000-9: the later phases of a failed workflow stay pending."""
    launch(project)
    end(project, "failed")
    moves(project)

    assert launch(project, "Write the parser", "builder", "c2") is None
    assert statuses(project) == ["failed", "pending", "pending"]


def test_results_are_judged_once(project: Workspace) -> None:
    """What an agent delivered and left for the next one is taken over; a second look finds nothing due."""
    launch(project)
    end(project, words="DELIVERABLES: design.md\nCONTEXT_FOR_NEXT: recursive descent")

    (moved,) = progress.settle(project, ME)

    assert (moved.phase.deliverables, moved.phase.handover) == (("design.md",), "recursive descent")
    assert progress.settle(project, ME) == []
    found = agent_status.find(project, ME, "c1")
    assert found is not None
    assert found.verdict == "completed"


def test_a_failed_agents_words_say_why(project: Workspace) -> None:
    """The phase fails, and with it the workflow (I000-9); what the agent said goes along."""
    launch(project)
    end(project, "failed", "out of tokens")

    (moved,) = progress.settle(project, ME)

    assert (moved.phase.status, moved.workflow.status, moved.words) == ("failed", "failed", "out of tokens")


def test_several_results_are_judged_in_the_order_in_which_they_came(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two background agents ended since the last event of the main thread."""
    launch(project)
    launch(project, "Write the parser", "builder", "c2")
    monkeypatch.setenv("HOLDFAST_NOW", "2126-03-01T10:00:00Z")
    end(project, call="c2")
    monkeypatch.setenv("HOLDFAST_NOW", "2126-03-01T10:00:01Z")
    end(project, call="c1")

    assert moves(project) == [("phase_1", "completed"), ("phase_0", "completed")]


def test_a_result_for_a_workflow_that_was_replaced_moves_nothing(project: Workspace) -> None:
    """The path of the file is used again; the agent worked for the one before."""
    launch(project)
    (before,) = hybrid.find(project).workflows
    verbs.done(project, before, everything=True)
    functions.create_workflow_state("Another", PHASES, root=project.root)

    end(project)

    assert moves(project) == []
    assert statuses(project) == ["pending"] * 3


def test_a_result_after_the_phase_was_completed_changes_nothing(project: Workspace) -> None:
    """I000-8: a second completion is a no-op, and a late failure undoes nothing."""
    launch(project)
    hybrid.move(project, "phase_0", "completed", deliverables=["mine.md"], by="person")
    end(project, "failed")

    assert moves(project) == []
    assert statuses(project) == ["completed", "active", "pending"]


@pytest.mark.parametrize("own", [{}, {"deliverables": ["mine.md"]}, {"handover": "mine"}])
def test_a_second_completion_fills_in_what_is_empty_and_overwrites_nothing(
    project: Workspace, own: dict[str, Any]
) -> None:
    """I000-8: what the agent wrote at the end of its phase stays; its report says the rest."""
    launch(project)
    hybrid.move(project, "phase_0", "completed", by="person", **own)
    end(project, words="DELIVERABLES: reported.md\nCONTEXT_FOR_NEXT: reported")
    progress.settle(project, ME)

    (workflow,) = hybrid.find(project).workflows
    first = workflow.phases[0]
    assert list(first.deliverables) == own.get("deliverables", ["reported.md"])
    assert first.handover == own.get("handover", "reported")
    assert statuses(project) == ["completed", "active", "pending"]


def test_a_second_completion_that_adds_nothing_is_none(project: Workspace) -> None:
    """I000-8: nothing is reported and the file is not touched again."""
    launch(project)
    before, _ = hybrid.move(project, "phase_0", "completed", deliverables=["mine.md"], handover="mine", by="person")
    end(project, words="DELIVERABLES: reported.md\nCONTEXT_FOR_NEXT: reported")

    assert moves(project) == []
    assert hybrid.find(project).workflows[0].raw == before.raw


def test_a_failure_after_the_agent_completed_its_phase_is_a_doubt(project: Workspace) -> None:
    """The phase was completed by the agent's own hand, and then it died: nothing is undone, and it is told once."""
    launch(project)
    hybrid.move(project, "phase_0", "completed", by="person")
    end(project, "failed", "died at the end")

    assert moves(project) == []
    ((doubted, words),) = progress.contradicted(project, ME)
    assert (doubted.phase, words) == ("phase_0", "died at the end")
    assert progress.contradicted(project, ME) == []
    assert statuses(project) == ["completed", "active", "pending"]


def test_a_phase_that_is_gone_is_nobodys_loss(project: Workspace) -> None:
    """People may edit the file while an agent runs."""
    launch(project)
    path = project.root / ".claude" / "state" / "workflow.json"
    state: dict[str, Any] = json.loads(path.read_bytes())
    state["phases"] = state["phases"][1:]
    path.write_text(json.dumps(state))
    end(project)

    assert moves(project) == []


def test_a_move_that_is_not_possible_is_reported(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk: the phase is as it was, and the words say why."""
    launch(project)
    end(project)

    def refuse(*arguments: object, **options: object) -> None:
        raise StateError(project.root, "no space left on device")

    monkeypatch.setattr(hybrid, "move", refuse)
    (moved,) = progress.settle(project, ME)

    assert moved.phase.status == "active"
    assert "no space left on device" in moved.words


def test_a_failure_whose_view_could_not_be_written_is_judged_again(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state says already that the phase failed; what is missing is written at the next event."""
    launch(project)
    end(project, "failed")
    view = project.root / hybrid_view.FILE
    view.unlink()

    def refuse(*arguments: object) -> None:
        raise StateError(view, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(hybrid_view, "insist", refuse)
        (moved,) = progress.settle(project, ME)
    assert moved.unwritten and moved.phase.status == "failed"

    progress.settle(project, ME)
    assert "✗ failed" in view.read_text()


def test_a_doubt_is_raised_once(project: Workspace) -> None:
    """Completed, then a failure: which launch, and what it said."""
    launch(project)
    end(project)
    moves(project)
    assert progress.contradicted(project, ME) == []
    end(project, "failed", "too late")

    ((doubted, words),) = progress.contradicted(project, ME)

    assert (doubted.phase, words) == ("phase_0", "too late")
    assert progress.contradicted(project, ME) == []
    assert statuses(project) == ["completed", "active", "pending"]


def test_another_sessions_results_are_not_ours(project: Workspace) -> None:
    """Each main thread judges its own agents."""
    launch(project)
    end(project)

    assert progress.settle(project, OTHER) == []
    assert statuses(project) == ["active", "pending", "pending"]


def test_an_agent_first_seen_after_all_is_done_is_for_no_phase(project: Workspace) -> None:
    """What it reports is written into nothing that is over; while work is left, it may have ended its phase itself."""
    launched = (ME, "c1", "architect", "Design the parser", "Do it.")
    hybrid.move(project, "phase_0", "completed")
    progress.launch(project, *launched, begun=True)
    for phase in ("phase_1", "phase_2"):
        hybrid.move(project, phase, "completed")
    progress.launch(project, *launched[:1], "c2", *launched[2:], begun=True)

    found = [agent_status.find(project, ME, call) for call in ("c1", "c2")]
    assert [each and each.phase for each in found] == ["phase_0", None]


@pytest.mark.parametrize("removed", [True, False])
def test_a_state_that_another_program_took_over_is_not_tried_for_ever(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, *, removed: bool
) -> None:
    """Nothing of ours is there any more that the result could be written into."""
    launch(project)
    end(project)
    judge = hybrid.judge

    def late(project: Workspace, *arguments: Any) -> object:
        file = project.root / ".claude" / "state" / "workflow.json"
        file.write_text('{"steps": []}')
        if removed:
            file.unlink()
        return judge(project, *arguments)

    monkeypatch.setattr(hybrid, "judge", late)

    assert progress.settle(project, ME) == []
    found = agent_status.find(project, ME, "c1")
    assert found is not None and found.verdict == "completed"


def test_a_task_that_its_agent_ended_itself_is_not_begun_again(project: Workspace) -> None:
    """Its launch may be heard of only afterwards: then nobody is told how to open it again."""
    session = store.create(project, "Docs")
    for title in ("Describe the parser", "Describe the rest"):
        wfs_moves.add(project, session, New(title, agent="@writer"))
    wfs_moves.complete(project, session, "IMPL-1", "Described.")

    assert progress.launch(project, ME, "c1", "writer", "IMPL-1", "Do it.", begun=True) is None
    found = agent_status.find(project, ME, "c1")
    assert found is not None and found.phase == "IMPL-1"


def test_a_phase_that_was_over_before_its_agent_was_launched_is_not_its_own(project: Workspace) -> None:
    """Whatever its prompt names: what it reports fills in nothing there."""
    hybrid.move(project, "phase_0", "completed")

    assert launch(project, "Design the parser") is None
    end(project, words="DELIVERABLES: late.md")
    assert moves(project) == []

    (workflow,) = hybrid.find(project).workflows
    assert workflow.phases[0].deliverables == ()


@pytest.mark.parametrize("format_", ["hybrid", "wfs"])
def test_a_result_waits_while_its_workflow_cannot_be_read(project: Workspace, format_: str) -> None:
    """Somebody may mend the file: nothing that an agent brought is lost over it."""
    session = store.create(project, "Docs")
    wfs_moves.add(project, session, New("Describe the parser", agent="@writer"))
    title, path = {
        "hybrid": ("Design the parser", project.root / ".claude" / "state" / "workflow.json"),
        "wfs": ("Describe the parser", places.state(session.folder)),
    }[format_]
    launch(project, title, "")
    end(project)
    good = path.read_bytes()
    path.unlink()
    path.mkdir()

    assert progress.settle(project, ME) == []

    path.rmdir()
    path.write_bytes(good)
    assert [(moved.phase.title, moved.phase.status) for moved in progress.settle(project, ME)] == [(title, "completed")]


def test_no_launch_goes_on_with_what_is_paused(project: Workspace) -> None:
    """Whoever names its task claims nothing by it."""
    session = store.create(project, "Docs")
    wfs_moves.add(project, session, New("Describe the parser", agent="@writer"))
    store.pause(project, session.name)

    assert launch(project, "Describe the parser", "writer") is None
    found = agent_status.find(project, ME, "c1")
    assert found is not None and found.phase is None
    assert owners.owner(project, wfs_view.of_session(project, store.get(project, session.name))) is None


def test_a_call_that_is_heard_of_twice_begins_its_phase_once(project: Workspace) -> None:
    """When it returns, its phase may have failed by a person's hand: that is no retry."""
    launch(project)
    hybrid.move(project, "phase_0", "failed", by="person")

    assert launch(project) is None
    assert statuses(project) == ["failed", "pending", "pending"]


def test_what_an_agent_brings_counts_though_its_workflow_was_paused_meanwhile(project: Workspace) -> None:
    """It was launched before; nothing that it did is lost over the pause."""
    session = store.create(project, "Docs")
    wfs_moves.add(project, session, New("Describe the parser", agent="@writer"))
    launch(project, "Describe the parser", "writer")
    store.pause(project, session.name)
    end(project, words="Described.")

    assert moves(project) == [("IMPL-1", "completed")]


@pytest.mark.parametrize("state", ["completed", "failed"])
def test_a_phase_that_somebody_gave_up_stays_so_whatever_its_agent_brings(project: Workspace, state: State) -> None:
    """A retry begins with a launch of its own; the agent's launch is over all the same. The person's reason stands."""
    launch(project)
    given_up, _ = hybrid.move(project, "phase_0", "failed", by="person", error="It was the wrong way.")
    end(project, state, "DELIVERABLES: late.md")

    assert moves(project) == []
    assert statuses(project) == ["failed", "pending", "pending"]
    assert history.of(project, given_up).phases["phase_0"].error == "It was the wrong way."
    found = agent_status.find(project, ME, "c1")
    assert found is not None and found.verdict == state


def test_a_launch_whose_phase_cannot_be_begun_now_is_not_tried_again(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told that it will be: what an agent begins, its end begins too."""

    def refuse(*_: object, **__: object) -> None:
        raise StateError(project.root / "workflow.json", "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(hybrid, "move", refuse)
        moved = launch(project)
    assert moved is not None
    assert (moved.unwritten, moved.words) == (False, "workflow.json No space left on device")

    end(project)
    assert moves(project) == [("phase_0", "completed")]


def test_no_launch_moves_what_another_live_session_owns(project: Workspace) -> None:
    """Not even one that names its phase; once that session has ended, whoever works on it claims it."""
    (workflow,) = hybrid.find(project).workflows
    for session in (ME, OTHER):
        sessions.note_event(project, session)
    owners.own(project, workflow, OTHER)
    assert launch(project, "phase_0") is None
    assert statuses(project) == ["pending", "pending", "pending"]

    sessions.ended(project, OTHER)
    assert launch(project, "phase_0", call="c2") is not None
    assert owners.owner(project, workflow) == ME
