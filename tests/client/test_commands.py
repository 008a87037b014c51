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


FOR_PEOPLE = (
    "holdfast handlers trust --yes",
    "holdfast install --yes",
    "holdfast uninstall",
    "holdfast doctor --fix",
    "holdfast restore Login",
    "holdfast forget --everything --yes",
    "holdfast config",
    "holdfast reopen Design",
    "holdfast status; holdfast forget --everything --yes",
)


@pytest.mark.scenario(3)
def test_the_client_asks_before_it_runs_what_is_for_people(world: World) -> None:
    """In the default permission mode, no rule that `install` added covers any of them, also behind an allowed one."""
    settings = world.settings.read_text()
    world.model.turns = [*map(bash, FOR_PEOPLE), say("Done.")]
    world.client.session().prompt("Begin.")
    results = dict(zip(FOR_PEOPLE, [_only(q) for q in world.model.of("main")[1:]], strict=True))
    assert [command for command, text in results.items() if "approval" not in text] == []
    assert world.settings.read_text() == settings


@pytest.mark.scenario(3)
@pytest.mark.parametrize("answer", ["--yes", "--no-allow"])
def test_a_workflow_is_started_from_inside_and_survives(bare: World, answer: str) -> None:
    """The README's path works with default permissions, whatever was answered at `holdfast install`."""
    bare.holdfast("install", answer)
    bare.model.turns = [bash('holdfast start "Login" --phase Design --phase Build'), say("Started.")]
    session = bare.client.session()
    session.prompt("/holdfast start a workflow for login")
    first, second = bare.model.of("main")
    assert "# Workflow State Protocol" in first.text
    assert "start a workflow for login" in first.text
    assert "Started" in _only(second)
    session.prompt("/compact")
    session.prompt("Go on.")
    assert "WORKFLOW RESTORED AFTER COMPACTION" in bare.model.of("main")[-1].text
    assert bare.holdfast("status").startswith("Safe: Login 1/2 Design, ")
    assert not bare.complaints
