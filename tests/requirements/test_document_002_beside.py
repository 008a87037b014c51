"""Sessions of document 002 beside each other, beside other clients, and under the general verbs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions import contents, conversations
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.requirements.document_002 import alone
from tests.signals import Agent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.requirements.document_002 import Workflows


@pytest.fixture
def folder(workflows: Workflows) -> Path:
    """A session with two tasks, the second after the first."""
    made = workflows.start("User Auth")
    workflows.add("Design the tokens")
    workflows.add("Build the login", "--after", "IMPL-1")
    return made


@pytest.mark.parametrize("verb", ["next", "done"])
def test_the_general_verbs_leave_a_paused_session_alone(workflows: Workflows, folder: Path, verb: str) -> None:
    """R002-04: who wants to go on with it says so; the message names the command."""
    workflows.begin("IMPL-1")
    workflows.say("cancel")
    said = holdfast(verb, root=workflows.root, code=1)
    assert "is paused" in said.err
    assert "holdfast claim WFS-user-auth" in said.err
    assert workflows.task(folder, "IMPL-1")["status"] == "active"
    assert "\npaused, 0/2 tasks completed" in holdfast("status", root=workflows.root).out


@pytest.mark.parametrize(
    "words", [("start", "Third", "--format", "wfs", "--replace"), ("claim", "WFS-other", "--anyway")]
)
def test_no_client_takes_anothers_turn_unasked(workflows: Workflows, folder: Path, words: tuple[str, ...]) -> None:
    """R002-07: one session is active at a time; another client that is live keeps its own, unless it is told to."""
    workflows.start("Other")
    holdfast("claim", "WFS-user-auth", root=workflows.root, session=ME)
    project = Workspace.open(workflows.root)
    for each in (ME, OTHER):
        conversations.note_event(project, each)
    project.close()
    *command, option = words
    refused = holdfast(*command, root=workflows.root, session=OTHER, code=1)
    assert f"session {ME}, which is live, works on WFS-user-auth" in refused.err and option in refused.err
    assert workflows.markers() == [".active-WFS-user-auth"]
    holdfast(*command, option, root=workflows.root, session=OTHER)
    assert ".active-WFS-user-auth" not in workflows.markers()
    assert workflows.state(folder)["status"] == "paused"


@pytest.mark.parametrize("whose", ["nobody's", "one's own", "one that ended", "a person asks", "unreadable"])
def test_a_turn_that_nobody_needs_is_taken(workflows: Workflows, folder: Path, whose: str) -> None:
    """R002-07: though other clients are live; a person in a terminal needs no leave in any case."""
    project = Workspace.open(workflows.root)
    for each in (ME, OTHER):
        conversations.note_event(project, each)
    if whose != "nobody's":
        holdfast("claim", folder.name, root=workflows.root, session=OTHER if whose == "one's own" else ME)
    if whose == "one that ended":
        conversations.end(project, ME)
    project.close()
    if whose == "unreadable":
        (folder / "workflow-session.json").write_text('{"steps": []}')
    session = "" if whose == "a person asks" else OTHER
    holdfast("start", "Next", "--format", "wfs", root=workflows.root, session=session)
    assert ".active-WFS-next" in workflows.markers()


def test_the_general_start_neither_takes_a_turn_nor_is_silent(workflows: Workflows, folder: Path) -> None:
    """What it pauses is said; another live client's needs --replace."""
    said = holdfast("start", "Second", "--format", "wfs", "--phase", "One", root=workflows.root)
    assert '"User Auth" (WFS-user-auth) is paused.' in said.out
    project = Workspace.open(workflows.root)
    conversations.note_event(project, ME)
    project.close()
    holdfast("claim", "WFS-user-auth", root=workflows.root, session=ME)
    words = ("start", "Third", "--format", "wfs", "--phase", "One")
    assert "--replace" in holdfast(*words, root=workflows.root, session=OTHER, code=1).err
    said = holdfast(*words, "--replace", root=workflows.root, session=OTHER)
    assert workflows.state(folder)["status"] == "paused" and said.out.count(" is paused.") == 1
    again = ("start", "Third", "--format", "wfs")
    assert "--replace to pause it and start another" in holdfast(*again, root=workflows.root, code=1).err
    holdfast("update", "--phase", "IMPL-1", "--status", "blocked", root=workflows.root)
    waits = ("update", "--phase", "IMPL-1", "--status", "pending")
    assert "--status active` continues it" in holdfast(*waits, root=workflows.root, code=1).err
    assert "--phase" in holdfast("start", "X", "--format", "wfs", "--total", "3", root=workflows.root, code=1).err


def test_what_general_verbs_complete_is_archived_at_once(workflows: Workflows, folder: Path) -> None:
    """As in the other formats; what is left is not said to be done."""
    said = holdfast("done", "--all", root=workflows.root)
    assert "Ended the workflow with 0 of 2 tasks completed." in said.out
    assert "0/2" in said.out
    (kept,) = holdfast("status", "--all", "--json", root=workflows.root).json["archive"]
    assert kept["title"] == "User Auth"
    assert holdfast("status", folder.name, "--json", root=workflows.root).json["percent"] == 0
    assert workflows.task(folder, "IMPL-1")["status"] == "pending"
    before = (folder / "workflow-session.json").read_bytes()
    assert (folder / "workflow-session.json").read_bytes() == before


def test_a_completed_session_takes_nothing_more(workflows: Workflows, folder: Path) -> None:
    """Neither steps nor what the general verbs would add."""
    step = {"step": "look", "action": "look", "command": "ls", "output_to": "seen", "on_error": "fail"}
    workflows.put(folder, alone("IMPL-3") | {"flow_control": {"pre_analysis": [step]}})
    workflows.end()
    tree = workflows.tree()
    words = ("task", "step", "IMPL-3", "look", "--output", "late", "--session", folder.name)
    assert "is completed" in workflows.run(*words, code=1).err
    assert "is completed" in holdfast("update", folder.name, "--remind", "late", root=workflows.root, code=1).err
    assert workflows.tree() == tree


def test_a_step_that_stops_the_task_blocks_it(workflows: Workflows, folder: Path) -> None:
    """R002-26: by `fail` and after the second try of `retry_once`; the task can be gone on with by hand."""
    steps = [
        {"step": name, "action": "look", "command": "ls", "output_to": name, "on_error": error}
        for name, error in (("one", "skip_optional"), ("two", "retry_once"), ("three", "fail"))
    ]
    workflows.put(folder, alone("IMPL-3") | {"flow_control": {"pre_analysis": steps}})
    workflows.begin("IMPL-3")
    assert "it is optional" in workflows.run("task", "step", "IMPL-3", "one", "--failed").out
    assert "once more" in workflows.run("task", "step", "IMPL-3", "two", "--failed").out
    assert workflows.task(folder, "IMPL-3")["status"] == "active"
    said = workflows.run("task", "step", "IMPL-3", "two", "--failed").out
    assert "IMPL-3 is blocked: step two failed" in said
    assert workflows.task(folder, "IMPL-3")["status"] == "blocked"
    assert "step two failed" in holdfast("status", root=workflows.root).out
    left = workflows.complete("IMPL-3").out
    assert "these steps were left out: two (failed), three (pending)" in left


def test_forgetting_and_the_log_know_its_files(workflows: Workflows, folder: Path) -> None:
    """Generations of tasks and summaries are the session's: told with it, forgotten with it; the files stay."""
    workflows.complete("IMPL-1", "Zeisig one")
    workflows.reopen("IMPL-1")
    workflows.complete("IMPL-1", "Zeisig two")
    told = holdfast("log", "--workflow", folder.name, "--limit", "100", root=workflows.root).out
    assert ".task/IMPL-1.json" in told and "IMPL-1-summary.md" in told
    forgotten = holdfast("forget", "--workflow", folder.name, "--yes", root=workflows.root).out
    assert ".summaries/IMPL-1-summary.md" in forgotten
    project = Workspace.open(workflows.root)
    assert not [place for place in contents.paths(project) if place.startswith(".workflow/")]
    project.close()
    assert "Zeisig two" in (folder / ".summaries/IMPL-1-summary.md").read_text()


@pytest.mark.parametrize("content", ["[]", "{}", '"x"', "null", "12"])
def test_a_state_of_another_kind_is_made_anew(workflows: Workflows, folder: Path, content: str) -> None:
    """R002-10, I002-23: what it held is kept beside it, and the tasks count."""
    (folder / "workflow-session.json").write_text(content)
    workflows.repair()
    assert workflows.state(folder)["session_id"] == folder.name
    assert [path.read_text() for path in folder.glob("workflow-session.json.*")] == [content]
    workflows.begin("IMPL-1")
    assert workflows.findings() == []


@pytest.mark.parametrize("content", ["{}", None])
def test_a_completed_session_stays_so_when_its_state_is_lost(
    workflows: Workflows, folder: Path, content: str | None
) -> None:
    """I002-23: its last content is put back, and not a new one made that is open to late writers."""
    workflows.end()
    path = folder / "workflow-session.json"
    good = path.read_bytes()
    path.unlink() if content is None else path.write_text(content)
    workflows.repair()
    assert path.read_bytes() == good
    assert "is completed" in workflows.begin("IMPL-1", folder.name, code=1).err
    assert "`holdfast reopen --workflow WFS-user-auth`" in workflows.claim(folder.name, code=1).err


@pytest.mark.parametrize("context", [None, [], {"parent": None}])
def test_repairs_come_to_an_end(workflows: Workflows, folder: Path, context: object) -> None:
    """What cannot be set right is not said to be, again and again; a wrong id is for a person."""
    workflows.run("task", "decompose", "IMPL-1", "Part", "Other")
    part, other = (workflows.task(folder, f"IMPL-1.{number}") for number in (1, 2))
    workflows.put(folder, part | {"context": context})
    (folder / ".task/IMPL-1.2.json").write_text(json.dumps(other | {"id": "IMPL-7.1"}))
    workflows.repair()
    assert workflows.repair() == []
    assert workflows.task(folder, "IMPL-1.2")["context"]["parent"] == "IMPL-1"


def test_a_link_in_place_of_a_session_is_named(workflows: Workflows, folder: Path) -> None:
    """Its marker stays, for somebody may put the folder there."""
    folder.rename(workflows.top / "real")
    folder.symlink_to("real")
    assert "is a symbolic link, which is not followed" in workflows.check()
    workflows.repair()
    assert workflows.markers() == [".active-WFS-user-auth"]


def test_a_broken_task_is_one_finding(workflows: Workflows, folder: Path) -> None:
    """Its last content counts against the rules, and the remedy is the one that helps."""
    (folder / ".task/IMPL-1.json").write_text("{bad")
    (found,) = workflows.findings()
    assert found.remedy == "holdfast doctor --fix"


def test_a_missing_parent_is_set_from_the_id(workflows: Workflows, folder: Path) -> None:
    """I002-22: also where the file says null."""
    workflows.run("task", "decompose", "IMPL-1", "Part")
    part = workflows.task(folder, "IMPL-1.1")
    part["context"]["parent"] = None
    workflows.put(folder, part)
    assert "the id says IMPL-1" in workflows.check() and "--fix writes IMPL-1" in workflows.check()
    workflows.repair()
    assert workflows.task(folder, "IMPL-1.1")["context"]["parent"] == "IMPL-1"


def test_what_the_state_says_is_checked_too(workflows: Workflows, folder: Path) -> None:
    """R002-08, I002-14: values that the schema does not know, and a status that is not the marker's."""
    state = workflows.state(folder) | {"session_id": "WFS-x", "type": "epic", "current_phase": "DONE"}
    state["status"] = "ready"
    state["progress"] = {"completed_phases": "PLAN", "current_tasks": []}
    (folder / "workflow-session.json").write_text(json.dumps(state))
    fields = {each.field for each in workflows.findings() if each.field}
    assert fields == {"session_id", "type", "current_phase", "status", "progress.completed_phases"}
    assert "its status is ready; the marker counts" in workflows.check()


def test_of_two_marked_sessions_the_last_one_counts_everywhere(workflows: Workflows, folder: Path) -> None:
    """R002-05: hooks take the one that a repair keeps, and say that there are two."""
    workflows.start("Other")
    workflows.add("Design the pages")
    (workflows.top / f".active-{folder.name}").touch()
    fired = Agent(workflows.project, "IMPL-1", "code-developer").about_to()
    fired.assert_advised('Task IMPL-1 "Design the tokens" is active')
    assert workflows.task(workflows.top / "WFS-other", "IMPL-1")["status"] == "pending"
    assert "several sessions are marked" in holdfast("status", folder.name, "--json", root=workflows.root).out


def test_a_task_that_cannot_be_read_still_counts(workflows: Workflows, folder: Path) -> None:
    """By its last content; one that nobody has kept keeps the session from being all done."""
    (folder / ".task/IMPL-1.json").write_text("{bad")
    assert [each["title"] for each in workflows.json("task", "show")] == ["Design the tokens", "Build the login"]
    for number in (1, 2):
        workflows.complete(f"IMPL-{number}")
    (folder / ".task/IMPL-9.json").write_text("{bad")
    assert "2/3" in holdfast("status", root=workflows.root).out
    assert "IMPL-9.json can't be read" in workflows.complete("IMPL-9", code=1).err
    assert "a task's file can't be read" in workflows.say("done", code=1).err


def test_summaries_are_handed_on_whole(workflows: Workflows, folder: Path) -> None:
    """R002-31: in the sidecar and for the agent, and of a container all that its subtasks say."""
    workflows.run("task", "decompose", "IMPL-1", "Keys", "Claims")
    long = f"{'ES256 it is. ' * 300}LASTFACT"
    workflows.complete("IMPL-1.1", long)
    workflows.complete("IMPL-1.2", "Claims are short.")
    given = workflows.json("task", "show", "IMPL-2")["task"]["context"]["inherited"]["context"]
    assert any("LASTFACT" in each for each in given) and any("Claims are short." in each for each in given)
    prompt = holdfast("next", "--json", root=workflows.root).json["next"]["prompt"]
    assert "whole in .workflow/WFS-user-auth/.summaries/IMPL-1.1-summary.md" in prompt
    assert "LASTFACT" not in prompt
    workflows.project.fire("SessionStart", "SessionStart-startup")
    workflows.project.fire("PreCompact", "PreCompact-auto")
    workflows.project.fire("SessionStart", "SessionStart-compact").assert_advised("Claims are short.")
    (sidecar,) = (workflows.root / ".claude/holdfast").glob("*.md")
    assert "LASTFACT" in sidecar.read_text()


def test_an_edited_list_is_not_overwritten_in_silence(workflows: Workflows, folder: Path) -> None:
    """I002-30: what somebody ticked is told as it goes, and kept."""
    path = folder / "TODO_LIST.md"
    path.write_text(path.read_text().replace("- [ ] **IMPL-2**", "- [x] **IMPL-2**"))
    said = workflows.begin("IMPL-1").out
    assert "TODO_LIST.md was edited by hand (IMPL-2 is ticked, and its file says pending" in said
    assert "edited" not in workflows.block("IMPL-1").out


def test_a_state_that_is_behind_its_tasks_is_brought_in_step(workflows: Workflows, folder: Path) -> None:
    """R002-46, R002-41: as after a kill between a task's file and what follows from it."""
    workflows.put(folder, *(alone(f"IMPL-{number}") for number in range(3, 9)))
    assert "does not say what follows from its tasks" in workflows.check()
    workflows.repair()
    assert workflows.state(folder)["type"] == "medium"
    assert "does not say what follows" not in workflows.check()


def test_a_blocked_task_is_not_at_work(workflows: Workflows, folder: Path) -> None:
    """Its time does not run on, going on is another attempt, and what blocked it is no word on its completion."""
    workflows.block("IMPL-1", "no key")
    log = holdfast("log", root=workflows.root).out
    assert "task began" not in log and "task blocked" in log and "no key" in log
    workflows.begin("IMPL-1")
    workflows.complete("IMPL-1")
    (ended,) = [line for line in holdfast("log", root=workflows.root).out.splitlines() if "task completed" in line]
    assert "no key" not in ended and "attempt 2" in ended


def test_a_task_of_the_log_is_put_back(workflows: Workflows, folder: Path) -> None:
    """The message names the file; state and list follow."""
    workflows.begin("IMPL-1")
    said = holdfast("restore", "1", "--workflow", f".workflow/{folder.name}/.task/IMPL-1.json", root=workflows.root).out
    assert f".workflow/{folder.name}/.task/IMPL-1.json" in said and "0/2 tasks completed" in said
    assert workflows.task(folder, "IMPL-1")["status"] == "pending"
