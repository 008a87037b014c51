"""Document 002: sessions, their markers, names and states."""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast
from tests.requirements.document_002 import STATE_KEYS, alone, example

if TYPE_CHECKING:
    from pathlib import Path

    from tests.requirements.document_002 import Workflows

LONG = "A very long topic that goes on and on about authentication"


def test_a_new_session_has_exactly_what_it_needs(workflows: Workflows) -> None:
    """R002-09, R002-02, R002-03 and I002-3: state, plan, list, the folder of tasks and the marker; nothing else."""
    workflows.start("User Auth System")

    assert workflows.tree() == [
        ".active-WFS-user-auth-system",
        "WFS-user-auth-system",
        "WFS-user-auth-system/.task",
        "WFS-user-auth-system/IMPL_PLAN.md",
        "WFS-user-auth-system/TODO_LIST.md",
        "WFS-user-auth-system/workflow-session.json",
    ]
    folder = workflows.top / "WFS-user-auth-system"
    assert (folder / "IMPL_PLAN.md").read_text() == "# Implementation Plan\n"
    assert (folder / "TODO_LIST.md").read_text() == "# Tasks\n"


def test_its_state_has_exactly_the_keys_of_the_schema(workflows: Workflows) -> None:
    """R002-08: session_id, project, type, current_phase, status, progress with its two lists."""
    state = workflows.state(workflows.start("Mehr Licht: ÄÖÜ\nund 任务", "--type", "medium"))

    assert list(state) == STATE_KEYS
    assert state["session_id"] == "WFS-mehr-licht-aou-und"
    assert state["project"] == "Mehr Licht: ÄÖÜ\nund 任务"
    assert (state["type"], state["current_phase"], state["status"]) == ("medium", "PLAN", "active")
    assert state["progress"] == {"completed_phases": [], "current_tasks": []}


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("User Auth System", "WFS-user-auth-system"),
        ("  Fix: the -- bug (#123)!  ", "WFS-fix-the-bug-123"),
        ("OAuth/OIDC & SSO", "WFS-oauth-oidc-sso"),
        ("../../etc/passwd", "WFS-etc-passwd"),
        ("任务", "WFS-session"),
        ("x" * 80, "WFS-" + "x" * 46),
    ],
)
def test_a_name_is_made_of_the_topic(workflows: Workflows, topic: str, name: str) -> None:
    """R002-11, I002-15: lower case, one hyphen for each run of other characters, none at the ends."""
    assert workflows.start(topic).name == name


def test_names_are_cut_at_a_hyphen_and_numbered_where_taken(workflows: Workflows) -> None:
    """R002-12, R002-13 and I002-16: 50 characters with prefix and suffix; -002, -003 only where they are needed.

    A name differing in case alone is taken: on a disk that doesn't tell them apart they would be one folder.
    """
    found = [workflows.start(LONG).name for _ in range(3)]

    assert found == [
        "WFS-a-very-long-topic-that-goes-on-and-on-about",
        "WFS-a-very-long-topic-that-goes-on-and-on-002",
        "WFS-a-very-long-topic-that-goes-on-and-on-003",
    ]
    assert all(len(name) <= 50 for name in found)
    (workflows.top / "WFS-Payment").mkdir()
    assert workflows.start("payment").name == "WFS-payment-002"


def test_detection_says_it_in_the_documents_words(workflows: Workflows) -> None:
    """R002-05, R002-06: none, one, several."""
    assert "No active session; " in workflows.run("task", "show", code=1).err
    workflows.start("One")
    assert workflows.run("task", "show").out == "Active session: WFS-one\n"
    (workflows.top / "WFS-two").mkdir()
    (workflows.top / ".active-WFS-two").write_text("whatever it holds")
    assert (
        "Multiple active sessions found:\n  - WFS-one\n  - WFS-two\nPlease specify which session to work with;"
    ) in workflows.run("task", "show", code=1).err


def test_a_direct_child_marks_by_being_there(workflows: Workflows) -> None:
    """R002-04 and I002-12: what it holds says nothing, and a file deeper down marks nothing."""
    folder, marker = workflows.start("One"), workflows.top / ".active-WFS-one"
    (folder / ".active-WFS-other").touch()
    marker.write_bytes(b"\x00paused\xff")
    assert "Active session: WFS-one\n" in workflows.run("task", "show").out
    assert workflows.standing(folder.name) == "active"
    marker.unlink()
    assert workflows.standing(folder.name) == "paused"
    assert workflows.state(folder)["status"] == "active", "asking writes nothing"
    workflows.start("Two")
    assert (folder / ".active-WFS-other").exists(), "and switching leaves it alone"


def test_switching_leaves_one_marker(workflows: Workflows) -> None:
    """R002-07, I002-14: every other marker goes, and both files say what is so. An unknown session changes nothing."""
    one = workflows.start("One")
    workflows.claim("two", code=1)
    for name in ("two", "../one"):
        assert "there is only WFS-one" in workflows.run("task", "show", "--session", name, code=1).err
    assert workflows.markers() == [".active-WFS-one"]
    two = workflows.start("Two")
    (workflows.top / ".active-WFS-gone").touch()
    workflows.claim("WFS-one")

    assert workflows.markers() == [".active-WFS-one"]
    assert (workflows.state(one)["status"], workflows.state(two)["status"]) == ("active", "paused")


def test_pausing_resuming_and_completing_leave_their_time(workflows: Workflows) -> None:
    """I002-13: paused_at, resumed_at, completed_at. Completing removes the marker; no task is said to be done."""
    folder = workflows.start("One")
    workflows.add("Build it")
    assert "`holdfast claim WFS-one` continues it" in workflows.say("cancel").out
    assert (workflows.markers(), workflows.standing("WFS-one")) == ([], "paused")
    workflows.claim("WFS-one")
    assert workflows.standing("WFS-one") == "active"
    assert 'Not completed: IMPL-1 "Build it"' in workflows.end().out

    state = workflows.state(folder)
    assert state["status"] == "completed"
    assert [name for name in state if name not in STATE_KEYS] == ["paused_at", "resumed_at", "completed_at"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", state[f"{name}_at"]) for name in ("paused", "completed"))
    assert workflows.markers() == []
    assert workflows.task(folder, "IMPL-1")["status"] == "pending"
    assert state["progress"]["completed_phases"] == []


def test_a_completed_session_refuses_late_writers(workflows: Workflows) -> None:
    """R002-08: who comes late hears how to open it again, and changes nothing."""
    folder = workflows.start("One")
    workflows.add("Build it")
    workflows.complete("IMPL-1")
    workflows.end()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for late in (("add", "More"), ("complete", "IMPL-1", "--summary", "x"), ("decompose", "IMPL-1", "Part")):
        refused = workflows.run("task", *late, "--session", "WFS-one", code=1).err
        assert "`holdfast reopen --workflow WFS-one` opens it again" in refused
    assert "is completed" in workflows.block("IMPL-1", "", "WFS-one", code=1).err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    workflows.say("reopen", "--workflow", "WFS-one")
    assert workflows.add("More") == "IMPL-2"
    state = workflows.state(folder)
    assert "completed_at" not in state and "resumed_at" in state
    assert (state["current_phase"], state["progress"]["completed_phases"]) == ("IMPLEMENT", ["PLAN"])


def test_a_session_that_was_moved_away_is_not_made_again(workflows: Workflows) -> None:
    """R002-02: a late writer brings back no half of it."""
    folder = workflows.start("One")
    workflows.add("Build it")
    folder.rename(workflows.root / "archived")

    workflows.complete("IMPL-1", code=1)
    assert not folder.exists()


def test_marker_and_status_cannot_drift_unseen(workflows: Workflows) -> None:
    """I002-14: the marker counts, the contradiction is told, and repair settles it."""
    one, two = workflows.start("One"), workflows.start("Two")
    (workflows.top / ".active-WFS-two").rename(workflows.top / ".active-WFS-one")
    said = workflows.check()

    assert "it is marked as active, but its status is paused" in said
    assert "its status is active, but no marker names it" in said
    workflows.repair()
    assert (workflows.state(one)["status"], workflows.state(two)["status"]) == ("active", "paused")
    assert workflows.findings() == []


def test_the_phases_follow_the_tasks(workflows: Workflows) -> None:
    """R002-46: PLAN until a task is begun, IMPLEMENT until all are completed, then REVIEW, which `doctor` names.

    In real data such sessions stood still.
    """
    folder = workflows.start("One")
    workflows.add("Build it")
    workflows.add("Test it", "--after", "IMPL-1")
    seen = [_where(workflows, folder)]
    for id_ in ("IMPL-1", "IMPL-2"):
        workflows.begin(id_)
        seen.append(_where(workflows, folder))
        workflows.complete(id_)
        seen.append(_where(workflows, folder))
    assert "all 2 tasks are completed, but the session is active" in workflows.check()
    workflows.end()

    assert seen == [
        ("PLAN", [], ["IMPL-1"]),
        ("IMPLEMENT", ["PLAN"], ["IMPL-1"]),
        ("IMPLEMENT", ["PLAN"], ["IMPL-2"]),
        ("IMPLEMENT", ["PLAN"], ["IMPL-2"]),
        ("REVIEW", ["PLAN", "IMPLEMENT"], []),
    ]
    assert workflows.state(folder)["progress"] == {
        "completed_phases": ["PLAN", "IMPLEMENT", "REVIEW"],
        "current_tasks": [],
    }


def test_current_tasks_are_derived(workflows: Workflows) -> None:
    """I002-24: those that are active, else the next that can be begun; several may be active."""
    folder = workflows.start("One")
    for title in ("A", "B", "C"):
        workflows.add(title)
    assert _where(workflows, folder)[2] == ["IMPL-1"]
    workflows.begin("IMPL-2")
    workflows.begin("IMPL-3")
    assert _where(workflows, folder)[2] == ["IMPL-2", "IMPL-3"]


def test_an_orphaned_marker_is_removed(workflows: Workflows) -> None:
    """R002-10: the session's folder is missing; nothing is removed by a dry run."""
    workflows.start("One")
    (workflows.top / ".active-WFS-gone").touch()

    assert "marks a session that is not there" in workflows.check()
    assert workflows.markers() == [".active-WFS-gone", ".active-WFS-one"]
    workflows.repair()
    assert workflows.markers() == [".active-WFS-one"]
    assert workflows.repair() == []


def test_of_several_markers_the_newest_stays(workflows: Workflows) -> None:
    """I002-11: by the time it was made; of one moment the last name. Detection only reports."""
    for topic in ("One", "Two", "Three"):
        workflows.start(topic)
    for name, moment in (("one", 300), ("two", 300), ("three", 100)):
        path = workflows.top / f".active-WFS-{name}"
        path.touch()
        os.utime(path, (moment, moment))
    workflows.run("task", "show", code=1)
    assert len(workflows.markers()) == 3
    workflows.repair()
    assert workflows.markers() == [".active-WFS-two"]


def test_a_marker_of_a_completed_session_makes_it_no_active_one(workflows: Workflows) -> None:
    """I002-11: whatever marks it, and however late: the running one is restored, and stays as it is after a repair."""
    old, stale = workflows.start("Old"), workflows.top / ".active-WFS-old"
    workflows.end("old")
    stale.touch()
    running = workflows.start("New")
    assert workflows.markers() == [".active-WFS-new"]
    workflows.add("Build the login")
    stale.touch()
    os.utime(stale, (4_000_000_000, 4_000_000_000))

    assert workflows.run("task", "show").out.startswith("Active session: WFS-new\n")
    workflows.begin("IMPL-1")
    workflows.project.fire("PreCompact")
    restored = workflows.project.fire("SessionStart", "SessionStart-compact").context
    assert "RESTORED" in restored and "Build the login" in restored

    workflows.repair()
    assert workflows.markers() == [".active-WFS-new"]
    assert (workflows.state(running)["status"], workflows.state(old)["status"]) == ("active", "completed")


def test_a_check_names_what_keeps_the_format_from_working(workflows: Workflows) -> None:
    """R002-10: several markers, one of no or of a completed session, a broken state, a file in place of the folder."""
    folder = workflows.start("One")
    assert workflows.findings() == []
    (workflows.top / ".active-WFS-gone").touch()
    assert [each.code for each in workflows.findings()] == ["marker"]
    (workflows.top / ".active-WFS-gone").unlink()
    workflows.start("Two")
    (workflows.top / ".active-WFS-one").touch()
    assert "marker" in [each.code for each in workflows.findings()]
    (workflows.top / ".active-WFS-two").unlink()
    workflows.end("two")
    (workflows.top / ".active-WFS-two").touch()
    assert ("status", workflows.top / "WFS-two/workflow-session.json") in [
        (each.code, each.path) for each in workflows.findings()
    ]
    (workflows.top / ".active-WFS-two").unlink()
    (folder / "workflow-session.json").write_text("{")
    assert "broken" in [each.code for each in workflows.findings() if each.level == "problem"]
    shutil.rmtree(workflows.top)
    workflows.top.write_text("")
    assert [each.code for each in workflows.findings()] == ["folder"]


def test_a_name_that_no_file_can_have_is_no_session(workflows: Workflows) -> None:
    """It is said in words, not by an error of the system."""
    workflows.start("One")
    said = workflows.run("task", "show", "--session", "x" * 300, code=1).err
    assert "there is no session" in said and "errno" not in said.lower() and "too long" not in said


def test_a_broken_state_is_made_anew_and_the_bad_file_kept(workflows: Workflows) -> None:
    """R002-10, I002-23: from the template, progress from the tasks; what it held stays beside it."""
    folder = workflows.top / "WFS-old"
    workflows.put(folder, example(id="IMPL-1", status="completed"), example(id="IMPL-2", status="active"))
    (folder / "TODO_LIST.md").write_text("# Tasks: Ship the parser\n")
    (folder / "workflow-session.json").write_text('{"session_id": "WFS-old", ')
    workflows.repair()

    state = workflows.state(folder)
    assert list(state) == STATE_KEYS
    assert state["project"] == "Ship the parser"
    assert state["progress"] == {"completed_phases": ["PLAN"], "current_tasks": ["IMPL-2"]}
    (kept,) = folder.glob("workflow-session.json.corrupt-*")
    assert kept.read_text() == '{"session_id": "WFS-old", '


def test_a_broken_state_that_we_have_written_comes_back_whole(workflows: Workflows) -> None:
    """I002-23: its last generation has more than the template."""
    folder = workflows.start("Ship it: 任务")
    workflows.add("Build it")
    (folder / "workflow-session.json").write_text("{")
    assert '"Ship it: 任务"' in workflows.say("next").out or "Ship it: 任务" in workflows.say("next").out
    workflows.repair()

    assert workflows.state(folder)["project"] == "Ship it: 任务"
    assert [path.read_text() for path in folder.glob("workflow-session.json.corrupt-*")] == ["{"]


def test_another_tools_file_is_left_alone(workflows: Workflows) -> None:
    """I002-23: JSON of another kind is not corrupt, it is not ours."""
    folder = workflows.top / "WFS-other"
    folder.mkdir(parents=True)
    (folder / "workflow-session.json").write_text('{"steps": []}')

    assert "it isn't a session of a workflow" in workflows.check()
    workflows.repair()
    assert json.loads((folder / "workflow-session.json").read_text()) == {"steps": []}


@pytest.mark.parametrize("said", ["completed", "Completed", "DONE", "archived"])
def test_a_session_is_over_however_that_is_written(workflows: Workflows, said: str) -> None:
    """R002-08: whatever marks it; a repair takes the marker away."""
    folder = workflows.start("One")
    (folder / "workflow-session.json").write_text(json.dumps(workflows.state(folder) | {"status": said}))
    assert workflows.standing(folder.name) == "completed"
    workflows.repair()
    assert workflows.markers() == []


def test_sessions_from_the_wild_are_read(workflows: Workflows) -> None:
    """R002-08: other statuses, no phase, no type; what stands there stays when something else is written."""
    folder = workflows.top / "WFS-wild"
    workflows.put(folder, alone("IMPL-001"))
    wild = {"session_id": "WFS-wild", "topic": "状态", "status": "ready_for_execution", "notes": {"a": [1, 2]}}
    (folder / "workflow-session.json").write_text(json.dumps(wild, ensure_ascii=False))

    assert workflows.standing("WFS-wild") == "paused"
    workflows.claim("状态")
    workflows.begin("IMPL-1")
    state = workflows.state(folder)
    assert state["notes"] == {"a": [1, 2]}
    assert state["topic"] == "状态"
    assert (state["status"], state["current_phase"], state["type"]) == ("active", "IMPLEMENT", "simple")


def _where(workflows: Workflows, folder: Path) -> tuple[str, list[str], list[str]]:
    state = workflows.state(folder)
    progress = state["progress"]
    return state["current_phase"], progress["completed_phases"], progress["current_tasks"]


@pytest.fixture
def beside(workflows: Workflows) -> Path:
    """Sessions as later versions of the document keep them: one below active/, one below archives/."""
    for place, name in (("active", "WFS-user-auth"), ("archives", "WFS-old")):
        folder = workflows.top / place / name
        workflows.put(folder, alone("IMPL-1", status="completed"), alone("IMPL-2"))
        state = {"session_id": name, "project": name.title(), "status": "active", "current_phase": "PLAN"}
        (folder / "workflow-session.json").write_text(json.dumps(state))
    return workflows.top / "active" / "WFS-user-auth"


def test_sessions_in_active_and_archives_are_named(workflows: Workflows, beside: Path) -> None:
    """At the start of a session, once, with the command that moves one; they aren't read, whatever is in them."""
    (beside / ".task" / "IMPL-2.json").write_text("{")
    moving = f"mv {beside} {workflows.top}/ && holdfast claim WFS-user-auth"
    start = workflows.project.fire("SessionStart", "SessionStart-startup")
    said = {
        "start": start.reply["systemMessage"],
        "check": workflows.check(),
        "explain": holdfast("status", "--why", root=workflows.root).out,
    }
    for where, text in said.items():
        assert ".workflow/active" in text and "has 1 session, which Holdfast doesn't read" in text, where
        assert ".workflow/archives" in text and "IMPL-2" not in text, where
        assert where == "explain" or moving in text, where
    assert "systemMessage" not in workflows.project.fire("SessionStart", "SessionStart-resume").reply
    beside.rename(workflows.top / beside.name)
    workflows.claim(beside.name)
    assert [each["id"] for each in workflows.json("task", "show")] == ["IMPL-1"]
    assert workflows.markers() == [".active-WFS-user-auth"]


def test_names_in_active_and_archives_are_taken(workflows: Workflows, beside: Path) -> None:
    """R002-12, R002-10: a session has its name for itself, and its marker is no orphan."""
    (workflows.top / f".active-{beside.name}").touch()
    workflows.repair()
    assert workflows.markers() == [".active-WFS-user-auth"]
    assert "there is no such session" not in workflows.check()
    assert [workflows.start(topic).name for topic in ("User Auth", "Old")] == ["WFS-user-auth-002", "WFS-old-002"]
