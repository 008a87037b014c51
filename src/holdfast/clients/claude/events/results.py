"""Events about tool calls that have ended."""

from typing import Any

from pydantic import AliasChoices, Field

from holdfast.clients.claude.events.calls import AGENT_TOOLS, ToolEvent
from holdfast.clients.claude.events.event import Event, Record


class ToolCall(Record):
    """One call of a batch.

    Attributes:
        tool_name: the tool.
        tool_input: the arguments as the model wrote them, also invalid ones (PostToolUse has them resolved).
        tool_use_id: the call.
        tool_response: what the model sees: a string or content blocks, not the tool's own result.
    """

    tool_name: str = ""
    tool_input: Any = None
    tool_use_id: str | None = None
    tool_response: Any = None

    @property
    def is_agent_launch(self) -> bool:
        """Whether the call launches a subagent (`Agent`, or `Task` as older clients say)."""
        return self.tool_name in AGENT_TOOLS


class PostToolUse(ToolEvent):
    """A tool call succeeded.

    Attributes:
        tool_response: the tool's own result: an object, a string, a list or `None`, by tool.
        tool_use_id: the call; absent on older clients.
        duration_ms: how long it ran, in milliseconds.
    """

    # Some old clients' reports call it `tool_result` (client fact §7).
    tool_response: Any = Field(None, validation_alias=AliasChoices("tool_response", "tool_result"))
    tool_use_id: str | None = None
    duration_ms: int | float | None = None


class PostToolUseFailure(ToolEvent):
    """A tool call started and failed.

    Attributes:
        error: what went wrong, in the tool's words.
        is_interrupt: whether the user interrupted it.
        tool_use_id: the call; absent on older clients.
        duration_ms: how long it ran, in milliseconds.
    """

    error: str = ""
    is_interrupt: bool = False
    tool_use_id: str | None = None
    duration_ms: int | float | None = None


class PostToolBatch(Event):
    """All calls of one assistant message are done.

    Attributes:
        tool_calls: the calls, in the model's order.
    """

    tool_calls: tuple[ToolCall, ...] = ()
