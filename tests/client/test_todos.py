"""The client's to-do tools and the workflow's phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.model import call, say

if TYPE_CHECKING:
    from tests.client.world import World


def _start(world: World) -> None:
    world.holdfast(
        "start", "Work", "--format", "hybrid", "--phase", "Design @general-purpose", "--phase", "Build @general-purpose"
    )
    world.holdfast("next")


@pytest.mark.scenario(5)
def test_todowrite_is_corrected(world: World) -> None:
    """A list that contradicts the workflow is written with the phases' statuses, and the model is told."""
    _start(world)
    world.client.extra = {"CLAUDE_CODE_ENABLE_TASKS": "0", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"}
    todos = [
        {"content": "Design", "status": "completed", "activeForm": "Designing"},
        {"content": "Build", "status": "in_progress", "activeForm": "Building"},
        {"content": "Buy milk", "status": "pending", "activeForm": "Buying milk"},
    ]
    world.model.turns = [
        call("ToolSearch", query="select:TodoWrite", max_results=1),
        call("TodoWrite", todos=todos),
        say("Done."),
    ]
    session = world.client.session()
    session.prompt("Begin.")
    request = world.model.of("main")[-1]
    written = [line for line in session.lines if "newTodos" in str(line.get("tool_use_result", ""))]
    print(request.last, written)
    new = written[-1]["tool_use_result"]["newTodos"]
    assert [todo["status"] for todo in new] == ["in_progress", "pending", "pending"]
    assert [todo["activeForm"] for todo in new] == ["Designing", "Building", "Buying milk"]
    assert "Holdfast set the status of these to-dos to their phase's status" in request.last
    assert "- Design\n- Build\n" in request.last
    assert not world.complaints


@pytest.mark.scenario(5)
def test_task_ids_are_remembered(world: World) -> None:
    """The ids TaskCreate gave stand in the next list."""
    _start(world)
    world.model.turns = [
        call("ToolSearch", query="select:TaskCreate,TaskUpdate,TaskList", max_results=5),
        call("TaskCreate", subject="Design", description="d"),
        call("TaskCreate", subject="Build", description="b"),
        call("TaskCreate", subject="Buy milk", description="m"),
        call("TaskUpdate", taskId="1", status="in_progress"),
        call("TaskUpdate", taskId="3", subject="Buy oat milk", status="completed"),
        call("TaskUpdate", taskId="99", status="completed"),
        call("Agent", description="Design", prompt="PROMPT", subagent_type="general-purpose", run_in_background=False),
        say("Done."),
    ]
    world.model.agents = {"PROMPT": [say("DELIVERABLES: design.md")]}
    session = world.client.session()
    session.prompt("Begin.")
    tasks = {row["task_id"]: row["subject"] for row in world.rows("todo_tasks")}
    print(tasks, world.model.of("main")[-1].last)
    assert tasks == {"1": "Design", "2": "Build", "3": "Buy oat milk"}
    assert "[x] Design: completed (task #1)" in world.model.of("main")[-1].last
    assert "(task #2)" in world.model.of("main")[-1].last
    assert not world.complaints
