"""What agents were launched for and what they reported moves the phases of the session's own workflow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import StateError
from holdfast.formats.hybrid import functions
from holdfast.formats.hybrid import markdown_view as hybrid_view
from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.formats.wfs import moves as wfs_moves
from holdfast.formats.wfs import paths as wfs_paths
from holdfast.formats.wfs import session as wfs_session
from holdfast.formats.wfs import view as wfs_view
from holdfast.formats.wfs.moves import NewTask
from holdfast.sessions import agents, owners, phases, progress
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import verbs
from tests.agentry import launch_agent
from tests.handmade import ME
from tests.hybrid_moves import move

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.agents import State

PHASES = [("Design the parser", "architect"), ("Write the parser", "builder"), ("Test the parser", "tester")]


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """A project with a hybrid workflow of three phases."""
    functions.create_workflow_state("Parser", PHASES, root=tmp_path)
    return Workspace.open(tmp_path)


def launch(
    project: Workspace, description: str = "", agent: str = "architect", call: str = "c1"
) -> progress.Moved | None:
    return next(iter(launch_agent(project, call, agent, description)), None)


def end(project: Workspace, state: State = "completed", words: str = "", call: str = "c1") -> None:
    agents.record_report(project, ME, f"run of {call}", state, words or ("Done." if state == "completed" else ""))
    agents.name_run(project, ME, call, f"run of {call}")


def statuses(project: Workspace) -> list[str]:
    (workflow,) = hybrid.find(project).workflows
    return [phase.status for phase in workflow.phases]


def moves(project: Workspace) -> list[tuple[str, str]]:
    return [(moved.phase.id, moved.phase.status) for moved in progress.settle(project, ME)]


def test_another_agent_of_the_kind_is_not_for_a_phase_at_work(project: Workspace) -> None:
    """The client launches helpers of the same kind beside it; only by name is one of them for the phase too."""
    launch(project)
    launch(project, "Look for an example", call="c2")
    end(project, call="c2")
    assert moves(project) == []

    launch(project, "Design the parser", call="c3")
    end(project, call="c3")
    assert moves(project) == [("phase_0", "completed")]


def docs(project: Workspace) -> wfs_session.Session:
    """Start a session of `wfs` with one task."""
    session = wfs_session.create(project, "Docs")
    with wfs_moves.changing(project, session, why="test") as change:
        wfs_moves.chain(change, [NewTask("Describe the parser", agent="@writer")])
    return session


def test_of_two_workflows_a_name_in_one_goes_before_a_kind_in_the_other(project: Workspace) -> None:
    """Also where the other is the session's own and comes first."""
    owners.own(project, hybrid.find(project).workflows[0], ME)
    docs(project)

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


def test_a_result_for_a_workflow_that_was_replaced_moves_nothing(project: Workspace) -> None:
    """The path of the file is used again; the agent worked for the one before."""
    launch(project)
    (before,) = hybrid.find(project).workflows
    verbs.done(project, before, everything=True)
    functions.create_workflow_state("Another", PHASES, root=project.root)

    end(project)

    assert moves(project) == []
    assert statuses(project) == ["pending"] * 3


def test_result_for_a_removed_phase_moves_nothing(project: Workspace) -> None:
    """People may edit the file while an agent runs."""
    launch(project)
    path = project.root / ".claude" / "state" / "workflow.json"
    state: dict[str, Any] = json.loads(path.read_bytes())
    state["phases"] = state["phases"][1:]
    path.write_text(json.dumps(state))
    end(project)

    assert moves(project) == []


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
        patch.setattr(hybrid_view, "write", refuse)
        (moved,) = progress.settle(project, ME)
    assert moved.unwritten and moved.phase.status == "failed"

    progress.settle(project, ME)
    assert "✗ failed" in view.read_text()


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
    found = agents.of_call(project, ME, "c1")
    assert found is not None and found.verdict == "completed"


@pytest.mark.parametrize("format_", ["hybrid", "wfs"])
def test_a_result_waits_while_its_workflow_cannot_be_read(project: Workspace, format_: str) -> None:
    """Somebody may mend the file: nothing that an agent brought is lost over it."""
    session = docs(project)
    title, path = {
        "hybrid": ("Design the parser", project.root / ".claude" / "state" / "workflow.json"),
        "wfs": ("Describe the parser", wfs_paths.state(session.folder)),
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


def test_launch_claims_no_paused_workflow(project: Workspace) -> None:
    """Whoever names its task claims nothing by it."""
    session = docs(project)
    wfs_session.pause(project, session.name)

    assert launch(project, "Describe the parser", "writer") is None
    found = agents.of_call(project, ME, "c1")
    assert found is not None and found.phase == ""
    assert owners.owner(project, wfs_view.workflow(project, wfs_session.get(project, session.name))) is None


def test_what_an_agent_brings_counts_though_its_workflow_was_paused_meanwhile(project: Workspace) -> None:
    """It was launched before; nothing that it did is lost over the pause."""
    session = docs(project)
    launch(project, "Describe the parser", "writer")
    wfs_session.pause(project, session.name)
    end(project, words="Described.")

    assert moves(project) == [("IMPL-1", "completed")]


@pytest.mark.parametrize("state", ["completed", "failed"])
def test_a_phase_that_somebody_gave_up_stays_so_whatever_its_agent_brings(project: Workspace, state: State) -> None:
    """A retry begins with a launch of its own; the agent's launch is over all the same. The person's reason stands."""
    launch(project)
    given_up = move(project, "phase_0", "failed", by="person", error="It was the wrong way.")
    end(project, state, "DELIVERABLES: late.md")

    assert moves(project) == []
    assert statuses(project) == ["failed", "pending", "pending"]
    assert phases.of(project, given_up).phases["phase_0"].error == "It was the wrong way."
    found = agents.of_call(project, ME, "c1")
    assert found is not None and found.verdict == state
