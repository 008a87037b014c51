"""The log tells what happened out of every table, in order, and reads no more of the ledger than is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.ledger.database import Ledger
from holdfast.sessions.agents import lifecycle
from holdfast.sessions.compaction import deliveries, losses, snapshots
from holdfast.sessions.history import generations, history, timeline
from holdfast.sessions.history.timeline_event import TimelineEvent
from holdfast.sessions.ownership import owners, sessions
from holdfast.workflow import registry
from tests import earlier
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD, workflow, workspace
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.sessions.workspace import Workspace
    from holdfast.testing import HoldfastProject

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
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


def test_a_day_of_two_sessions_reads_as_it_went(
    project: HoldfastProject, at: Callable[[str], None], tmp_path: Path
) -> None:
    """Sessions, an owner, compactions announced and come, guidance given, lost, given again and refused, an agent."""
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
    fire(project, "SubagentStop", recorded="SubagentStop-compaction", session_id=ME)
    fire(project, "SessionStart", recorded="SessionStart-compact", **mine)
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
        '09:01 1 ownership changed: "Calculator"',
        '09:02 1 agent launched: "Calculator", phase 1 "Build it"; builder',
        '09:02 - phase began: "Calculator", phase 1 "Build it"',
        '09:03 - phase completed: "Calculator", phase 1 "Build it"',
        '09:03 - phase began: "Calculator", phase 2 "Test it"',
        "09:04 2 session began",
        '09:05 1 compaction announced (auto): "Calculator" 2/2 Test it',
        '09:06 1 compaction completed: "Calculator" 2/2 Test it',
        '09:07 1 guidance never arrived: "Calculator"',
        "09:08 3 session began",
        '09:08 3 restore refused: "Nobody\'s"; it could belong to another live session',
        "09:09 2 session ended",
    ]
    assert [line for line in expected if line not in found] == []
    places = [found.index(line) for line in expected]
    assert places == sorted(places)
    assert [line for line in found if " guidance given" in line][:2] == [
        line for line in found if line.startswith(("09:06 1 guidance given: ", "09:07 1 guidance given again: "))
    ]
    assert any(line.startswith('09:06 1 summary compared: "Calculator"; the client\'s summary had ') for line in found)
    assert any(line.startswith("09:03 1 agent completed: ") and "DELIVERABLES" in line for line in found)
    assert [line for line in found if " generation 1 kept: .claude/state/workflow.json (start)" in line]
    assert [line[8:] for line in found if line.startswith(("09:07 1 session", "09:08 3 session went"))] == [
        "session went silent",
        "session went silent",
    ]
    assert sum("went silent" in line for line in found) == 2
    assert [line[:5] for line in found] == sorted(line[:5] for line in found)


def test_phases_that_were_passed_over_never_began(project: HoldfastProject, at: Callable[[str], None]) -> None:
    """They are over before the next one begins, and no more is said of them."""
    titles = [part for title in ("One", "Two", "Three", "Four") for part in ("--phase", title)]
    holdfast("start", "Alpha", *titles, root=project.root)
    at("10:00:00")
    holdfast("update", "--phase", "4", root=project.root)

    assert [line for line in told(project, limit=1_000) if " - phase " in line] == [
        '09:00 - phase began: "Alpha", phase 1 "One"',
        '10:00 - phase completed: "Alpha", phase 1 "One"',
        '10:00 - phase completed: "Alpha", phase 2 "Two"',
        '10:00 - phase completed: "Alpha", phase 3 "Three"',
        '10:00 - phase began: "Alpha", phase 4 "Four"',
    ]


def test_attempts_of_an_earlier_version_are_told_as_they_were(project: HoldfastProject) -> None:
    """Its rows do not say whether a phase was seen to begin."""
    there = workspace(project.root)
    stamps = ("2026-03-01T09:00:00Z", "2026-03-01T09:00:00Z")
    row = (there.key, there.worktree, "compaction:x#y", "phase_1", 1, "h", "c", *stamps, "completed", "")
    with earlier.ledger(there) as ledger:
        ledger.execute("ALTER TABLE attempts DROP COLUMN begun")
        ledger.execute(f"INSERT INTO attempts VALUES ({', '.join('?' * len(row))})", row)
    before = [line.split(":")[1] for line in told(project) if " - phase " in line]
    assert before == ["00 - phase began", "00 - phase completed"]

    holdfast("start", "Alpha", "--phase", "One", root=project.root)

    assert sum(" - phase began" in line for line in told(project)) == 2


def test_what_is_asked_for_is_what_is_told(project: HoldfastProject, at: Callable[[str], None]) -> None:
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
        '11:00 1 guidance given: "Alpha"; '
        + next(line for line in everything if "11:00 1 guidance given" in line).split("; ")[1]
    ]


def test_a_compaction_that_never_came_is_said_so(project: HoldfastProject, at: Callable[[str], None]) -> None:
    """PreCompact fired and no compaction came; the next one takes both seals, and only its own came."""
    holdfast("start", "Alpha", "--phase", "One", root=project.root, session=ME)
    fire(project, "PreCompact", recorded="PreCompact-manual", session_id=ME)
    assert '09:00 1 compaction announced (manual): "Alpha" 1/1 One; it hasn\'t happened yet' in told(project)
    at("10:00:00")
    fire(project, "PreCompact", recorded="PreCompact-auto", session_id=ME)
    at("10:01:00")
    fire(project, "SessionStart", recorded="SessionStart-compact", session_id=ME)

    assert [line for line in told(project) if " compaction " in line] == [
        '09:00 1 compaction announced (manual): "Alpha" 1/1 One; it never happened',
        '10:00 1 compaction announced (auto): "Alpha" 1/1 One',
        '10:01 1 compaction completed: "Alpha" 1/1 One',
    ]


def test_a_compaction_without_precompact_and_one_that_changed_the_session(
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
    assert '09:10 1 compaction completed, not announced: "Alpha" 1/1 One' in found
    assert '09:20 3 compaction completed: from session 11111111: "Alpha" 1/1 One' in found
    assert '09:20 3 ownership changed: "Alpha"; before: session 11111111' in found
    assert '09:20 3 ownership changed: "Alpha"; before: session 11111111' in told(project, session=ME)


def test_a_session_without_an_end_is_silent_only_once_it_is_not_live(
    project: HoldfastProject, at: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour without an event, or at once when its process is gone."""
    fire(project, "SessionStart", recorded="SessionStart-startup-tui", session_id=ME)
    assert told(project) == ["09:00 1 session began"]
    at("10:01:00")
    assert told(project) == ["09:00 1 session began", "09:00 1 session went silent"]
    there = workspace(project.root)
    at("10:02:00")
    sessions.note_event(there, OTHER, "4194304")  # no process has this number
    there.close()
    assert told(project)[-2:] == ["10:02 2 session began", "10:02 2 session went silent: its process is gone"]


def test_a_refusal_is_remembered_once_for_each_workflow_and_moves_no_delivery(project: HoldfastProject) -> None:
    """It is no guidance: nothing is looked for in a transcript, nothing that was given is given up."""
    there = workspace(project.root)
    given = deliveries.begin(there, ME, event="SessionStart", workflow="k", title="T", mark="m", units=1, transcript="")
    deliveries.refuse(there, ME, event="SessionStart", workflows=[workflow(there.root, f"W{n}") for n in range(30)])

    found = deliveries.recent(there, 100)
    assert [each.state for each in found].count("refused") == deliveries.NAMED
    assert next(each for each in found if each.id == given).state == "pending"
    deliveries.written(there, given)
    assert deliveries.settle(there, ME) is None
    assert {each.title for each in found if each.state == "refused"} == {f"W{n}" for n in range(deliveries.NAMED)}
    for _ in range(deliveries.KEPT // deliveries.NAMED + 1):
        deliveries.refuse(there, ME, event="SessionStart", workflows=[workflow(there.root)] * deliveries.NAMED)
    assert len(deliveries.recent(there, 10_000)) == deliveries.KEPT
    there.close()


def test_owning_again_is_no_change(project: HoldfastProject) -> None:
    """Each PreCompact owns anew; only another owner, or none, is told."""
    there = workspace(project.root)
    one = workflow(there.root, "Release")
    for session in (ME, ME, OTHER, OTHER):
        owners.own(there, one, session)
    owners.release(there, one)
    owners.release(there, one)
    owners.own(there, one, ME)
    there.close()

    assert [line[6:] for line in told(project) if "owner" in line or "released" in line] == [
        '1 ownership changed: "Release"',
        '2 ownership changed: "Release"; before: session 11111111',
        '- released: "Release"; before: session 22222222',
        '1 ownership changed: "Release"',
    ]


def test_what_programs_get(project: HoldfastProject) -> None:
    """The same, every key in every happening."""
    holdfast("start", "Alpha", "--phase", "One", root=project.root, session=ME)
    rows = holdfast("log", "--json", root=project.root).json
    assert {row["kind"] for row in rows} == {"owner", "generation", "phase"}
    keys = {"at", "kind", "what", "session", "workflow", "title", "phase", "detail", "worktree", "data"}
    assert {frozenset(row) for row in rows} == {frozenset(keys)}
    owner = next(row for row in rows if row["kind"] == "owner")
    assert (owner["session"], owner["title"], owner["data"]) == (ME, "Alpha", {"previous_owner": None, "before": None})
    json.dumps(rows)


def grown(there: Workspace, count: int) -> None:
    """Let a ledger have many rows in every table that nothing bounds."""
    sessions.note_event(there, ME)
    generations.keep(there, there.root / "x.json", b"{}", why="x")
    snapshots.recent(there, 1)
    ids = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
    moment = "printf('2026-02-%02dT%02d:%02d:%02d.%06dZ', 1 + i / 86400 % 28, i / 3600 % 24, i / 60 % 60, i % 60, i)"
    common, s = "?, 'w', 'h', 'c'", "'s' || (i % 50)"
    for sql in (
        f"INSERT INTO sessions (project, worktree, host, client, id, first_seen, last_seen) {ids}"
        f" SELECT {common}, 's' || i, {moment}, {moment} FROM n",
        "INSERT INTO launches (project, worktree, host, client, session, tool_use_id, agent_id, agent_type, workflow,"
        f" launched_at) {ids} SELECT {common}, {s}, 't' || i, 'a' || i, 'x', 'k' || (i % 7), {moment} FROM n",
        "INSERT INTO runs (project, worktree, host, client, session, agent_id, agent_type, state, words, started_at,"
        f" changed_at) {ids} SELECT {common}, {s}, 'a' || i, 'x', 'completed', '', {moment}, {moment} FROM n",
        "INSERT INTO attempts (project, worktree, host, client, workflow, phase, number, started_at, ended_at, outcome,"
        f" error) {ids} SELECT {common}, 'k', 'p', i, {moment}, {moment}, 'completed', '' FROM n",
    ):
        there.ledger.run(sql, count, there.key)


def test_a_ledger_of_100_000_rows_is_never_read_through(
    project: HoldfastProject, at: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every statement ends with a limit and finds its rows by an index, in order, whatever is asked for."""
    at("12:00:00")
    there = workspace(project.root)
    grown(there, 25_000)
    unbounded = ("sessions", "launches", "runs", "agents", "attempts", "generations")
    asked: list[tuple[str, tuple[object, ...], int]] = []
    rows = Ledger.rows

    def spied(self: Ledger, sql: str, *values: object) -> list[dict[str, Any]]:
        found = rows(self, sql, *values)
        asked.append((sql, values, len(found)))
        return found

    monkeypatch.setattr(Ledger, "rows", spied)
    whole = timeline.happened(there, limit=20)
    some = timeline.happened(there, limit=20, since=datetime(2026, 2, 1, 6, tzinfo=UTC), session="s7")
    one = timeline.happened(there, limit=20, workflow=workflow(there.root))
    monkeypatch.undo()

    assert (len(whole), len(some), len(one)) == (20, 20, 0)
    assert [each.at for each in whole] == sorted((each.at for each in whole), reverse=True)
    looked = [(sql, values) for sql, values, _ in asked if any(f"FROM {name} " in sql for name in unbounded)]
    assert len(looked) >= 20
    for sql, values in looked:
        assert "LIMIT ?" in sql
        plan = [row["detail"] for row in there.ledger.rows(f"EXPLAIN QUERY PLAN {sql}", *values)]
        assert not [step for step in plan if step.startswith("SCAN")], (sql, plan)
        if "session = ?" not in sql and " id = ?" not in sql and "JOIN" not in sql:  # few rows are sorted there
            assert not [step for step in plan if "TEMP B-TREE" in step], (sql, plan)
    assert max(count for _, _, count in asked) <= 200
    there.close()


def test_looking_makes_the_indexes_of_the_log_and_events_do_not(project: HoldfastProject) -> None:
    """No event pays for the log before anybody has asked for it; it makes only the indexes it needs itself."""
    fire(project, "SessionStart", recorded="SessionStart-startup-tui", session_id=ME)
    there = workspace(project.root)
    named = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    assert "sessions_first_seen" not in {row["name"] for row in there.ledger.rows(named)}
    timeline.happened(there)
    assert "sessions_first_seen" in {row["name"] for row in there.ledger.rows(named)}
    there.close()


def test_a_title_that_is_no_text_costs_nothing(project: HoldfastProject) -> None:
    """Half an emoji, as JavaScript cuts them: it is owned, refused, restored and told all the same."""
    there = workspace(project.root)
    odd = workflow(there.root, "Half", title="Half \ud83d")
    owners.own(there, odd, ME)
    deliveries.refuse(there, ME, event="SessionStart", workflows=[odd])
    deliveries.begin(
        there, ME, event="SessionStart", workflow=odd.key, title=odd.title, mark="m", units=1, transcript=""
    )
    losses.note(there, ME, odd, "")
    there.close()
    assert sum("Half �" in line for line in told(project)) == 4


def test_no_secret_is_told_to_people_or_programs(project: HoldfastProject) -> None:
    """Wherever it stands: in a phase's title, in an agent's words, in what a phase failed of."""
    secret = "sk-ant-" + "a1b2c3d4" * 4
    holdfast("start", "Alpha", "--phase", f"With {secret}", root=project.root, session=ME)
    agent = Agent(project, "Look", session=ME)
    agent.about_to(session_id=ME)
    agent.returned(f"The key is {secret}", session_id=ME)
    there = workspace(project.root)
    (found,) = registry.all_found(there).workflows
    history.observe(there, replace(found, phases=(found.phases[0]._replace(status="failed"),)), error=f"bad {secret}")
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


def test_what_happened_is_one_line(project: HoldfastProject) -> None:
    """However long an error is, and whatever a phase is called in its file."""
    odd = TimelineEvent(
        f"{DAY}T09:00", "phase", "phase failed", phase="one\n" + "y" * 500, detail="bad\n" + "x" * 2_000
    )
    line = timeline.sentence(odd, {})
    assert line.startswith("phase failed: phase one yyy")
    assert "; bad xxx" in line
    assert "\n" not in line
    assert len(line) < 400


def test_a_workflow_without_a_file_is_called_as_the_archive_has_it(project: HoldfastProject) -> None:
    """Its agents know only its key; without the archive it goes by that."""
    holdfast("start", "Alpha", "--phase", "One", root=project.root)
    there = workspace(project.root)
    (found,) = registry.all_found(there).workflows
    lifecycle.launched(there, ME, "toolu_1", "builder", found.key, found.phases[0].id)
    holdfast("done", "--all", root=project.root)
    assert registry.all_found(there).workflows == ()

    assert [each.title for each in timeline.happened(there, session=ME)] == ["Alpha"]
    there.ledger.run("DELETE FROM archive")
    assert [each.title for each in timeline.happened(there, session=ME)] == [found.id]
    there.close()
