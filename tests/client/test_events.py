"""A session of a project that installed Holdfast for its team: every event comes, and nothing else happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.model import agent, say

if TYPE_CHECKING:
    from tests.client.world import World

RECORD = '[handlers]\non = ["record_events"]\n'
ORDER = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"]
AROUND = {"SessionStart", "UserPromptSubmit", "PreCompact", "SubagentStop", "PostCompact", "SessionEnd"}


@pytest.fixture
def recording(bare: World) -> World:
    """A world whose user has all events recorded that Holdfast gets; it is not installed yet."""
    settings = bare.client.home / ".config/holdfast/holdfast.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(RECORD)
    return bare


@pytest.mark.scenario(1)
def test_a_session_of_an_installed_project(recording: World) -> None:
    """`install --scope project` registers; start, prompt, tool, stop and end arrive in order; nothing is printed."""
    bare = recording
    (bare.project / ".claude").mkdir()
    bare.holdfast("install", "--scope", "project")
    assert (bare.project / ".claude/settings.json").exists() and not bare.settings.exists()
    bare.model.turns = [agent("Look around", "LOOK"), say("Done.")]
    bare.model.agents["LOOK"] = [say("Looked.")]
    session = bare.client.session()
    ran = session.prompt("Begin.")
    assert session.close() == 0
    print(bare.recorded)
    assert [name for name in bare.recorded if name in ORDER] == ORDER
    answers = bare.hooks(session)
    assert not [a for a in answers if a.get("exit_code") or a.get("stderr") or a.get("stdout")]
    assert not ran.notices and not session.errors and not session.junk
    assert not bare.complaints


@pytest.mark.scenario(2)
def test_the_events_of_a_compaction(recording: World) -> None:
    """They arrive in order between the prompts, also those that the client's stream does not show."""
    recording.holdfast("install", "--scope", "user")  # with the user's handlers, which want them all
    session = recording.client.session()
    for prompt in ("Begin.", "Work.", "/compact", "Go on."):
        session.prompt(prompt)
    assert session.close() == 0
    print(recording.recorded)
    assert [name for name in recording.recorded if name in AROUND] == [
        *("SessionStart", "UserPromptSubmit", "UserPromptSubmit"),
        *("PreCompact", "SubagentStop", "SessionStart", "PostCompact"),
        *("UserPromptSubmit", "SessionEnd"),
    ]
    assert not recording.complaints
