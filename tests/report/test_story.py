"""A report is gathered from everything in the ledger and the files, and contains only what was asked for."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.files import trust
from holdfast.ledger import context_costs
from holdfast.report import story
from holdfast.sessions.agents import lifecycle
from holdfast.sessions.compaction import deliveries, snapshots
from holdfast.sessions.history import archive
from holdfast.sessions.ownership import sessions
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry
from tests.agentry import CALL, RUN
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD, workflow, workspace
from tests.played import Days

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.report.story import Story
    from holdfast.testing import HoldfastProject


@pytest.fixture
def days(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> HoldfastProject:
    """Three days of work."""
    project = holdfast_project({})
    Days(project, monkeypatch, tmp_path).play()
    return project


def gather(project: HoldfastProject, **asked: Any) -> Story:
    there = workspace(project.root)
    found = story.gather(there, **asked)
    there.close()
    return found


def runs(told: Story) -> list[tuple[str, str, bool]]:
    return [(run.agent.agent_type, run.outcome, run.used) for each in told.sessions[::-1] for run in each.runs]


def test_three_days_are_told_as_they_went(days: HoldfastProject) -> None:
    """Sessions, what became of agents, phases with their attempts, compactions, and what no compaction asked for."""
    told = gather(days)

    assert [(each.id, each.standing) for each in told.sessions] == [(THIRD, "live"), (OTHER, "ended"), (ME, "live")]
    assert [each.first_at[8:16] for each in told.sessions] == ["03T08:41", "02T13:00", "01T09:00"]
    assert runs(told) == [
        ("planner", "completed", True),
        ("builder", "failed", True),
        ("builder", "completed", True),
        ("tester", "completed", True),
        ("writer", "running", False),
        ("researcher", "left", False),
    ]
    assert {run.ended_at[8:16] for run in told.sessions[1].runs} == {"02T13:40"}
    ran = [(each.phase, each.number, each.outcome) for each in told.attempts if "workflow.json" in each.workflow]
    assert ran == [
        ("phase_0", 1, "completed"),
        ("phase_1", 1, "failed"),
        ("phase_1", 2, "completed"),
        ("phase_2", 1, "completed"),
        ("phase_3", 1, "active"),
    ]
    assert told.attempts[1].error == "API Error: 529 Overloaded."
    assert (told.attempts[0].began_at[11:16], str(told.attempts[0].ended_at)[11:16]) == ("09:02", "09:09")
    assert [(each.session, each.trigger, len(each.given), len(each.losses)) for each in told.compactions] == [
        (ME, "manual", 2, 1),
        (OTHER, "manual", 1, 0),
        (ME, "auto", 1, 1),
    ]
    assert [(each.session, each.state) for each in told.apart] == [(THIRD, "refused")]
    assert {each.workflow.format: (each.owner, each.archived) for each in told.workflows} == {
        "hybrid": (ME, False),
        "compaction": ("", False),
    }
    assert {each.session for each in told.costs} == {ME, OTHER, THIRD}
    assert not told.more
    assert told.phases[told.attempts[0].workflow, "phase_0"] == "Plan it"


def test_of_a_session_only_what_is_its_own(days: HoldfastProject) -> None:
    """Its compactions, its agents, its costs, and the workflows it owns or had."""
    told = gather(days, session=OTHER)

    assert [each.id for each in told.sessions] == [OTHER]
    assert [each.session for each in told.compactions] == [OTHER]
    assert told.apart == ()
    assert [each.workflow.title for each in told.workflows] == ["Calculator"]
    assert {each.session for each in told.costs} == {OTHER}
    assert {each.session for each in told.happened if each.kind != "owner"} == {OTHER}
    assert [each.workflow.title for each in gather(days, session=THIRD).workflows] == []


def test_since_a_moment_nothing_older(days: HoldfastProject) -> None:
    """What began before and went on is told from then on."""
    told = gather(days, since=datetime(2026, 3, 3, 8, 30, tzinfo=UTC))

    assert [each.id for each in told.sessions] == [THIRD, ME]
    assert told.compactions == ()
    assert runs(told) == [("tester", "completed", True), ("writer", "running", False)]
    assert told.sessions[1].runs[0].began_at == told.since == "2026-03-03T08:30:00.000000Z"
    assert [(each.phase, each.outcome) for each in told.attempts if "workflow.json" in each.workflow] == [
        ("phase_2", "completed"),
        ("phase_3", "active"),
    ]
    assert min(each.at for each in told.happened) >= told.since


def test_many_are_cut_and_said_so(days: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Happenings to the newest asked for, sessions to those with the latest events."""
    everything = gather(days)
    assert gather(days, limit=len(everything.happened)).more is False
    few = gather(days, limit=5)
    newest = [(each.at, each.what) for each in everything.happened[:5]]
    assert ([(each.at, each.what) for each in few.happened], few.more) == (newest, True)

    monkeypatch.setattr(story, "SESSIONS", 2)
    there = workspace(days.root)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-03T09:30:00Z")
    sessions.note_event(there, OTHER)
    there.close()
    told = gather(days)
    assert ([each.id for each in told.sessions], told.unseen) == ([OTHER, ME], 1)


def test_a_workflow_of_the_archive_is_told_once(days: HoldfastProject) -> None:
    """With a file it is told by that, without one by the archive."""
    holdfast("done", root=days.root, session=ME)
    assert [each.archived for each in gather(days).workflows if each.workflow.format == "hybrid"] == [False]
    (days.root / ".claude/state/workflow.json").unlink()
    assert [(each.workflow.title, each.archived) for each in gather(days).workflows if each.archived] == [
        ("Calculator", True)
    ]


def test_of_an_empty_project_there_is_a_story(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """It says nothing."""
    told = gather(holdfast_project({}))
    assert (told.sessions, told.compactions, told.workflows, told.happened, told.costs) == ((), (), (), (), ())


@pytest.fixture
def opened(holdfast_project: Callable[..., HoldfastProject], at: Callable[[str], None]) -> Iterator[Workspace]:
    """An empty project, at nine."""
    at("09:00")
    there = workspace(holdfast_project({}).root)
    yield there
    there.close()


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda time: monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}:00Z")


def launch(there: Workspace, session: str = ME) -> None:
    lifecycle.launched(there, session, CALL, "builder", None, None)
    lifecycle.named(there, session, CALL, RUN)


def test_a_session_whose_client_is_gone_or_that_says_nothing_does_not_live(
    opened: Workspace, at: Callable[[str], None]
) -> None:
    """And nothing runs in it; one that has ended is not called silent."""
    sessions.note_event(opened, OTHER)
    at("09:30")
    sessions.note_event(opened, ME, str(2**22 + 1))  # above every pid_max
    launch(opened)
    sessions.note_event(opened, THIRD, str(os.getpid()))
    sessions.note_event(opened, "over", str(2**22 + 1))
    sessions.ended(opened, "over")
    at("10:01")

    told = story.gather(opened)
    assert {each.id: each.standing for each in told.sessions} == {
        OTHER: "silent",
        ME: "silent",
        THIRD: "live",
        "over": "ended",
    }
    assert runs(told) == [("builder", "left", False)]


def test_no_run_ends_before_it_began(opened: Workspace, at: Callable[[str], None]) -> None:
    """The end of its session may be the last that was written down before it."""
    sessions.note_event(opened, ME)
    at("09:04")
    launch(opened)
    sessions.ended(opened, ME)
    opened.ledger.run("UPDATE sessions SET ended_at = last_seen")
    ((run,),) = (each.runs for each in story.gather(opened).sessions)
    assert (run.began_at[11:16], run.ended_at[11:16], run.outcome) == ("09:04", "09:04", "left")


def test_a_session_in_which_another_goes_on_has_its_compaction(opened: Workspace) -> None:
    """A compaction may change the id: it is told of either."""
    snapshots.leave(opened, ME, "auto", [snapshots.of(workflow(opened.root))])
    assert snapshots.claim(opened, OTHER, known=False)
    found = {each: len(story.gather(opened, session=each).compactions) for each in (ME, OTHER, THIRD)}
    assert found == {ME: 1, OTHER: 1, THIRD: 0}


def test_of_a_session_the_phases_of_its_own_workflows(opened: Workspace) -> None:
    """It owns one, though it was never compacted; what became of another one is not its."""
    for title, session in (("Alpha", ME), ("Beta", OTHER)):
        holdfast("start", title, "--phase", f"{title} phase", root=opened.root, session=session)
        holdfast("done", title, root=opened.root, session=session)
        holdfast("start", f"{title} again", "--phase", f"{title} once more", root=opened.root, session=session)
    told = story.gather(opened, session=ME)
    assert [each.workflow.title for each in told.workflows] == ["Alpha again"]
    assert {each.workflow for each in told.attempts} == {told.workflows[0].workflow.key}
    assert {each.workflow.title for each in story.gather(opened).workflows} == {
        *("Alpha", "Beta", "Alpha again", "Beta again")
    }


def test_what_is_older_than_asked_for_is_not_told(opened: Workspace, at: Callable[[str], None]) -> None:
    """Neither guidance that no compaction asked for, nor what was completed, nor what the context had."""
    one = workflow(opened.root, status="completed")

    def work() -> None:
        deliveries.begin(
            opened, ME, event="SessionStart", workflow=one.key, title=one.title, mark="m", units=9, transcript=""
        )
        archive.keep(opened, one, clock.stamp())
        context_costs.note(opened, ME, "SessionStart", {"shipped/x": 100}, agent=False)

    work()
    at("10:00")
    for since, expected in ((datetime(2026, 3, 1, 9, tzinfo=UTC), 1), (datetime(2026, 3, 1, 10, tzinfo=UTC), 0)):
        told = story.gather(opened, since=since)
        assert (len(told.apart), len(told.workflows), len(told.costs)) == (expected,) * 3
    work()
    assert [each.units for each in story.gather(opened, since=datetime(2026, 3, 1, 10, tzinfo=UTC)).costs] == [100]


def test_a_phase_is_called_as_its_file_has_it(tmp_path: Path) -> None:
    """Not as the archive of another checkout does, where the same workflow was completed."""
    for name in ("here", "there"):
        (tmp_path / name / ".claude").mkdir(parents=True)
        config = tmp_path / name / ".claude" / "holdfast.toml"
        config.write_text('[project]\nid = "shared"\n')
        trust.grant(tmp_path / name, {".claude/holdfast.toml": trust.digest(config.read_bytes())})
    here, there = (Workspace.open(tmp_path / name, trusted=True) for name in ("here", "there"))
    holdfast("start", "Calculator", "--phase", "Build it", root=here.root)
    mine = registry.all_found(here).workflows[0]
    (phase,) = mine.phases
    theirs = replace(mine, root=there.root, path=there.root / mine.place, phases=(phase._replace(title="Old name"),))
    assert theirs.key == mine.key
    archive.keep(there, theirs, clock.stamp())

    told = story.gather(here)
    assert [(each.worktree, each.archived) for each in told.workflows] == [
        *((here.worktree, False), (there.worktree, True))
    ]
    assert told.phases == {(mine.key, phase.id): "Build it"}
    here.close()
    there.close()
