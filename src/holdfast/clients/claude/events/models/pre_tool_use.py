"""`PreToolUse` fires before a tool is called, ahead of the permission check, in every permission mode.

To block is to deny. An inline shell command of a skill reaches these functions too (`PreSkillShellCommand`).

Example::

    from holdfast import deny, hookimpl
    from holdfast.events import PreToolUse

    @hookimpl(match="shell")
    def on_pre_tool_use(event: PreToolUse):
        if "printenv" in event.tool_input.get("command", ""):
            return deny("this would print secrets")
"""

from typing import Any

from holdfast.clients.claude.events.call import ToolEvent


class PreToolUse(ToolEvent):
    """A tool is about to be called; comes before the permission check, in every permission mode.

    Attributes:
        tool_input: the arguments, with the changes of earlier handlers.
        tool_use_id: the call; absent on older clients.
        invoked_by: for a skill's inline shell command who loaded the skill: `user`, `claude` or `other`. `None` for a
            tool call.
        command_name: for such a command the skill or slash command.
        command_source: for such a command where that is defined, such as `projectSettings`.
    """

    accepts = frozenset({"deny", "ask", "allow", "defer", "change_input", "advise", "tell_user", "stop", "terminal"})
    strictable = True

    tool_input: dict[str, Any]
    tool_use_id: str | None = None
    invoked_by: str | None = None
    command_name: str | None = None
    command_source: str | None = None
