"""A session whose turn takes hours stays live, so another session gets nothing of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from holdfast import clock
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject

SIGNS: dict[str, Callable[[HoldfastProject], object]] = {
    "a file read": lambda project: project.fire("PostToolUse", "PostToolUse-Read", session_id=ME),
    "a file read by an agent": lambda project: project.fire(
        "PostToolUse", "PostToolUse-Read", session_id=ME, agent_id="a1", agent_type="builder"
    ),
    "a to-do list": lambda project: project.fire("PreToolUse", "PreToolUse-TodoWrite", session_id=ME),
    "a task": lambda project: project.fire("PostToolUse", "PostToolUse-TaskCreate", session_id=ME),
    "an agent that is launched": lambda project: Agent(project, session=ME).about_to(session_id=ME),
    "an agent that starts": lambda project: Agent(project, session=ME).started(),
    "an agent that stops": lambda project: Agent(project, session=ME).stopped(),
    "an agent that returns": lambda project: Agent(project, session=ME).returned(session_id=ME),
}


@pytest.fixture
def project(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], HoldfastProject]:
    """A project in which ME works on a workflow since nine; gives a function that sets the time."""
    made = holdfast_project({})

    def at(time: str) -> HoldfastProject:
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}Z")
        return made

    at("09:00:00").fire("SessionStart", "SessionStart-startup-tui", session_id=ME)
    holdfast("start", "Calculator", "--phase", "Build it", root=made.root, session=ME)
    return at


def other_compacts(project: HoldfastProject) -> str:
    """Return what another session is told after its compaction."""
    project.fire("PreCompact", "PreCompact-auto", session_id=OTHER)
    fired = project.fire("SessionStart", "SessionStart-compact", session_id=OTHER)
    assert fired.faults == []
    return fired.context


@pytest.mark.parametrize("sign", SIGNS)
def test_any_event_shows_that_a_session_lives(project: Callable[[str], HoldfastProject], sign: str) -> None:
    """The last prompt was an hour and a half ago, the event forty minutes."""
    SIGNS[sign](project("09:50:00"))
    assert "Calculator" not in other_compacts(project("10:30:00"))


def test_of_a_long_turn_an_event_is_written_down_every_five_minutes(project: Callable[[str], HoldfastProject]) -> None:
    """Each write waits for the ledger's lock."""
    for time, seen in (("09:04:59", "09:00:00"), ("09:05:01", "09:05:01"), ("09:09:00", "09:05:01")):
        made = project(time)
        made.fire("PostToolUse", "PostToolUse-Read", session_id=ME)
        (row,) = holdfast("status", "--json", root=made.root).json["sessions"]
        assert row["last_seen"][11:19] == seen


def test_a_transcript_that_is_written_shows_it_too(
    project: Callable[[str], HoldfastProject], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of most tools no event reaches us; of one that was written an hour ago or is to be written nothing is known."""
    transcript = tmp_path / "me.jsonl"
    transcript.touch()
    at = project("09:00:00")
    at.fire("UserPromptSubmit", session_id=ME, transcript_path=str(transcript), prompt="Go on")
    project("10:30:00")
    there = Workspace.open(at.root)
    for minutes, live in ((0, True), (-59, True), (-61, False), (-600, False), (59, True), (61, False)):
        written = clock.now().timestamp() + minutes * 60
        os.utime(transcript, (written, written))
        assert (ME in conversations.live_others(there, OTHER)) is live, minutes
    transcript.unlink()
    assert ME not in conversations.live_others(there, OTHER)
    there.close()
