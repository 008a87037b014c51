"""Find the launch that a running subagent belongs to, and so what it was sent for.

Until a launch returns, the client doesn't say which run it started (client fact §3.4). A foreground run is matched by
its type; if several of one type run, by the prompt that its own transcript begins with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions.agents import agent_status, lifecycle

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.agents.agent_status import Agent, Run


def of(project: OpenProject, session: str, agent_id: str, transcript: str = "") -> Agent | None:
    """Return the launch that started a run; None if several could have, or none is known.

    Args:
        project: the project.
        session: the main session.
        agent_id: the run.
        transcript: the path of the main session's transcript; empty if unknown.
    """
    found = candidates(project, session, agent_id)
    if len(found) == 1 and (found[0].agent_id or len(_rivals(project, session, found[0].agent_type)) == 1):
        return found[0]
    said = project.transcripts.agent_prompt(transcript, agent_id) if found else ""
    same = [each for each in found if said and each.prompt == lifecycle.beginning(project, said)]
    return same[0] if len({(each.workflow, each.phase) for each in same}) == 1 else None


def candidates(project: OpenProject, session: str, agent_id: str) -> list[Agent]:
    """Return the launches that may have started a run: the one that names it, or all of its type without a run."""
    if named := agent_status.of_run(project, session, agent_id):
        return [named]
    run = agent_status.run(project, session, agent_id)
    return [each for each in agent_status.unanswered(project, session) if run and run.may_be_of(each)]


def _rivals(project: OpenProject, session: str, agent_type: str) -> list[Run]:
    """Return the runs of a type that no launch names and that an open launch may have started.

    A run that is older than all of these launches was interrupted, which no event reports.
    """
    launches = agent_status.unanswered(project, session)
    runs = [each for each in agent_status.unnamed(project, session) if each.agent_type == agent_type]
    return [run for run in runs if any(run.may_be_of(each) for each in launches)]
