"""The fields of `PostToolUse`."""

from typing import Any

from pydantic import AliasChoices, Field

from holdfast.clients.claude.events.call import ToolEvent


class PostToolUse(ToolEvent):
    """What the client sends with `PostToolUse`.

    Attributes:
        tool_response: the tool's own result: an object, a string, a list or `None`, by tool.
        tool_use_id: the call; absent on older clients.
        duration_ms: how long it ran, in milliseconds.
    """

    # Some old clients' reports call it `tool_result` (client fact §7).
    tool_response: Any = Field(None, validation_alias=AliasChoices("tool_response", "tool_result"))
    tool_use_id: str | None = None
    duration_ms: int | float | None = None
