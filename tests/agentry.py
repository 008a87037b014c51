"""Hand-made agents for tests: launched, and reporting their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.sessions.agents import lifecycle
from holdfast.sessions.agents.agent_status import Agent
from tests.handmade import ME

if TYPE_CHECKING:
    from holdfast.sessions.agents.lifecycle import State
    from holdfast.sessions.workspace import Workspace

CALL, RUN = "toolu_1", "a23b8482eb527498b"


def launch(project: Workspace, call: str = CALL, phase: str | None = "phase_0", session: str = ME, **more: Any) -> None:
    """Launch an agent whose run the client has not named."""
    lifecycle.launched(project, session, call, "builder", "hybrid:x#1" if phase else None, phase, **more)


def begin(project: Workspace, call: str = CALL, run: str = RUN, phase: str | None = "phase_0", **more: Any) -> None:
    """Launch an agent in the background: its run is named at once."""
    launch(project, call, phase, **more)
    lifecycle.named(project, ME, call, run, f"/tasks/{run}.output")


def report(project: Workspace, state: State, words: str = "", run: str = RUN, session: str = ME, **more: Any) -> None:
    """Have a run report of itself."""
    lifecycle.reported(project, session, run, "builder", state, words, **more)


def agent(launched_at: str, **changes: Any) -> Agent:
    """Return an agent as the ledger tells of it: one in the background that runs, but for what is given."""
    given: dict[str, Any] = {"session": ME, "tool_use_id": CALL, "agent_id": RUN, "agent_type": "builder"}
    given |= dict.fromkeys(("workflow", "phase", "verdict", "state", "changed_at"))
    given |= dict.fromkeys(("description", "prompt", "words", "digest", "output", "transcript"), "")
    return Agent(**given | {"launched_at": launched_at, "since": launched_at, "fate": "running"} | changes)
