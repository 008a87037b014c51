"""Agents outlive compactions: the main conversation is told about them, and each gets back only its own part."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.process import liveness
from holdfast.sessions import compactions
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from tests.commandline import holdfast
from tests.handmade import ME
from tests.signals import Agent, begin

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import Fired, HoldfastProject

RESTORED = "WORKFLOW RESTORED AFTER COMPACTION"
TRANSCRIPTS = Path(__file__).parents[1] / "sessions" / "transcripts"
UNUSED = "its result is still unused"
PHASES = ("--phase", "Build it @builder", "--phase", "Test it @tester", "--phase", "Document it @writer")


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a hybrid workflow of three phases that this session owns."""
    project = holdfast_project({})
    given = ("--remind", "Never use tabs", "--read", "docs/plan.md")
    holdfast("start", "Tool", "--format", "hybrid", *PHASES, *given, root=project.root, session=ME)
    return project


def compact(project: HoldfastProject, before: str = ME, after: str = "", **changes: Any) -> Fired:
    """Let a compaction happen, which may change the session's id."""
    project.fire("PreCompact", "PreCompact-auto", session_id=before)
    return begin(project, "compact", session_id=after or before, **changes)


def own_compaction(project: HoldfastProject, agent: Agent, *, marked: bool = True, transcript: str = "") -> Fired:
    """Let a subagent be compacted, as a client does that marks its events, or as one that does not."""
    who: dict[str, Any] = {"agent_id": agent.run, "agent_type": agent.kind} if marked else {}
    before = project.fire("PreCompact", "PreCompact-auto-in-subagent" if marked else "PreCompact-auto", **who)
    before.assert_silent("save_workflow", "sync_todos")
    project.fire("SubagentStop", "SubagentStop-compaction")
    source = "compact-in-subagent" if marked else "compact"
    return begin(project, source, transcript_path=transcript, **who)


def opened(project: HoldfastProject) -> Workspace:
    return Workspace.open(project.root)


def begun(project: HoldfastProject, *given: Agent, background: bool = False) -> None:
    """Launch agents in one batch: all PreToolUse first, then the runs."""
    for agent in given:
        agent.about_to()
    for agent in given:
        agent.started()
        if background:
            agent.launched()


# What the main conversation is told


def test_a_compaction_tells_what_ended_unused_and_where_it_lies(project: HoldfastProject) -> None:
    """An agent's result that came while the main thread was compacted is not lost."""
    agent = Agent(project, "Build it", prompt="Build the tool.")
    begun(project, agent, background=True)
    agent.stopped("Built.\nAll four functions are there.")

    text = compact(project).context

    assert f'builder ({agent.run}) has finished; {UNUSED} (launched for "Build it")' in text
    assert f'last words of {agent.run}: "Built. All four functions are there."' in text
    assert f"output of {agent.run}: {agent.output}" in text
    own = recorded.load("SubagentStop")["agent_transcript_path"]
    assert f"transcript of {agent.run}: {own}" in text
    assert "is running" not in text


@pytest.mark.parametrize(
    ("version", "run"), [("2.1.197", "a5362340bfa46d1ef"), ("2.1.329", "ad216a306b79ac727"), ("", "ad216a306b79ac727")]
)
@pytest.mark.parametrize("moment", ["compact", "Stop"])
def test_a_result_that_came_in_the_middle_of_a_turn_is_consumed(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch, version: str, run: str, moment: str
) -> None:
    """2.1.197 gives it without a UserPromptSubmit; only the transcript shows it, at the turn's end and after a swap."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-11-21T17:32:00Z")
    agent = Agent(project, "look around", "general-purpose")
    response = recorded.load("PostToolUse-Agent-background")["tool_response"] | {"agentId": run}
    agent.about_to(tool_use_id="toolu_000001")
    agent.launched(tool_use_id="toolu_000001", tool_response=response)
    project.fire("SubagentStop", agent_id=run, agent_type="general-purpose", last_assistant_message="BG REPORT")
    transcript = str(TRANSCRIPTS / f"midturn-{version}.jsonl") if version else ""

    if moment == "Stop":
        project.fire("Stop", transcript_path=transcript).assert_silent("track_agents")
        text = compact(project).context
    else:
        text = compact(project, transcript_path=transcript).context

    assert RESTORED in text
    assert (UNUSED in text) == (not version)


def test_agents_of_a_client_that_is_gone_run_no_more(project: HoldfastProject) -> None:
    """A crash ends the agents in it: after `resume` none is said to run."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    begin(project, "startup")
    agent, remote = Agent(project, "Build it"), Agent(project, "look", "Explore", number=2)
    begun(project, agent, background=True)
    remote.about_to()
    response = {"status": "remote_launched", "taskId": "far-away", "sessionUrl": "u", "outputFile": ""}
    remote.launched(tool_response=response)
    opened(project).ledger.run("UPDATE conversations SET process = ?", liveness.identity(gone.pid))

    text = begin(project, "resume").context

    assert text.startswith("WORKFLOW RESTORED\n")
    assert f"builder ({agent.run})" in text
    assert "was interrupted; SendMessage to its id continues it" in text
    assert text.count("is running") == 1
    assert "Explore (far-away)" in text


# What an agent gets back after its own compaction


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("background", [True, False])
def test_an_agents_own_compaction_gives_it_its_own_part(
    project: HoldfastProject, marked: bool, background: bool
) -> None:
    """Its launch, its phase with what was handed over and the reminders; on clients that do not mark it too."""
    holdfast("next", root=project.root, session=ME)
    holdfast("done", "--note", "the tool lies at the root", root=project.root, session=ME)
    begin(project, "startup")
    agent = Agent(project, "Test it all", "tester", "Run every test\nof phase_1.")
    begun(project, agent, background=background)
    if background and not marked:
        running = [{"id": agent.run, "type": "subagent", "status": "running"}]
        project.fire("Stop", "Stop", background_tasks=running)

    fired = own_compaction(project, agent, marked=marked)

    fired.assert_advised(
        *("<workflow-data-", "Run every test\nof phase_1.", '"Test it all"', 'phase 2/3 "Test it"'),
        *('Workflow: "Tool"', "the tool lies at the root", "Never use tabs", "@docs/plan.md (missing)"),
        *("Your context was compacted.", "and nothing else"),
    )
    assert RESTORED not in fired.context
    assert "Document it" not in fired.context
    assert fired.variables
    assert compactions.recent(opened(project), 5) == []


def test_where_several_run_an_unmarked_compaction_is_nobodys(project: HoldfastProject) -> None:
    """Two in the foreground, or one beside one in the background: no slice is better than another's."""
    begin(project, "startup")
    first, second = Agent(project, "look", "Explore", "PROMPT-1"), Agent(project, "look", "Plan", "PROMPT-2", number=2)
    begun(project, first, second)

    assert own_compaction(project, first, marked=False).context == ""
    assert "PROMPT-2" in own_compaction(project, second).context
    first.launched()  # it ran in the background after all
    assert own_compaction(project, second, marked=False).context == ""


def test_several_agents_of_a_type_get_their_own(project: HoldfastProject, tmp_path: Path) -> None:
    """Each one's transcript begins with its prompt; without it nothing is said."""
    first, second = (
        Agent(project, "look", "Explore", f"PROMPT-{name}", number=number) for number, name in ((1, "ONE"), (2, "TWO"))
    )
    begun(project, first, second)
    own = tmp_path / "session" / "subagents" / f"agent-{first.run}.jsonl"
    own.parent.mkdir(parents=True)
    shutil.copy(TRANSCRIPTS / "agent-2.1.329.jsonl", own)
    transcript = str(tmp_path / "session.jsonl")

    fired = own_compaction(project, first, transcript=transcript)
    assert "PROMPT-ONE" in fired.context and "PROMPT-TWO" not in fired.context
    assert own_compaction(project, second, transcript=transcript).context == ""


# What a new agent is told


@pytest.mark.parametrize("order", [("started", "launched"), ("launched", "started")])
def test_a_new_agent_gets_the_reminders_of_its_workflow_once(project: HoldfastProject, order: tuple[str, ...]) -> None:
    """SubagentStart and the launch's PostToolUse come in either order; a later start of the same agent says nothing."""
    agent = Agent(project, "Build it")
    agent.about_to()
    fired = {step: getattr(agent, step)() for step in order}

    fired["started"].assert_advised(
        'Workflow: "Tool"', 'phase 1/3 "Build it"', "- Never use tabs", "@docs/plan.md (missing)"
    )
    assert fired["started"].specific["hookEventName"] == "SubagentStart"
    agent.started().assert_silent("track_agents")
    Agent(project, "Build it", number=2).started().assert_advised("Never use tabs")
