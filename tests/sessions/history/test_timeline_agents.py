"""The log tells of agents when they were launched and how they ended: those asked for, the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from holdfast.sessions.agents import lifecycle
from holdfast.sessions.history import timeline
from holdfast.sessions.history.timeline_event import Asked
from holdfast.sessions.workspace import Workspace
from tests.agentry import begin, report
from tests.handmade import ME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.sessions.agents.lifecycle import State

WORKFLOW = "hybrid:x#1"  # of whose phases `tests.agentry` launches


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda time: monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}:00Z")


@pytest.fixture
def project(tmp_path: Path, at: Callable[[str], None]) -> Workspace:
    """An empty project, at nine."""
    at("09:00")
    return Workspace.open(tmp_path)


def told(project: Workspace, **asked: Any) -> list[str]:
    given: dict[str, Any] = {"limit": 100, "worktree": project.worktree}
    found = timeline.of_agents(project, Asked(**given | asked))
    return [f"{each.at[11:16]} {each.what}: {each.detail}" for each in found]


@pytest.mark.parametrize("asked", [{}, {"workflow": WORKFLOW}])
def test_how_each_ended_is_said(project: Workspace, asked: dict[str, str]) -> None:
    """Of what has not ended, only that it was launched; a run whose type no signal told goes by its id."""
    states: tuple[State, ...] = ("running", "missing", "stopped", "completed", "failed")
    for state in states:
        begin(project, state, state)
        report(project, state, f"Words of {state}.", run=state)
    begin(project, "call", "nameless")
    lifecycle.reported(project, ME, "nameless", "", "failed", "")

    found = told(project, **asked)
    assert found[:6] == ["09:00 agent launched: builder"] * 6
    assert sorted(found[6:]) == [
        "09:00 agent completed: builder: Words of completed.",
        "09:00 agent failed: builder: Words of failed.",
        "09:00 agent failed: nameless",
        "09:00 agent is gone: builder: Words of missing.",
        "09:00 agent stopped: builder: Words of stopped.",
    ]
