"""A report is gathered from everything in the ledger and the files, and contains only what was asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.memory import context_costs
from holdfast.report import story
from holdfast.sessions import conversations
from holdfast.sessions.history import archive
from tests.handmade import ME, OTHER, THIRD, workflow, workspace
from tests.played import Days

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.report.story import Story
    from holdfast.sessions.workspace import Workspace
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


def test_story_of_three_days_is_complete(days: HoldfastProject) -> None:
    """Sessions, what became of agents, and compactions."""
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
    assert [(each.session, each.trigger, len(each.given), len(each.losses)) for each in told.compactions] == [
        (ME, "manual", 2, 1),
        (OTHER, "manual", 1, 0),
        (ME, "auto", 1, 1),
    ]
    assert {each.workflow.format: (each.owner, each.archived) for each in told.workflows} == {
        "hybrid": (ME, False),
        "compaction": ("", False),
    }
    assert {each.session for each in told.costs} == {ME, OTHER, THIRD}
    assert not told.more
    assert "Plan it" in told.phases.values()


def test_of_a_session_only_what_is_its_own(days: HoldfastProject) -> None:
    """Its compactions, its agents, its costs, and the workflows it owns or had."""
    told = gather(days, session=OTHER)

    assert [each.id for each in told.sessions] == [OTHER]
    assert [each.session for each in told.compactions] == [OTHER]
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
    assert min(each.at for each in told.happened) >= told.since


def test_story_is_cut_to_the_newest_and_says_so(days: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Happenings to the newest asked for, sessions to those with the latest events."""
    everything = gather(days)
    assert gather(days, limit=len(everything.happened)).more is False
    few = gather(days, limit=5)
    newest = [(each.at, each.what) for each in everything.happened[:5]]
    assert ([(each.at, each.what) for each in few.happened], few.more) == (newest, True)

    monkeypatch.setattr(story, "SESSIONS", 2)
    there = workspace(days.root)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-03T09:30:00Z")
    conversations.note_event(there, OTHER)
    there.close()
    told = gather(days)
    assert ([each.id for each in told.sessions], told.unseen) == ([OTHER, ME], 1)


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


def test_what_is_older_than_asked_for_is_not_told(opened: Workspace, at: Callable[[str], None]) -> None:
    """Neither what was completed, nor what the context had."""
    one = workflow(opened.root, status="completed")

    def work() -> None:
        archive.keep(opened, one, clock.stamp())
        context_costs.note(opened, ME, "SessionStart", {"shipped/x": 100}, agent=False)

    work()
    at("10:00")
    for since, expected in ((datetime(2026, 3, 1, 9, tzinfo=UTC), 1), (datetime(2026, 3, 1, 10, tzinfo=UTC), 0)):
        told = story.gather(opened, since=since)
        assert (len(told.workflows), len(told.costs)) == (expected,) * 2
    work()
    assert [each.units for each in story.gather(opened, since=datetime(2026, 3, 1, 10, tzinfo=UTC)).costs] == [100]
