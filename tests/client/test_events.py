"""A session of a project that installed Holdfast for its whole team: every event comes, and nothing else happens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.client.model import agent, say

if TYPE_CHECKING:
    from tests.client.world import World

RECORD = '[handlers]\non = ["record_events"]\n'
ORDER = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"]


def recorded(world: World) -> list[str]:
    """Return the names of the events that Holdfast itself got, in order."""
    files = (world.client.home / ".local/state/holdfast").rglob("*.jsonl")
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [line["payload"]["hook_event_name"] for line in sorted(lines, key=lambda line: str(line["at"]))]


@pytest.mark.scenario(1)
def test_a_session_of_an_installed_project(bare: World) -> None:
    """`install --scope project` registers; start, prompt, tool, stop and end arrive in order; nothing is printed."""
    (bare.project / ".claude").mkdir()
    settings = bare.client.home / ".config/holdfast/holdfast.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(RECORD)
    bare.holdfast("install", "--scope", "project")
    assert (bare.project / ".claude/settings.json").exists() and not bare.settings.exists()
    bare.model.turns = [agent("Look around", "LOOK"), say("Done.")]
    bare.model.agents["LOOK"] = [say("Looked.")]
    session = bare.client.session()
    ran = session.prompt("Begin.")
    assert session.close() == 0
    print(recorded(bare))
    assert [name for name in recorded(bare) if name in ORDER] == ORDER
    answers = bare.hooks(session)
    assert not [a for a in answers if a.get("exit_code") or a.get("stderr") or a.get("stdout")]
    assert not ran.notices and not session.errors and not session.junk
    assert not bare.complaints
