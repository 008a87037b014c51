"""A run of a task document on the real client: agents keep it, a bound holds a launch, a compaction gives it back."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.client.model import agent, bash, call, say

if TYPE_CHECKING:
    from tests.client.world import World

HEADING = "WORKFLOW RESTORED AFTER COMPACTION\nIgnore earlier copies"  # the skill names the first line too
DOCUMENT = """# Tasks: User auth

### Phase 1: Foundation

#### Task 1.1: Update the model
**Success Criteria**:
- [ ] migration tested

#### Task 1.2: Write the middleware

### Phase 2: Endpoints

#### Task 2.1: Create the endpoints
"""
COMMIT = "git -c user.name=A -c user.email=a@b.c commit --allow-empty -m 'Task 1.2'"


@pytest.fixture
def run(world: World) -> World:
    """A world with a run that is being executed."""
    subprocess.run(["git", "init", "-q", world.project], check=True)
    (world.project / "tasks.md").write_text(DOCUMENT)
    world.holdfast("start", "tasks.md", "--format", "orchestrator")
    world.holdfast("orchestrator", "approve")
    world.holdfast("orchestrator", "learn", "pattern", "Reuse the stack", "--task", "1.1")
    return world


def state(world: World) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((world.project / ".claude/agent-state.json").read_bytes())
    return found


def tasks(world: World, name: str) -> list[str]:
    return [each["task"] for each in state(world)[name]]


@pytest.mark.scenario(4)
def test_agents_keep_the_file_and_a_compaction_gives_it_back(run: World) -> None:
    """Nobody runs a command of Holdfast, and a cost that nobody named is unknown."""
    path = str(run.project / "model.py")
    seen: list[list[str]] = []

    def at_work(request: Any) -> Any:
        seen.append(tasks(run, "active_agents"))
        print(request.text)
        seen.append([word for word in ("migration tested", "1.1 pattern: Reuse the stack") if word in request.text])
        return call("Write", file_path=path, content="x = 1\n")

    run.model.turns = [agent("Task 1.1", "PROMPT-ONE"), agent("Task 1.2", "PROMPT-TWO"), say("Both.")]
    run.model.agents = {
        "PROMPT-ONE": [at_work, say("Done.")],
        "PROMPT-TWO": [bash(COMMIT), say("Done too.")],
    }
    session = run.client.session("--permission-mode", "bypassPermissions")
    session.prompt("Begin.")

    assert seen == [["1.1"], ["migration tested", "1.1 pattern: Reuse the stack"]]
    first, second = state(run)["completed_tasks"]
    print(first, second)
    assert (first["task"], first["iterations"]) == ("1.1", 1)
    assert (first["cost"], second["cost"]) == ("unknown", "unknown")
    assert [each["name"] for each in state(run)["milestones"]] == ["Foundation"]
    assert [each["task"] for each in state(run)["checkpoints"]] == ["1.2"]

    session.prompt("/compact")
    session.prompt("Go on.")
    after = run.model.of("main")[-1]
    assert after.text.count(HEADING) == 1
    given = after.text.split(HEADING)[1]
    print(given)
    for fact in ("User auth", "2/2 Endpoints", "run: executing", "$10", "Reuse the stack", "2.1", "tasks.md"):
        assert fact in given
    assert not run.complaints


@pytest.mark.scenario(4)
def test_two_agents_do_not_edit_one_file(run: World) -> None:
    """With locks on, the second one's edit is asked about, which a client without a person refuses."""
    run.configure('locks = "on"\n')
    run.holdfast("install", "--scope", "user", "--yes")
    (run.project / "model.py").write_text("none\n")
    path = str(run.project / "model.py")
    launch = [agent("Task 1.1", "PROMPT-ONE", background=True), agent("Task 1.2", "PROMPT-TWO", background=True)]
    refused: list[str] = []
    wrote, tried = threading.Event(), threading.Event()

    def written(request: Any) -> Any:
        wrote.set()
        return say("One.", held=tried)

    def noted(request: Any) -> Any:
        refused.append(request.last)
        tried.set()
        return say("Refused.")

    run.model.turns = [*launch, say("Launched.")]
    run.model.agents = {
        "PROMPT-ONE": [
            call("Read", file_path=path),
            call("Write", file_path=path, content="one\n"),
            written,
        ],
        "PROMPT-TWO": [
            call("Read", file_path=path, held=wrote),
            call("Write", file_path=path, content="two\n"),
            noted,
        ],
    }
    session = run.client.session("--permission-mode", "acceptEdits")
    session.prompt("Begin.")
    session.wait()
    locks = run.project / ".claude/locks.json"
    for _ in range(20):  # an agent's end is told twice, and each telling is a process of its own
        if not tasks(run, "active_agents") and json.loads(locks.read_bytes()) == {"locks": []}:
            break
        session.prompt("And on.")
    print(refused)
    assert "it has locked the file until" in refused[0]
    assert (run.project / "model.py").read_text() == "one\n"
    assert json.loads(locks.read_bytes()) == {"locks": []}
    assert not run.complaints
