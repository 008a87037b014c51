"""Hand-made agents for tests: launched, and reporting their end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from holdfast.memory.rows import Agent
from holdfast.sessions import agents, progress
from tests.handmade import ME

if TYPE_CHECKING:
    from holdfast.sessions.agents import State
    from holdfast.sessions.workspace import Workspace

CALL, RUN = "toolu_1", "a23b8482eb527498b"
KEY = "hybrid:x#1"


def launch(project: Workspace, call: str = CALL, phase: str = "phase_0", session: str = ME, **more: Any) -> None:
    """Launch an agent whose run the client has not named."""
    agents.record_launch(project, session, call, "builder", KEY if phase else "", phase, **more)


def begin(project: Workspace, call: str = CALL, run: str = RUN, phase: str = "phase_0", **more: Any) -> None:
    """Launch an agent in the background: its run is named at once."""
    launch(project, call, phase, **more)
    agents.name_run(project, ME, call, run, f"/tasks/{run}.output")


def report(project: Workspace, state: State, words: str = "", run: str = RUN, session: str = ME, **more: Any) -> None:
    """Have a run report of itself."""
    agents.record_report(project, session, run, state, words, agent_type="builder", **more)


def only(project: Workspace, call: str = CALL) -> Agent:
    """Return the agent that a call launched."""
    found = agents.of_call(project, ME, call)
    assert found is not None
    return found


def agent(launched_at: str, **changes: Any) -> Agent:
    """Return an agent as the ledger tells of it: one in the background that runs, but for what is given."""
    values = {"call": CALL, "run": RUN, "agent_type": "builder", "state": "running"}
    times = {"launched_at": launched_at, "since": launched_at}
    return Agent("row", ME, "", **(values | times | changes))


def launch_agent(project: Workspace, call: str, agent: str, description: str) -> list[progress.Moved]:
    """Have a session call the Agent tool, as its `PreToolUse` tells of it."""
    asked = {"subagent_type": agent, "description": description, "prompt": "Do it."}
    event: Any = SimpleNamespace(
        session_id=ME, hook_event_name="PreToolUse", agent_id=None, tool_use_id=call, tool_input=asked
    )
    context: Any = SimpleNamespace(project=project)
    return progress.launch_agent(event, context)
