"""What to do about an agent, or a script of agents, that is launched again: finished work isn't done twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.workflow.wording import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.sessions.hook import Call, Context


class Relaunch(NamedTuple):
    """The answer to a call that launches agents.

    Attributes:
        refusal: why the call must not run, with the result it would have brought or what to wait for; empty to let it.
        tool_input: the input with which it runs; None for the model's own.
        messages: what the model and the user are told.
    """

    refusal: str = ""
    tool_input: Mapping[str, Any] | None = None
    messages: tuple[Message, ...] = ()


PASSED = Relaunch()


def relaunch(event: Call, context: Context) -> Relaunch:
    """Note that agents are launched, and say what to do if they were launched before.

    Nothing finished is used again unless its run was interrupted or named, or the same work is launched again under
    the same prompt of a person after the conversation began anew. A failed or empty result never is. Permissions stay
    as they are.

    Args:
        event: the `PreToolUse` of the Agent tool or of the Workflow tool, in the main conversation.
        context: its context.
    """
    if context.config.agents == "off" or context.project.ledger.problem:
        return PASSED
    if event.tool_name == "Workflow":
        from holdfast.sessions.agents import script_relaunch

        return script_relaunch.judge(event, context)
    from holdfast.sessions.agents import agent_relaunch

    return agent_relaunch.judge(event, context)


def said(context: Context, event: Call, text: str, note: str = "") -> tuple[Message, ...]:
    """Return one line for the user, a text for the model if there is one, and write the line to the log."""
    context.log(text, session=event.session_id)
    told = (Message(f"Holdfast: {text}", to_user=True),)
    return (*told, Message(note, must_keep=True)) if note else told
