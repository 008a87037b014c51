"""Find the task of a `wfs` session that an agent was launched for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.formats.wfs import ids
from holdfast.workflow import assignments

if TYPE_CHECKING:
    from holdfast.workflow.model import Phase, Workflow

READ_LIMIT_CHARS = 100_000  # characters of a prompt that are looked at


def match(workflow: Workflow, text: str, agent: str) -> Phase | None:
    """Return the task an agent was launched for, None without evidence.

    The evidence is the same as in every format (`assignments.match_phase`), but a launch that names the ids of other
    tasks is doubtful: the agent may look at a container, which nobody can work on (R002-17), or at finished tasks. So
    the kind of agent counts only if no other id is named, and the prompt's first line only if the description names no
    other.

    Args:
        workflow: the session.
        text: the call's description, one line, followed by its prompt.
        agent: `subagent_type`; if it is empty, only a reference counts.
    """
    description, _, prompt = text[:READ_LIMIT_CHARS].partition("\n")
    referred = assignments.referenced(workflow, text)
    own, others = _keys(description), _keys(prompt)
    if referred:
        task = assignments.likeliest(referred, agent, workflow.due)
        return task if task and (not own or ids.key(task.id) in own) else None
    by_kind = assignments.by_agent(workflow, agent, workflow.due)
    named = own or others
    return by_kind if by_kind and (not named or ids.key(by_kind.id) in named) else None


def _keys(text: str) -> set[ids.Key | None]:
    return {ids.key(each) for each in ids.mentioned(text)}
