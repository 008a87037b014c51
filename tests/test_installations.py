"""What an earlier version installed works with this one without another `install`: guards, handlers, workflows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast.server import servers
from tests import installations, warmth
from tests.installations import fire, launched
from tests.warmth import Warm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.processes import Ended, Place

pytestmark = pytest.mark.slow


@pytest.fixture(params=[(name, warm) for name in installations.NAMES for warm in (False, True)], ids=str)
def place(short_folder: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """A recorded installation, its events answered cold, or by a server."""
    name, warm = request.param
    put_down = installations.put_down(name, short_folder)
    if not warm:
        yield put_down
        return
    try:
        with_server = Warm(put_down.home, put_down.root)
        fire(with_server, "PreToolUse-Bash")
        with_server.until(lambda: bool(with_server.sockets) and servers.ask(with_server.socket) is not None)
        yield with_server
    finally:
        warmth.end(put_down.home)


def bash(place: Place, command: str) -> Ended:
    return fire(place, "PreToolUse-Bash", tool_input={"command": command})


def test_its_guards_hold(place: Place) -> None:
    """The user's strict guard and the team's trusted one refuse what they refused, and nothing else."""
    assert "I say no" in bash(place, "rm -rf /").stdout
    assert "the team says no" in bash(place, "make deploy").stdout
    assert bash(place, "ls").stdout == ""


def test_its_handlers_answer(place: Place) -> None:
    """Those of the user that import the event models."""
    assert "Mind the gap." in fire(place, "UserPromptSubmit").advice


def test_its_workflow_goes_on(place: Place) -> None:
    """What was saved at the compaction comes back, and the agent that was at work completes its phase."""
    restored = fire(place, "SessionStart-compact").advice
    assert "Calculator" in restored
    assert "Build it" in restored
    launched(place, "PostToolUse-Agent", "Build it", "builder")
    state = json.loads((place.root / ".claude" / "state" / "workflow.json").read_bytes())
    assert [phase["status"] for phase in state["phases"]] == ["completed", "completed", "active"]


def test_it_is_uninstalled_whole(place: Place) -> None:
    """By what was noted when it was installed."""
    installations.holdfast(place, "uninstall", "--scope", "user")
    assert not (place.home / ".claude" / "settings.json").exists()
    assert not (place.home / ".local" / "share" / "holdfast").exists()


def test_a_guard_refuses_when_the_engine_is_gone(place: Place) -> None:
    """By the recorded launcher and what refuses in its place."""
    launcher = place.home / ".local" / "share" / "holdfast" / "run"
    launcher.write_text(launcher.read_text("utf-8").replace("holdfast", "gonefast"), "utf-8")
    assert json.loads(bash(place, "ls").stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_doctor_finds_the_memory_in_order(place: Place) -> None:
    """Ledger, trust and records of installs are read as they are."""
    found = json.loads(installations.holdfast(place, "doctor", "--json", code=None).stdout)
    assert [each for each in found["findings"] if each["level"] == "error"] == []
