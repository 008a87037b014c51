"""A running subagent is told what it was launched for, and never what another one was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions import agents
from tests.handmade import ME

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace
RUN = "a23b8482eb527498b"


def launch(project: Workspace, call: str, kind: str = "builder", prompt: str = "", phase: str = "") -> None:
    agents.record_launch(project, ME, call, kind, "hybrid:x#1" if phase else "", phase, prompt=prompt or f"Do {call}.")


def begin(project: Workspace, run: str, kind: str = "builder") -> None:
    agents.record_report(project, ME, run, "running", agent_type=kind)


def found(project: Workspace, run: str, transcript: str = "") -> str | None:
    launch = agents.attribute(project, ME, run, transcript)
    return launch.call if launch else None


def said(tmp_path: Path, run: str, prompt: object) -> str:
    """Write a run's own transcript and return where the main session's would lie."""
    main = tmp_path / "session.jsonl"
    own = tmp_path / "session" / "subagents" / f"agent-{run}.jsonl"
    own.parent.mkdir(parents=True, exist_ok=True)
    entries = [{"type": "attachment"}, {"type": "user", "message": {"role": "user", "content": prompt}}]
    own.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(main)


def test_a_launch_that_names_its_run_is_the_one(project: Workspace) -> None:
    """In the background it does so at once, whatever others of its type run unnamed."""
    launch(project, "c1")
    launch(project, "c2")
    for run in (RUN, "another"):
        begin(project, run)
    agents.name_run(project, ME, "c1", RUN)

    assert found(project, RUN) == "c1"
    assert found(project, "another") == "c2"
    assert found(project, "unheard-of") is None


def test_a_launch_after_it_cannot_have_started_it(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that was interrupted goes on in no launch."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")
    begin(project, "interrupted")
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:01:00Z")
    launch(project, "c1")
    assert found(project, "interrupted") is None

    begin(project, RUN)
    assert found(project, RUN) == "c1"
    assert found(project, "interrupted") is None


def test_a_nested_agent_gets_nothing_of_its_parents(project: Workspace) -> None:
    """An agent launches one of its own type: nobody noted that launch, and one launch has two runs."""
    launch(project, "c1")
    begin(project, "parent")
    begin(project, "nested")

    assert found(project, "nested") is None
    assert found(project, "parent") is None


def test_equal_prompts_for_different_phases_decide_nothing(project: Workspace, tmp_path: Path) -> None:
    """For the same one it does not matter which of them it was."""
    for number in (1, 2):
        launch(project, f"c{number}", prompt="Go.", phase=f"phase_{number}")
    for number in (1, 2):
        begin(project, f"run{number}")
    transcript = said(tmp_path, "run1", "Go.")
    assert found(project, "run1", transcript) is None

    agents.abandon_calls(project, ME)
    for number in (3, 4):
        launch(project, f"c{number}", prompt="Go.", phase="phase_3")
    for number in (1, 3):
        begin(project, f"later{number}")
    assert found(project, "later1", said(tmp_path, "later1", "Go.")) in ("c3", "c4")


@pytest.mark.parametrize(("run", "read"), [("plain", True), ("x/../../../elsewhere", False), ("x/deeper", False)])
def test_agent_id_never_leads_out_of_the_transcript_folder(
    project: Workspace, tmp_path: Path, run: str, *, read: bool
) -> None:
    """An agent's id is the client's word, and goes into a path only if it looks like one."""
    for call in ("c1", "c2"):
        launch(project, call, prompt=f"Do {call}.", phase=call)
    begin(project, run)
    begin(project, "other")
    (tmp_path / "session" / "subagents" / "agent-x").mkdir(parents=True)
    own = tmp_path / "session" / "subagents" / f"agent-{run}.jsonl"
    own.resolve().parent.mkdir(exist_ok=True)
    own.write_text('{"type":"user","message":{"content":"Do c2."}}\n')

    assert found(project, run, str(tmp_path / "session.jsonl")) == ("c2" if read else None)


def test_equal_prompts_and_phases_of_two_workflows_decide_nothing(project: Workspace, tmp_path: Path) -> None:
    """Every workflow calls its first phase the same."""
    for name in ("x", "y"):
        agents.record_launch(project, ME, name, "builder", f"hybrid:{name}#1", "phase_0", prompt="Go.")
    for run in ("run1", "run2"):
        begin(project, run)
    assert found(project, "run1", said(tmp_path, "run1", "Go.")) is None
