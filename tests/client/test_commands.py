"""The model's own Bash runs the command line without asking the user."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.client.model import Request, bash, say

if TYPE_CHECKING:
    from tests.client.world import World


@pytest.mark.scenario(3)
def test_bash_reaches_the_command(world: World) -> None:
    """In the default permission mode the env file, the PATH and the allow rules carry every call the skill names."""
    commands = [
        'holdfast start "From the model" --phase Design --phase Build --set ticket=42',
        "holdfast next",
        "holdfast status --json",
        "holdfast done --note 'built on sand'",
        "holdfast update --remind 'Be kind'",
        "holdfast status",
        "holdfast status --why",
        "holdfast status",
        "holdfast next && echo chained",
        "printenv HOLDFAST_PROJECT_DIR",
        "command -v holdfast",
        "cd docs",
        "holdfast next  # in docs",
    ]
    (world.project / "docs").mkdir()
    world.model.turns = [*map(bash, commands), say("Done.")]
    world.client.session("--allowedTools", "Bash(printenv:*)", "Bash(command:*)").prompt("Begin.")
    said = dict(zip(commands, [_only(q) for q in world.model.of("main")[1:]], strict=True))
    print(json.dumps(said, indent=1, ensure_ascii=False))
    assert not [command for command, text in said.items() if "approval" in text or "not found" in text]
    assert json.JSONDecoder().raw_decode(said["holdfast status --json"])[0]["current"]["title"] == "From the model"
    assert "Build" in said["holdfast next  # in docs"]
    assert said["printenv HOLDFAST_PROJECT_DIR"].splitlines()[0] == str(world.project)
    assert said["command -v holdfast"].splitlines()[0] == str(world.client.home / ".local/share/holdfast/bin/holdfast")
    assert world.owners == {world.client.sessions[0].id}
    assert not world.complaints


def _only(request: Request) -> str:
    (text,) = request.results().values()
    return text
