"""Recording is off by default, misses no event, and doesn't interfere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import events
from holdfast.clients.claude import claude
from holdfast.plugins import discovery
from holdfast.sessions import recordings
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from tests.client_output import assert_acceptable
from tests.handmade import ME
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

OFF = sorted(
    ["keep_registered", "require_reading", "restore_workflow", "save_workflow", "sync_todos", "track_agents"]
)  # so that only the recorder answers


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project in which only the recorder runs."""
    project = holdfast_project(
        {".claude/holdfast.toml": f'[handlers]\noff = {json.dumps(OFF)}\non = ["record_events"]\n'}
    )
    project.trust()
    return project


def written(project: HoldfastProject, session: str = ME) -> list[dict[str, Any]]:
    """Return the payloads recorded of a session."""
    place = recordings.folder(Workspace.open(project.root)) / f"{session}.jsonl"
    return [json.loads(line)["payload"] for line in place.read_text().splitlines()]


def test_it_is_off_by_default(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Nobody's events are recorded unasked."""
    project = holdfast_project({})
    project.fire("UserPromptSubmit", "UserPromptSubmit").assert_silent(
        "require_reading", "restore_workflow", "sync_todos", "track_agents"
    )

    assert not recordings.folder(Workspace.open(project.root)).exists()
    (file,) = [each for each in discovery.find(claude, Workspace.open(project.root)) if each.name == "record_events"]
    assert file.off


def test_a_project_nobody_trusts_cannot_switch_it_on(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """A cloned repository's configuration must not have sessions recorded."""
    project = holdfast_project({".claude/holdfast.toml": '[handlers]\non = ["record_events"]\n'})
    project.fire("UserPromptSubmit", "UserPromptSubmit")

    assert not recordings.folder(Workspace.open(project.root)).exists()


def test_it_answers_every_event_but_those_of_worktrees(project: HoldfastProject) -> None:
    """A hook on them is taken for what makes and removes worktrees; all 31 others are recorded."""
    (file,) = [each for each in discovery.find(claude, Workspace.open(project.root)) if each.name == "record_events"]

    assert [route.event for route in file.routes if route.match is None] == [route.event for route in file.routes]
    assert {route.event for route in file.routes} == set(events.EVENTS) - {"WorktreeCreate", "WorktreeRemove"}


@each_row("name", [name for name in recorded.names() if not name.startswith("Worktree")])
def test_every_event_is_recorded_as_it_came(project: HoldfastProject, name: str) -> None:
    """What is recorded can be replayed: the client's own keys and values, and nothing is said."""
    project.trust()  # also in this row's home
    payload = recorded.load(name, session_id=f"session-of-{name}")

    fired = project.send(payload)

    fired.assert_silent("record_events")
    assert_acceptable(payload["hook_event_name"], fired.stdout)
    assert written(project, payload["session_id"]) == [payload]


def test_secrets_are_redacted(project: HoldfastProject) -> None:
    """From the first day."""
    project.fire(
        "PreToolUse", "PreToolUse-Bash", tool_input={"command": "curl -H 'Authorization: Bearer abcd1234efgh5678'"}
    )

    assert "abcd1234efgh5678" not in json.dumps(written(project))
