"""A report is gathered from everything in the ledger and the files, and contains only what was asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.memory import costs
from holdfast.report import gather as gathering
from holdfast.report.gather import gather
from holdfast.sessions import archive, conversations
from tests.handmade import ME, OTHER, THIRD, workflow, workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.report.gather import Report
    from holdfast.sessions.workspace import Workspace
    from holdfast.testing import HoldfastProject


def report_of(project: HoldfastProject, **limits: Any) -> Report:
    there = workspace(project.root)
    report = gather(there, **limits)
    there.close()
    return report


def runs(report: Report) -> list[tuple[str, str]]:
    return [(run.agent.agent_type, run.status) for each in report.sessions[::-1] for run in each.runs]


def test_three_days_are_complete(days: HoldfastProject) -> None:
    """Sessions, what became of agents, and compactions."""
    report = report_of(days)

    assert [(each.id, each.status) for each in report.sessions] == [(THIRD, "live"), (OTHER, "ended"), (ME, "live")]
    assert [each.first_at[8:16] for each in report.sessions] == ["03T08:41", "02T13:00", "01T09:00"]
    assert runs(report) == [
        ("planner", "used"),
        ("builder", "failed"),
        ("builder", "used"),
        ("tester", "used"),
        ("writer", "running"),
        ("researcher", "interrupted"),
    ]
    assert {run.ended_at[8:16] for run in report.sessions[1].runs} == {"02T13:40"}
    compacted = [(each.row, len(each.deliveries)) for each in report.compactions]
    assert [(row.conversation, row.trigger, given, row.facts > 0) for row, given in compacted] == [
        (ME, "manual", 2, True),
        (OTHER, "manual", 1, False),
        (ME, "auto", 1, True),
    ]
    assert {each.workflow.format: (each.owner, each.archived) for each in report.workflows} == {
        "hybrid": (ME, False),
        "compaction": ("", False),
    }
    assert {each.conversation for each in report.costs} == {ME, OTHER, THIRD}
    assert not report.events_cut


def test_of_a_session_only_what_is_its_own(days: HoldfastProject) -> None:
    """Its compactions, its agents, its costs, and the workflows it owns or had."""
    report = report_of(days, session=OTHER)

    assert [each.id for each in report.sessions] == [OTHER]
    assert [each.row.conversation for each in report.compactions] == [OTHER]
    assert [each.workflow.title for each in report.workflows] == ["Calculator"]
    assert {each.conversation for each in report.costs} == {OTHER}
    assert {each.session for each in report.events if each.kind != "owner"} == {OTHER}
    assert [each.workflow.title for each in report_of(days, session=THIRD).workflows] == []


def test_since_a_moment_nothing_older(days: HoldfastProject) -> None:
    """What began before and went on is report from then on."""
    report = report_of(days, since=datetime(2026, 3, 3, 8, 30, tzinfo=UTC))

    assert [each.id for each in report.sessions] == [THIRD, ME]
    assert report.compactions == ()
    assert runs(report) == [("tester", "used"), ("writer", "running")]
    assert report.sessions[1].runs[0].began_at == report.since == "2026-03-03T08:30:00.000000Z"
    assert min(each.at for each in report.events) >= report.since


def test_a_report_is_cut_to_the_newest_and_says_so(days: HoldfastProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Happenings to the newest asked for, sessions to those with the latest events."""
    everything = report_of(days)
    assert report_of(days, limit=len(everything.events)).events_cut is False
    few = report_of(days, limit=5)
    newest = [(each.at, each.what) for each in everything.events[:5]]
    assert ([(each.at, each.what) for each in few.events], few.events_cut) == (newest, True)

    monkeypatch.setattr(gathering, "SESSION_LIMIT", 2)
    there = workspace(days.root)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-03T09:30:00Z")
    conversations.note_event(there, OTHER)
    there.close()
    report = report_of(days)
    assert ([each.id for each in report.sessions], report.omitted_sessions) == ([OTHER, ME], 1)


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
        costs.note(opened, ME, "SessionStart", {"shipped/x": 100}, agent=False)

    work()
    at("10:00")
    for since, expected in ((datetime(2026, 3, 1, 9, tzinfo=UTC), 1), (datetime(2026, 3, 1, 10, tzinfo=UTC), 0)):
        report = gather(opened, since=since)
        assert (len(report.workflows), len(report.costs)) == (expected,) * 2
    work()
    counted = gather(opened, since=datetime(2026, 3, 1, 10, tzinfo=UTC)).costs
    assert [each.characters for each in counted] == [200], "the counter has both"
