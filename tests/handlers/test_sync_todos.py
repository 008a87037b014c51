"""To-dos follow the workflow: the model is told once, a TodoWrite is corrected, nothing else is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from holdfast.formats.hybrid import functions
from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.sessions import conversations, owners, progress
from holdfast.sessions.workspace import Workspace
from tests.client_output import assert_acceptable, unfenced
from tests.handmade import ME, OTHER
from tests.signals import Agent

if TYPE_CHECKING:
    from holdfast.testing import Fired
    from tests.handlers.conftest import Tool

LIST = "in your to-do list"
FIRST, SECOND, THIRD = "Create calculator module", "Write and run tests", "Document the module"


def prompt(tool: Tool, **changes: Any) -> Fired:
    """Let the main thread have an event."""
    return tool.project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="go on", **changes)


def write(tool: Tool, *todos: object, **changes: Any) -> Fired:
    """Let the model write a to-do list."""
    return tool.project.fire("PreToolUse", "PreToolUse-TodoWrite", tool_input={"todos": list(todos)}, **changes)


def todo(content: str, status: str, **more: object) -> dict[str, object]:
    return {"content": content, "status": status, "activeForm": f"Working on {content}", **more}


def test_a_list_that_changed_outside_is_told_at_the_next_event(tool: Tool) -> None:
    """A phase that a person completes on the command line reaches the model's list, too."""
    Agent(tool.project).about_to()
    functions.update_phase_status(tool.id, "phase_0", "completed", root=tool.project.root)

    prompt(tool).assert_advised(LIST, f"[x] {FIRST}: completed", "Next:", SECOND)
    prompt(tool).assert_silent("sync_todos")


def test_what_comes_next_is_not_started_twice(tool: Tool) -> None:
    """Two agents in the background: when the first one ends, the second one's phase begins, and it runs already."""
    first, second = Agent(tool.project), Agent(tool.project, SECOND, "tester", number=2)
    for agent in (first, second):
        agent.about_to()
        agent.launched()

    fired = first.notified()

    assert tool.statuses == ["completed", "active", "pending"]
    fired.assert_advised("Next: phase 2/3", second.run, "running")
    assert "Agent call:" not in fired.context


def test_advice_that_was_not_delivered_is_told_again(tool: Tool) -> None:
    """What the client's limit left out has not been said."""
    hog = """
        from holdfast import advise, hookimpl

        @hookimpl
        def on_post_tool_use(event):
            return advise("\\n".join(f"line {number} " + "x" * 80 for number in range(200)), must_keep=True)
    """
    agent = Agent(tool.project)
    agent.about_to()
    tool.project.write({".claude/handlers/hog.py": "\n".join(line[8:] for line in hog.splitlines())})
    tool.project.trust()

    assert f"[>] {SECOND}" not in agent.returned().context
    prompt(tool).assert_advised(f"[>] {SECOND}")
    prompt(tool).assert_silent("sync_todos")


def test_only_the_status_of_phases_is_corrected(tool: Tool) -> None:
    """All other items, all other keys and the order stay; what was done is said."""
    Agent(tool.project).about_to()
    given = [
        todo("Buy milk", "in_progress", id="7", priority="high"),
        todo(SECOND, "completed", note=["kept"]),
        "not an item",
        todo(FIRST, "pending"),
        {"content": f"{FIRST} quickly", "status": "completed"},
        {"content": None, "status": 5},
        todo(THIRD, "pending"),
    ]

    asked = {"todos": given, "newer_option": True}
    fired = tool.project.fire("PreToolUse", "PreToolUse-TodoWrite", tool_input=asked)

    expected = [*given]
    expected[1] = todo(SECOND, "pending", note=["kept"])
    expected[3] = todo(FIRST, "in_progress")
    assert fired.specific["updatedInput"] == {"todos": expected, "newer_option": True}
    fired.assert_advised(f"- {SECOND}\n- {FIRST}\n")
    assert "Buy milk" not in fired.context
    assert "permissionDecision" not in fired.specific
    assert_acceptable("PreToolUse", fired.stdout)


def test_no_text_of_a_workflow_or_an_agent_stands_outside_a_fence(tool: Tool) -> None:
    """From the first launch to the compaction, whatever is moved, corrected, hinted at or disputed."""
    state = tool.state | {"task": "EVIL work"}
    for phase in state["phases"]:
        phase |= {"title": f"EVIL {phase['title']}", "agent": f"evil-{phase['agent']}", "description": "EVIL"}
    tool.project.write({".claude/state/workflow.json": state})
    report = "DELIVERABLES: EVIL.py\nCONTEXT_FOR_NEXT: EVIL"
    helper = Agent(tool.project, "look around", "Explore", number=9)
    first, second = (
        Agent(tool.project, f"EVIL {title}", f"evil-{kind}", number=number)
        for number, (title, kind) in enumerate([(FIRST, "builder"), (SECOND, "tester")])
    )

    fired = [helper.about_to(), helper.returned(report), first.about_to()]
    fired += [write(tool, todo(f"EVIL {FIRST}", "completed")), first.returned(report), first.died("EVIL")]
    fired += [first.notified("failed", "EVIL"), second.about_to(), second.failed("EVIL"), prompt(tool)]
    said = [each.context for each in fired] + [tool.project.fire("PreCompact").stdout]

    hint, corrected, disputed = "No phase moved", "set the status of these", "stays completed"
    for words in (hint, corrected, disputed, "is completed; deliverables: EVIL.py", "is failed (EVIL)", "Next: retry"):
        assert any(words in text for text in said), words
    assert "EVIL" in said[-1]
    for text in said:
        assert "evil" not in unfenced(text).casefold(), text


def test_a_list_that_agrees_is_left_alone(tool: Tool) -> None:
    """A list the model wrote as it should be is neither changed nor told again."""
    agent = Agent(tool.project)
    agent.about_to()
    functions.update_phase_status(tool.id, "phase_0", "completed", root=tool.project.root)

    write(tool, todo(FIRST, "completed"), todo(SECOND, "in_progress"), todo(THIRD, "pending")).assert_silent(
        "sync_todos"
    )

    prompt(tool).assert_silent("sync_todos")


def test_task_ids_are_remembered_and_used(tool: Tool) -> None:
    """TaskCreate gives ids, TaskUpdate changes subjects; the list then names them, but none that was deleted.

    Each session counts its tasks from 1, so another one's of the same id is another task.
    """
    for id_, subject in (("41", FIRST), ("42", "Tests"), ("43", "Buy milk"), ("44", THIRD)):
        response = {"task": {"id": id_, "subject": subject}}
        tool.project.fire("PostToolUse", "PostToolUse-TaskCreate", tool_response=response).assert_silent("sync_todos")
    for update in ({"taskId": "42", "subject": SECOND}, {"taskId": "44", "status": "deleted"}):
        fired = tool.project.fire("PostToolUse", "PostToolUse-TaskUpdate-completed", tool_input=update)
        fired.assert_silent("sync_todos")
    deleted = {"taskId": "41", "status": "deleted"}
    tool.project.fire("PostToolUse", "PostToolUse-TaskUpdate-completed", tool_input=deleted, session_id=OTHER)

    fired = Agent(tool.project).about_to()

    fired.assert_advised(f"{FIRST}: in_progress (task #41)", f"{SECOND}: pending (task #42)")
    assert f"{THIRD}: pending (task" not in fired.context
    assert "#43" not in fired.context


@pytest.mark.parametrize("response", [None, "Task #1 created", {}, {"task": None}, {"task": {"id": "1"}}, {"task": []}])
def test_a_task_that_cannot_be_read_is_not_remembered(tool: Tool, response: object) -> None:
    """Tolerant of whatever a client's TaskCreate returns."""
    tool.project.fire("PostToolUse", "PostToolUse-TaskCreate", tool_response=response).assert_silent("sync_todos")

    assert progress.task_ids(Workspace.open(tool.project.root), ME) == {}


def test_subagents_have_lists_of_their_own(tool: Tool) -> None:
    """Never inside subagents: nothing is corrected, told or remembered there."""
    Agent(tool.project).about_to()
    inside: dict[str, Any] = {"agent_id": "a1", "agent_type": "builder"}

    write(tool, todo(FIRST, "completed"), **inside).assert_silent("sync_todos")
    response = {"task": {"id": "41", "subject": FIRST}}
    tool.project.fire("PostToolUse", "PostToolUse-TaskCreate", tool_response=response, **inside).assert_silent(
        "sync_todos"
    )

    assert progress.task_ids(Workspace.open(tool.project.root), ME) == {}


def test_another_live_session_is_not_told_and_not_corrected(tool: Tool) -> None:
    """The workflow of one session is no other's to-do list."""
    project = Workspace.open(tool.project.root)
    workflow = hybrid.find(project).workflows[0]
    owners.own(project, workflow, ME)
    conversations.note_event(project, ME)
    Agent(tool.project).about_to()

    theirs: dict[str, Any] = {"session_id": OTHER}
    write(tool, todo(FIRST, "completed"), **theirs).assert_silent("sync_todos")
    Agent(tool.project, number=9, session=OTHER).about_to().assert_silent("sync_todos")
    Agent(tool.project, number=9, session=OTHER).returned().assert_silent("sync_todos")
    prompt(tool, **theirs).assert_silent("sync_todos")

    assert tool.statuses == ["active", "pending", "pending"]
