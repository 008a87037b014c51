"""Runs of skills on the real client: slash commands, commits, compactions, a blocked run, and agents of tasks."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.client.model import bash, say

if TYPE_CHECKING:
    from tests.client.world import World

HEADING = "WORKFLOW RESTORED AFTER COMPACTION\nIgnore earlier copies"  # the skill names the first line too
FEATURE = "features/login.md"
REASON = "Waiting for the API key"


@pytest.fixture
def begun(world: World) -> World:
    """A project under git with a run of /dev in RED of its first task, and the client's own command of that name."""
    for name, text in (
        (FEATURE, "# User login\n\n- [ ] Add model\n- [ ] Add login\n"),
        (".claude/commands/dev.md", "Develop the feature $ARGUMENTS.\n"),
        (".claude/settings.json", '{"permissions": {"allow": ["Bash(git commit:*)"]}}\n'),
    ):
        path = world.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in ("init -q -b main", "config user.name A", "config user.email a@b.c", "add .", "commit -q -m Begin"):
        subprocess.run(["git", *command.split()], cwd=world.project, check=True)
    world.holdfast("skills", "start", "dev", FEATURE)
    world.holdfast("skills", "phase", "create_branch")
    world.holdfast("skills", "task", "1", "--start")
    world.holdfast("skills", "tdd", "red", "--reason", "no model")
    return world


def state(world: World) -> dict[str, Any]:
    (path,) = (world.project / ".claude/workflow-state/active").glob("*.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def commits(world: World) -> list[str]:
    """Return what git was told of each commit, the first one first."""
    told = ["git", "log", "--reverse", "--format=%s"]
    return subprocess.run(told, cwd=world.project, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.scenario(2)
def test_a_slash_command_and_a_compaction(begun: World) -> None:
    """The command brings the run, a commit completes nothing, and the compaction loses nothing."""
    begun.model.turns = [
        say("I see."),
        bash("git commit --allow-empty -m 'Add the model'"),
        say("Committed."),
        say("One."),
        say("Two."),
        say("Three."),
        say("Four."),
    ]
    session = begun.client.session()
    session.prompt(f"/dev {FEATURE}")
    assert "Resuming task 1/2, currently in RED phase" in begun.model.of("main")[0].text

    session.prompt("Commit it.")
    session.prompt("What next?")
    session.prompt("And then?")
    assert state(begun)["tasks"][0]["status"] == "in_progress"

    session.prompt("/compact")
    session.prompt("Go on.")
    after = begun.model.of("main")[-1]
    restored = after.text[after.text.index(HEADING) :]
    assert "Resuming task 1/2, currently in RED phase" in restored
    assert not begun.complaints


@pytest.mark.scenario(2)
def test_a_blocked_run_stays_blocked_through_a_compaction(begun: World) -> None:
    """The session gets it back with the reason, and nothing it does unblocks it; the person does."""
    begun.holdfast("update", "--status", "blocked", "--error", REASON)
    begun.model.turns = [say("I see."), bash("git commit --allow-empty -m 'Add the model'"), say("Two."), say("Three.")]
    session = begun.client.session()
    session.prompt(f"/dev {FEATURE}")
    assert REASON in begun.model.of("main")[0].text
    session.prompt("Commit it.")
    session.prompt("And then?")

    session.prompt("/compact")
    session.prompt("Go on.")
    after = begun.model.of("main")[-1].text
    restored = after[after.index(HEADING) :]
    assert "Add model (blocked)" in restored
    assert REASON in restored
    assert state(begun)["workflow"] | {"status": "blocked", "block_reason": REASON} == state(begun)["workflow"]
    events = [each["event"] for each in state(begun)["history"]]
    assert events.count("context_compacted") == 1
    assert commits(begun) == ["Begin", "Add the model"]

    begun.holdfast("update", "--status", "active")
    assert state(begun)["workflow"]["status"] == "in_progress"
    assert not begun.complaints
