"""What to do about an agent, or a script of agents, that is launched again: finished work isn't done twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions.agents import agent_relaunch, script_relaunch
from holdfast.sessions.agents.relaunch_answer import PASSED, Relaunch

if TYPE_CHECKING:
    from holdfast.sessions.hook import Call, Context


def relaunch(event: Call, context: Context) -> Relaunch:
    """Note that agents are launched, and say what to do if they were launched before.

    Nothing finished is used again unless its run was interrupted or named, or the same work is launched again under
    the same prompt of a person after the conversation began anew. An agent's result must still hold: nothing was edited
    since, and the agent isn't part of a loop. A failed result never is, nor an empty one of a single agent. Permissions
    stay as they are.

    Args:
        event: the `PreToolUse` of the Agent tool or of the Workflow tool, in the main conversation.
        context: its context.
    """
    if context.config.agents == "off" or context.project.ledger.problem:
        return PASSED
    if event.tool_name == "Workflow":
        return script_relaunch.judge(event, context)
    return agent_relaunch.judge(event, context)
