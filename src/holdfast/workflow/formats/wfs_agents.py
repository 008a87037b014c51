"""Which task of a `wfs` session an agent was launched for, and what its end does to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.workflow import assignments
from holdfast.workflow.formats import wfs_ids as ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.workflow.model import Phase, Workflow

READ = 100_000  # characters of a prompt that are looked at


def match(workflow: Workflow, text: str, agent: str) -> Phase | None:
    """Return the task an agent was launched for, or None when it is for none.

    The first id in the description decides, whatever zeros it is written with; without one the first unfinished one of
    those in the prompt, which may well tell what is done already. Where ids are named that are of no such task, it is
    for none: nobody can work on a container (R002-17), and what names only finished tasks looks at them. Else the
    whole title counts, and last the agent's name: for the one active task that has this agent.

    Args:
        workflow: the session.
        text: the call's description, a line, followed by its prompt.
        agent: `subagent_type`; without one only what is named in the text counts.
    """
    description, _, prompt = text[:READ].partition("\n")
    own, told = ids.mentioned(description), ids.mentioned(prompt)
    if own:
        return _of_id(workflow, own[0])
    if told:
        named = [phase for id_ in told if (phase := _of_id(workflow, id_))]
        return next((phase for phase in named if phase.status != "completed"), None)
    titled = assignments.titled(workflow, text)
    return _likeliest(titled, agent) if titled else _by_agent(workflow, agent)


def _of_id(workflow: Workflow, id_: str) -> Phase | None:
    key = ids.key(id_)
    return next((phase for phase in workflow.phases if ids.key(phase.id) == key), None)


def _likeliest(named: Sequence[Phase], agent: str) -> Phase:
    """Choose among tasks that are named: a prompt may well tell what is done already."""
    unfinished = [phase for phase in named if phase.status != "completed"]
    own = [phase for phase in unfinished if phase.agent == _bare(agent)]
    return (own or unfinished or named)[0]


def _by_agent(workflow: Workflow, agent: str) -> Phase | None:
    active = [phase for phase in workflow.phases if agent and phase.agent == _bare(agent) and phase.status == "active"]
    return active[0] if len(active) == 1 else None


def _bare(agent: str) -> str:
    return agent.strip().removeprefix("@")
