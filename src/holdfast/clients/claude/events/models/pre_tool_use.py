"""The fields of `PreToolUse`."""

from typing import Any

from holdfast.clients.claude.events.call import ToolEvent


class PreToolUse(ToolEvent):
    """What the client sends with `PreToolUse`.

    Attributes:
        tool_input: the arguments, with the changes of earlier handlers.
        tool_use_id: the call; absent on older clients.
        invoked_by: for a skill's inline shell command who loaded the skill: `user`, `claude` or `other`. `None` for a
            tool call.
        command_name: for such a command the skill or slash command.
        command_source: for such a command where that is defined, such as `projectSettings`.
    """

    tool_input: dict[str, Any]
    tool_use_id: str | None = None
    invoked_by: str | None = None
    command_name: str | None = None
    command_source: str | None = None
