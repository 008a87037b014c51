"""The log tells what happened out of every table, in order, and reads no more of the ledger than is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.memory import log
from holdfast.sessions import owners, phases, timeline
from holdfast.sessions.timeline import TimelineEvent
from holdfast.workflow import registry
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD, workspace
from tests.signals import Agent
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

TRANSCRIPTS = Path(__file__).parent / "transcripts"
DAY = "2026-03-01"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Give a function that sets the clock to a time of one day."""

    def go(time: str) -> None:
        monkeypatch.setenv("HOLDFAST_NOW", f"{DAY}T{time}Z")

    return go


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject], at: Callable[[str], None]) -> HoldfastProject:
    at("09:00:00")
    return holdfast_project({})


def told(project: HoldfastProject, **asked: Any) -> list[str]:
    """Return what happened, the oldest first, as a person reads it."""
    there = workspace(project.root)
    names = timeline.phase_names(there)
    found = [_line(each, names) for each in reversed(timeline.happened(there, **asked))]
    there.close()
    return found


def _line(happening: TimelineEvent, names: timeline.PhaseNames) -> str:
    return f"{happening.at[11:16]} {happening.session[:1] or '-'} {timeline.sentence(happening, names)}"


def fire(project: HoldfastProject, event: str, **changes: Any) -> None:
    assert project.fire(event, **changes).faults == []


def test_log_tells_a_day_of_two_sessions_in_order(
    project: HoldfastProject, at: Callable[[str], None], tmp_path: Path
) -> None:
    """Sessions, an owner, compactions, guidance that came, was lost, given again and refused, an agent."""
    transcript = tmp_path / "me.jsonl"
    transcript.touch()
    mine = {"session_id": ME, "transcript_path": str(transcript)}
    fire(project, "SessionStart", recorded="SessionStart-startup-tui", **mine)
    at("09:01:00")
    phases = ("--phase", "Build it @builder", "--phase", "Test it @tester")
    holdfast("start", "Calculator", "--format", "hybrid", *phases, root=project.root, session=ME)
    at("09:02:00")
    agent = Agent(project, "Build it", session=ME)
    agent.about_to(session_id=ME)
    at("09:03:00")
    agent.returned("DELIVERABLES:\n- calculator.py", session_id=ME)
    at("09:04:00")
    fire(project, "SessionStart", recorded="SessionStart-startup-tui", session_id=OTHER)
    holdfast("start", "Nobody's", root=project.root)
    at("09:05:00")
    fire(project, "PreCompact", recorded="PreCompact-auto", **mine)
    at("09:06:00")
    fire(project, "SessionStart", recorded="SessionStart-compact", **mine)
    fire(project, "PostCompact", recorded="PostCompact-auto", **mine)
    # The client went on, and nowhere in what it noted does the guidance stand.
    transcript.write_bytes((TRANSCRIPTS / "guided-2.1.329.jsonl").read_bytes())
    at("09:07:00")
    fire(project, "UserPromptSubmit", **mine, prompt="Go on")
    at("09:08:00")
    fire(project, "SessionStart", recorded="SessionStart-compact", session_id=THIRD)
    at("09:09:00")
    fire(project, "SessionEnd", recorded="SessionEnd-other", session_id=OTHER)
    at("10:30:00")

    found = told(project, limit=1_000)

    expected = [
        "09:00 1 session began",
        '09:01 1 now owned by this session: "Calculator"',
        '09:02 1 agent launched: "Calculator", phase 1 "Build it"; builder',
        '09:02 - phase began: "Calculator", phase 1 "Build it"',
        '09:03 - phase completed: "Calculator", phase 1 "Build it"',
        '09:03 - phase began: "Calculator", phase 2 "Test it"',
        "09:04 2 session began",
        '09:05 1 compaction started (auto): "Calculator" 2/2 Test it',
        '09:06 1 compaction completed: "Calculator" 2/2 Test it',
        '09:07 1 guidance never arrived: "Calculator"',
        "09:08 3 session began",
        '09:08 3 restore refused: "Nobody\'s"; it could belong to another live session',
        "09:09 2 session ended",
    ]
    assert [line for line in expected if line not in found] == []
    places = [found.index(line) for line in expected]
    assert places == sorted(places)
    assert [line for line in found if " restored to Claude" in line][:2] == [
        line
        for line in found
        if line.startswith(("09:06 1 restored to Claude: ", "09:07 1 restored to Claude again: "))
    ]
    assert any(line.startswith("09:03 1 agent completed: ") and "DELIVERABLES" in line for line in found)
    assert [line for line in found if " version 1 saved: .claude/state/workflow.json (start)" in line]
    assert [line[:5] for line in found] == sorted(line[:5] for line in found)


def test_log_filters_by_session_workflow_time_and_limit(project: HoldfastProject, at: Callable[[str], None]) -> None:
    """By session, by workflow, since a time, and as many as asked, the newest of them."""
    fire(project, "SessionStart", recorded="SessionStart-startup-tui", session_id=ME)
    holdfast("start", "Alpha", "--phase", "One", "--phase", "Two", root=project.root, session=ME)
    at("10:00:00")
    fire(project, "SessionStart", recorded="SessionStart-startup-tui", session_id=OTHER)
    holdfast("start", "Beta", "--phase", "Uno", root=project.root, session=OTHER)
    for session, time in ((ME, "11:00:00"), (OTHER, "11:10:00")):
        at(time)
        fire(project, "PreCompact", recorded="PreCompact-manual", session_id=session)
        fire(project, "SessionStart", recorded="SessionStart-compact", session_id=session)
    there = workspace(project.root)
    alpha = next(each for each in registry.all_found(there).workflows if each.title == "Alpha")
    there.close()

    everything = told(project, limit=1_000)
    assert told(project, session=ME, limit=1_000) == [line for line in everything if line[6] == "1"]
    of_alpha = told(project, workflow=alpha, limit=1_000)
    assert of_alpha == [line for line in everything if "alpha" in line.lower()]
    assert {line[6] for line in of_alpha} == {"1", "-"}
    assert not any("Beta" in line for line in of_alpha)
    late = told(project, since=datetime(2026, 3, 1, 11, tzinfo=UTC), limit=1_000)
    assert late == [line for line in everything if line >= "11:00"]
    assert told(project, limit=3) == everything[-3:]
    assert told(project, session=ME, workflow=alpha, since=datetime(2026, 3, 1, 11, tzinfo=UTC), limit=1) == [
        '11:00 1 restored to Claude: "Alpha"; '
        + next(line for line in everything if "11:00 1 restored to Claude" in line).split("; ")[1]
    ]
    there = workspace(project.root)
    there.ledger.run("UPDATE events SET worktree = '/elsewhere'")
    there.close()
    assert told(project, workflow=alpha) == [], "that of another checkout is another one"


def test_log_names_a_workflow_that_is_only_in_the_archive(project: HoldfastProject, at: Callable[[str], None]) -> None:
    """Its file holds another one by the time its agent ends."""
    holdfast("start", "Alpha", "--format", "hybrid", "--phase", "One @builder", root=project.root, session=ME)
    agent = Agent(project, "One", session=ME)
    agent.about_to(session_id=ME)
    holdfast("done", "--all", root=project.root, session=ME)
    holdfast("start", "Beta", "--format", "hybrid", "--phase", "One", root=project.root, session=ME)
    at("10:00:00")
    agent.returned("Done.", session_id=ME)
    (line,) = told(project, since=datetime(2026, 3, 1, 10, tzinfo=UTC))
    assert line.startswith('10:00 1 agent completed: "Alpha", phase 1 "One"; builder')


def test_log_of_a_session_says_who_took_its_workflow(project: HoldfastProject, at: Callable[[str], None]) -> None:
    """It is an event of both sessions."""
    fire(project, "SessionStart", recorded="SessionStart-startup-tui", session_id=ME)
    holdfast("start", "Alpha", "--phase", "One", root=project.root, session=ME)
    at("09:30:00")
    there = workspace(project.root)
    owners.own(there, registry.all_found(there).workflows[0], OTHER)
    there.close()

    taken = '09:30 2 now owned by this session: "Alpha"; previously session 11111111'
    assert [line for line in told(project, session=ME) if "owned" in line] == [
        '09:00 1 now owned by this session: "Alpha"',
        taken,
    ]
    assert taken in told(project, session=OTHER)


def test_log_has_an_announced_compaction_that_never_happened(
    project: HoldfastProject, at: Callable[[str], None]
) -> None:
    """PreCompact fired and no compaction came; the next one takes both seals, and only its own came."""
    holdfast("start", "Alpha", "--phase", "One", root=project.root, session=ME)
    fire(project, "PreCompact", recorded="PreCompact-manual", session_id=ME)
    at("10:00:00")
    fire(project, "PreCompact", recorded="PreCompact-auto", session_id=ME)
    at("10:01:00")
    fire(project, "SessionStart", recorded="SessionStart-compact", session_id=ME)

    assert [line for line in told(project) if " compaction " in line] == [
        '09:00 1 compaction started (manual): "Alpha" 1/1 One',
        '10:00 1 compaction started (auto): "Alpha" 1/1 One',
        '10:01 1 compaction completed: "Alpha" 1/1 One',
    ]


def test_log_says_if_a_compaction_was_unannounced_or_changed_the_session(
    project: HoldfastProject, at: Callable[[str], None]
) -> None:
    """Both are told for what they are."""
    holdfast("start", "Alpha", "--phase", "One", root=project.root, session=ME)
    fire(project, "SessionStart", recorded="SessionStart-startup-tui", session_id=ME)
    at("09:10:00")
    fire(project, "SessionStart", recorded="SessionStart-compact", session_id=ME)
    at("09:20:00")
    fire(project, "PreCompact", recorded="PreCompact-auto", session_id=ME)
    fire(project, "SessionStart", recorded="SessionStart-compact", session_id=THIRD)

    found = told(project)
    assert '09:10 3 compaction completed, its start was missed: "Alpha" 1/1 One' in found
    assert '09:20 3 compaction completed: "Alpha" 1/1 One' in found
    assert "09:20 3 session id changed: previously session 11111111" in found
    assert "09:20 3 session id changed: previously session 11111111" in told(project, session=ME)


def test_of_each_kind_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many decisions there are, they take away nothing else."""
    for name, most in (("LIMIT", 3), ("PRUNE_INTERVAL", 1)):
        monkeypatch.setattr(log, name, most)
    there = workspace(tmp_path)
    log.note(there, "session", "session began", at="2026-03-01T09:00:00.000000Z")
    for minute in range(5):
        decided = {"event": "Stop", "tool": "", "outcome": "allow", "handler": "user/a.py", "dropped": "", "reason": ""}
        log.note(there, "decision", "allow", at=f"2026-03-01T10:0{minute}:00.000000Z", data=decided)
    assert [each.at[11:16] for each in timeline.happened(there)] == ["10:04", "10:03", "10:02", "09:00"]


GUIDANCE = {"event": "SessionStart", "characters": 700, "omitted": 0}
CUT = "restored to Claude: 700 characters with SessionStart, 1 more line in the full version"
ANNOUNCED = {"trigger": "auto", "announced_by": ME, "workflows": []}
WORDS: list[tuple[str, str, dict[str, Any], str]] = [
    ("archive", "archived", {"status": "cancelled"}, "workflow archived: cancelled"),
    ("compaction", "announced", ANNOUNCED, "compaction started (auto): no workflow"),
    ("delivery", "given", GUIDANCE | {"omitted": 1}, CUT),
    ("delivery", "given again", GUIDANCE, "restored to Claude again: 700 characters with SessionStart"),
    ("delivery", "delivered", GUIDANCE, ""),
    ("delivery", "confirmed", GUIDANCE, "guidance confirmed"),
    ("delivery", "absent", GUIDANCE, "guidance never arrived"),
    ("delivery", "unconfirmed", GUIDANCE, "guidance was never confirmed"),
    ("delivery", "unwritten", GUIDANCE, "guidance was never sent"),
    ("delivery", "refused", GUIDANCE, "restore refused: it could belong to another live session"),
    ("generation", "kept", {"path": "a.json", "number": 3, "reason": "done 1"}, "version 3 saved: a.json (done 1)"),
    ("owner", "no owner yet", {"previous_owner": None}, "no owner yet"),
    ("session", "session id changed", {"before": OTHER}, "session id changed: previously session 22222222"),
    ("phase", "failed", {"attempt": 2, "error": "It broke."}, "phase failed: attempt 2; It broke."),
    ("phase", "completed", {"attempt": 1, "error": "It broke."}, "phase completed"),
    ("agent", "agent failed", {"agent_type": "", "agent_id": "a1", "last_message": "No."}, "agent failed: a1: No."),
    ("agent", "results used again", {"text": "All of it."}, "results used again: All of it."),
    ("novel", "seen", {}, "novel seen"),
]  # fmt: skip


@each_row("kind, what, data, line", WORDS)
def test_log_says_what_happened(tmp_path: Path, kind: str, what: str, data: dict[str, Any], line: str) -> None:
    """Each kind in its words; that a reply was written is left out, for what follows says more."""
    there = workspace(tmp_path)
    log.note(there, kind, what, conversation=ME, data=data)
    assert [timeline.sentence(each, {}) for each in timeline.happened(there)] == ([line] if line else [])
    there.close()


def test_log_masks_secrets_in_text_and_json(project: HoldfastProject) -> None:
    """Wherever it stands: in a phase's title, in an agent's words, in what a phase failed of."""
    secret = "sk-ant-" + "a1b2c3d4" * 4
    holdfast("start", "Alpha", "--phase", f"With {secret}", root=project.root, session=ME)
    agent = Agent(project, "Look", session=ME)
    agent.about_to(session_id=ME)
    agent.returned(f"The key is {secret}", session_id=ME)
    there = workspace(project.root)
    (found,) = registry.all_found(there).workflows
    phases.observe(there, replace(found, phases=(found.phases[0]._replace(status="failed"),)), error=f"bad {secret}")
    happened = timeline.happened(there)
    there.close()

    programs = [timeline.as_json(each) for each in happened]
    people = told(project)
    assert secret not in str(happened)
    for text in (json.dumps(programs), "\n".join(people)):
        assert secret not in text
        assert text.count("[redacted]") >= 3
    assert {"last_message": "The key is [redacted]"}.items() <= next(
        each["data"] for each in programs if each["what"] == "agent completed"
    ).items()


def test_log_entry_is_one_bounded_line(project: HoldfastProject) -> None:
    """However long an error is, and whatever a phase is called in its file."""
    odd = TimelineEvent(
        f"{DAY}T09:00", "phase", "phase failed", phase="one\n" + "y" * 500, detail="bad\n" + "x" * 2_000
    )
    line = timeline.sentence(odd, {})
    assert line.startswith("phase failed: phase one yyy")
    assert "; bad xxx" in line
    assert "\n" not in line
    assert len(line) < 400
