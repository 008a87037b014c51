"""Times, attempts and errors of phases, as the ledger saw them."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock, log
from holdfast.formats.compaction.format import FORMAT as compaction
from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.memory.rows import Event
from holdfast.sessions import phases
from holdfast.workflow import verbs
from holdfast.workflow.model import Changes, Start, Workflow
from tests.hybrid_moves import move

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.sessions.workspace import Workspace

PHASES = (("Plan", "planner"), ("Build", "coder"), ("Test", "tester"))


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Set the clock to a time of a fixed day and return it as a stamp."""

    def set_to(time: str) -> str:
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}Z")
        return clock.stamp()

    set_to("10:00:00")
    return set_to


def begun(project: Workspace) -> Workflow:
    return verbs.begin(project, hybrid.start(project, Start(title="Ship", phases=PHASES)))


def seen(project: Workspace, phase: str = "phase_0") -> phases.PhaseHistory:
    (workflow,) = hybrid.find(project).workflows
    return phases.of(project, workflow).phases[phase]


def edited(project: Workspace, moment: str, edit: Callable[[dict[str, Any]], None]) -> Workflow:
    """Change the state file as a person does, at a time."""
    path = project.root / ".claude/state/workflow.json"
    data = json.loads(path.read_text())
    edit(data)
    path.write_text(json.dumps(data, indent=2))
    when = clock.parse(moment)
    assert when is not None
    os.utime(path, (when.timestamp(), when.timestamp()))
    return hybrid.find(project).workflows[0]


def test_error_belongs_to_the_phase_that_failed(project: Workspace) -> None:
    """Of two failed phases only the one that failed now gets the text."""
    begun(project)
    move(project, "phase_0", "failed", error="first")
    move(project, "phase_2", "failed", error="second")
    assert (seen(project).error, seen(project, "phase_2").error) == ("first", "second")


def test_a_hand_edit_is_counted_before_the_next_move(project: Workspace, at: Callable[[str], str]) -> None:
    """Our own move does not lend its time to what somebody did before it."""
    begun(project)
    at("12:00:00")

    def finish_two(data: dict[str, Any]) -> None:
        data["phases"][0]["status"] = data["phases"][1]["status"] = "completed"

    edited(project, "2026-03-01T10:10:00Z", finish_two)
    move(project, "phase_2", "active")
    assert seen(project).ended_at == seen(project, "phase_1").ended_at == "2026-03-01T10:10:00.000000Z"
    assert seen(project, "phase_2").started_at == "2026-03-01T12:00:00.000000Z"


def test_a_file_from_the_past_never_ends_a_phase_before_it_began(project: Workspace, at: Callable[[str], str]) -> None:
    """A checkout may bring a file with any time; no phase lasts less than nothing."""
    begun(project)
    at("12:00:00")
    workflow = edited(project, "2020-01-01T00:00:00Z", lambda data: data["phases"][0].update(status="failed"))
    phases.observe(project, workflow)
    assert (seen(project).ended_at, seen(project).seconds) == ("2026-03-01T10:00:00.000000Z", 0.0)


def test_what_one_edit_moved_is_told_in_the_order_of_the_phases(project: Workspace, at: Callable[[str], str]) -> None:
    """A phase ends before another begins."""
    begun(project)

    def move_all(data: dict[str, Any]) -> None:
        for phase, status in zip(data["phases"], ("failed", "completed", "active"), strict=True):
            phase.update(status=status)

    phases.observe(project, edited(project, at("11:00:00"), move_all))
    events = project.ledger.table(Event).where("at >= ?", clock.stamp(), kind="phase", order="at, id")
    assert [(each.phase, each.what) for each in events] == [
        ("phase_0", "failed"),
        ("phase_1", "completed"),
        ("phase_2", "began"),
    ]


def test_phase_set_back_to_pending_ends_its_attempt(project: Workspace, at: Callable[[str], str]) -> None:
    """Active to pending ends the attempt; starting it again is another one."""
    begun(project)
    at("10:01:00")
    phases.observe(project, edited(project, clock.stamp(), lambda data: data["phases"][0].update(status="pending")))
    assert (seen(project).attempts, seen(project).seconds, seen(project).error) == (1, 60.0, "")
    move(project, "phase_0", "active")
    assert (seen(project).attempts, seen(project).ended_at) == (2, None)


def test_a_workflow_met_half_way_has_only_what_was_seen(project: Workspace) -> None:
    """Phases completed before the first look have no times."""
    listed = [{"title": "A", "status": "completed"}, {"title": "B", "status": "active"}]
    path = project.root / ".claude/state/workflow.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"id": "wf_20260101_000000", "task": "T", "status": "active", "phases": listed}))
    phases.observe(project, hybrid.find(project).workflows[0])
    assert set(phases.of(project, hybrid.find(project).workflows[0]).phases) == {"phase_1"}


def test_a_compaction_workflow_has_a_history_too(project: Workspace, at: Callable[[str], str]) -> None:
    """Its file names the current phase only; the one before ended when the next began."""
    workflow = compaction.start(project, Start(title="Pages", total=3))
    at("10:05:00")
    workflow = verbs.done(project, workflow)
    workflow = verbs.update(project, workflow, Changes(status="blocked", error="no key"))
    found = phases.of(project, workflow).phases
    assert (found["phase_1"].seconds, found["phase_1"].ended_at) == (300.0, "2026-03-01T10:05:00.000000Z")
    assert (found["phase_2"].ended_at, found["phase_2"].error) == (None, "no key")
    at("10:06:00")
    workflow = verbs.update(project, workflow, Changes(status="active"))
    over = verbs.done(project, workflow, everything=True)
    assert phases.of(project, over).seconds == 360.0
    assert phases.of(project, over).phases["phase_2"].error == ""


def test_a_recovered_state_moves_nothing(project: Workspace, at: Callable[[str], str]) -> None:
    """The last generation of a broken file is not what the workflow is now."""
    verbs.done(project, begun(project))
    at("12:00:00")
    now = edited(project, "2026-03-01T11:00:00Z", lambda data: data["phases"][1].update(status="completed"))
    phases.observe(project, now)
    (project.root / ".claude/state/workflow.json").write_text("{")
    (recovered,) = hybrid.find(project).workflows
    assert recovered.recovered
    assert recovered.phases[1].status == "active"
    phases.observe(project, recovered)
    second = phases.of(project, now).phases["phase_1"]
    assert (second.attempts, second.ended_at) == (1, "2026-03-01T11:00:00.000000Z")


def test_phase_removed_from_the_file_ends_its_attempt(project: Workspace, at: Callable[[str], str]) -> None:
    """Somebody removed the phase that was active: it does not run on for ever, and it did not complete."""
    begun(project)
    at("10:10:00")
    workflow = edited(project, "2026-03-01T10:05:00Z", lambda data: data["phases"].pop(0))
    phases.observe(project, workflow)
    gone = phases.of(project, workflow).phases["phase_0"]
    assert (gone.ended_at, gone.seconds) == ("2026-03-01T10:05:00.000000Z", 300.0)


def test_a_compaction_workflow_set_back_leaves_the_later_phase(project: Workspace, at: Callable[[str], str]) -> None:
    """Its file tells of the current phase only: one ahead was left, one behind was completed."""
    workflow = verbs.update(project, compaction.start(project, Start(title="Loop", total=4)), Changes(current=3))
    at("10:05:00")
    workflow = verbs.update(project, workflow, Changes(current=2))
    found = phases.of(project, workflow).phases
    events = project.ledger.table(Event).where(kind="phase", order="phase, id")
    assert [(each.phase, each.what) for each in events] == [
        ("phase_1", "began"),
        ("phase_1", "completed"),
        ("phase_2", "began"),
        ("phase_3", "began"),
        ("phase_3", "left"),
    ]
    assert (found["phase_3"].seconds, found["phase_2"].ended_at) == (300.0, None)


def test_failing_ledger_stops_no_verb(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The state moves; what was lost is in the log."""
    workflow = begun(project)

    def refuse(*_: object) -> Any:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(project.ledger, "_attempt", refuse)
    assert verbs.done(project, workflow).position == "2/3"
    assert phases.of(project, workflow) == phases.History()
    said = "\n".join(log.tail(50))
    assert "weren't remembered" in said
    assert "can't be read" in said
