"""`PostToolUse` fires after a tool call succeeded; for a subagent in the background, after its launch.

Example::

    from holdfast import advise, hookimpl

    @hookimpl(match="Edit|Write")
    def on_post_tool_use(event):
        if event.tool_input.get("file_path", "").endswith(".proto"):
            return advise("The generated code follows the .proto files by `make generate`.")
"""

from typing import Any

from pydantic import AliasChoices, Field

from holdfast.clients.claude.events.call import ToolEvent


class PostToolUse(ToolEvent):
    """A tool call succeeded. For a subagent launched in the background this is its launch, not its end.

    Attributes:
        tool_response: the tool's own result: an object, a string, a list or `None`, by tool.
        tool_use_id: the call; absent on older clients.
        duration_ms: how long it ran, in milliseconds.
    """

    accepts = frozenset({"advise", "block", "change_output", "classify", "stop", "tell_user", "terminal"})

    # Some old clients' reports call it `tool_result` (client fact §7).
    tool_response: Any = Field(None, validation_alias=AliasChoices("tool_response", "tool_result"))
    tool_use_id: str | None = None
    duration_ms: int | float | None = None
