"""Keeps finished agents from running twice, and interrupted ones from starting over, when they are launched again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import change_input, deliver, deny, hookimpl, sessions

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PreToolUse


@hookimpl(match="Agent|Task|Workflow", tryfirst=True)
def on_pre_tool_use(event: PreToolUse, context: Context) -> list[Outcome]:
    """Refuse what has finished or still runs, with its result; let a script use what its earlier run finished.

    It never answers in place of a permission: a call that is let through is asked about as before.
    """
    sessions.touch(event, context)
    if event.in_subagent:
        return []
    again = sessions.relaunch(event, context)
    told = deliver(again.messages)
    if again.refusal:
        return [deny(again.refusal), *told]
    return [change_input(again.tool_input), *told] if again.tool_input is not None else told
