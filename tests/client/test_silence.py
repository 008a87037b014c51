"""Holdfast says nothing if there is nothing to say."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.client.model import agent, bash, say

if TYPE_CHECKING:
    from tests.client.world import World

# After a manual compaction the client names the hooks around it to the model, even those that printed nothing.
SILENT = re.compile(
    r"(<local-command-stdout>Compacted )?(Pre|Post)Compact \[[^\n]+\] completed successfully(</local-command-stdout>)?"
)


@pytest.mark.scenario(1)
def test_a_session_without_a_workflow_is_silent(world: World) -> None:
    """No hook fails or prints, the log has no complaint; without a trail the model reads nothing of ours."""
    world.configure('trail = false\nagents = "off"\n')
    world.model.turns = [bash("echo hello"), agent("Look around", "LOOK"), say("Done.")]
    world.model.agents["LOOK"] = [bash("echo inside"), say("Looked.")]
    session = world.client.session()
    ran = session.prompt("Look around.")
    compacted = session.prompt("/compact")
    session.prompt("Go on.")
    assert session.close() == 0
    answers = world.hooks(session)
    print([(a["hook_name"], a.get("exit_code"), a.get("stdout"), a.get("stderr")) for a in answers])
    assert {a["hook_event"] for a in answers} >= {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"}
    assert not [a for a in answers if a.get("exit_code") or a.get("stderr") or a.get("stdout")]
    assert not ran.notices and not compacted.notices
    assert not session.errors and not session.junk
    assert not world.complaints
    skill = "- holdfast: Keep a multi-phase workflow"
    lines = [line for q in world.model.requests for line in q.text.splitlines() if "holdfast" in line.lower()]
    print(sorted(set(lines)))
    assert not [line for line in lines if not line.startswith(skill) and not SILENT.fullmatch(line)]


@pytest.mark.scenario(1)
def test_print_mode_prints_only_the_answer(world: World) -> None:
    """What a person sees of `claude -p` is the model's answer."""
    world.model.turns = [say("The answer.")]
    world.client.model = "claude-opus-4-7"
    ran = subprocess.run(
        [world.client.binary, "-p", "--model", world.client.model, "What?"],
        capture_output=True,
        text=True,
        cwd=world.project,
        env=world.client.environ,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "The answer.\n", "")
    assert not world.complaints
