"""Sessions with hierarchical tasks on the real client: agents, compactions and the model's own edits move them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.client.model import agent, bash, call, say

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.client.model import Reply, Request
    from tests.client.world import World

HEADING = "WORKFLOW RESTORED AFTER COMPACTION\nIgnore earlier copies"  # the skill names the first line too
REPORT = "The schema is designed: users and tokens, joined by user_id."


@pytest.fixture
def folder(world: World) -> Path:
    """The folder of a session: a schema first, then login and logout beside each other."""
    (world.project / "src").mkdir()
    world.holdfast("start", "User Auth", "--format", "wfs")
    world.holdfast("wfs", "task", "add", "Build authentication", "--focus", "src")
    parts = ("Design schema", "Implement login", "Implement logout")
    for title in parts:
        after = () if title == parts[0] else ("--after", "IMPL-1.1")
        world.holdfast("wfs", "task", "add", title, "--parent", "IMPL-1", "--accept", f"{title} is tested", *after)
    return world.project / ".workflow/WFS-user-auth"


def by_id(path: Path) -> str:
    """Sort a container before its subtasks."""
    return path.stem


def statuses(folder: Path) -> list[str]:
    """Return the statuses that the task files say, in their order."""
    return [json.loads(path.read_text())["status"] for path in sorted((folder / ".task").iterdir(), key=by_id)]


def ticks(folder: Path) -> list[str]:
    """Return the marks of the generated list's leaves."""
    lines = (folder / "TODO_LIST.md").read_text().split("## Status Legend")[0].splitlines()
    return [line.strip()[:5] for line in lines if line.strip().startswith("- [")]


def noted(seen: list[Any], folder: Path, reply: Reply) -> Callable[[Request], Reply]:
    """Return a turn that notes the statuses as the request for it comes."""

    def turn(request: Request) -> Reply:
        seen.append((request.kind, statuses(folder)))
        return reply

    return turn


@pytest.mark.scenario(4)
def test_agents_and_a_compaction(world: World, folder: Path) -> None:
    """An agent completes its task with a summary; what that frees is named, now and after a compaction."""
    seen: list[Any] = []
    world.model.turns = [agent("IMPL-1.1", "PROMPT-ONE"), say("One."), say("Two.")]
    world.model.agents = {"PROMPT-ONE": [noted(seen, folder, bash("true")), noted(seen, folder, say(REPORT))]}
    session = world.client.session()
    session.prompt("Begin.")
    assert seen == [("agent", ["container", "active", "pending", "pending"])] * 2
    assert statuses(folder) == ["container", "completed", "pending", "pending"]
    assert REPORT in (folder / ".summaries/IMPL-1.1-summary.md").read_text()
    assert ticks(folder) == ["- [x]", "- [ ]", "- [ ]"]
    state = json.loads((folder / "workflow-session.json").read_text())
    assert (state["current_phase"], state["progress"]["current_tasks"]) == ("IMPLEMENT", ["IMPL-1.2"])
    told = world.model.of("main")[1]
    print(told.last)
    assert "IMPL-1.2" in told.last and "IMPL-1.3" in told.last
    session.prompt("Work.")
    session.prompt("/compact")
    session.prompt("Go on.")
    after = world.model.of("main")[-1]
    print(after.text)
    assert after.text.count(HEADING) == 1
    given = after.text.split(HEADING)[1]
    for fact in ("User Auth", "IMPL-1.2", "Implement login is tested", "users and tokens", "src"):
        assert fact in given
    assert not world.complaints


@pytest.mark.scenario(4)
def test_edit_of_a_task_file_updates_state_and_list(world: World, folder: Path) -> None:
    """Its Edit of a task's file brings state and list in step at once."""
    path = str(folder / ".task/IMPL-1.1.json")
    edit = call("Edit", file_path=path, old_string='"status": "pending"', new_string='"status": "completed"')
    world.model.turns = [call("Read", file_path=path), edit, say("Done.")]
    session = world.client.session("--permission-mode", "acceptEdits")
    session.prompt("Begin.")
    assert statuses(folder) == ["container", "completed", "pending", "pending"]
    assert ticks(folder) == ["- [x]", "- [ ]", "- [ ]"]
    state = json.loads((folder / "workflow-session.json").read_text())
    assert state["progress"]["current_tasks"] == ["IMPL-1.2"]
    assert not world.complaints
