"""The guidance of a workflow as a session gets it: its file beside what the ledger knows of its agents and reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast import capture
from holdfast.sessions.agents import agent_status, agentlines
from holdfast.sessions.reading import reading
from holdfast.workflow import guidance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.project import OpenProject
    from holdfast.sessions.reading.reading import State
    from holdfast.workflow.guidance import Guidance
    from holdfast.workflow.model import Workflow


class GivenBack(NamedTuple):
    """The guidance, and how each required reading stood when it was made (`reading.states`)."""

    guidance: Guidance
    known: Mapping[str, State]


def compile(
    project: OpenProject,
    session: str,
    workflow: Workflow,
    *,
    others: Sequence[Workflow] = (),
    notes: Sequence[str] = (),
    recap: str = "",
) -> GivenBack:
    """Write the sidecar and return the guidance that points to it.

    Args:
        project: where.
        session: who gets it; empty where that is nobody yet.
        workflow: what it gets.
        others: workflows that get a line each.
        notes: what else is to be said of it, a line each.
        recap: the client's own summary; what that has word for word is said shorter.
    """
    known = reading.states(project, session, workflow)
    agents = [each for each in agent_status.waiting(project, session) if each.workflow in (None, workflow.key)]
    made = guidance.compile(
        workflow,
        root=project.root,
        others=others,
        agents=agentlines.lines(agents),
        notes=notes,
        files=reading.files(known),
        contents=reading.contents(project, known),
        recap=recap,
        beside=capture.allowed(project.config, workflow.path),
    )
    return GivenBack(made, known)
