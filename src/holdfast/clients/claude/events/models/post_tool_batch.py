"""The fields of `PostToolBatch`."""

from typing import Any

from holdfast.clients.claude.events.call import AGENT_TOOLS
from holdfast.clients.claude.events.event import Event
from holdfast.clients.claude.events.record import Record


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


class PostToolBatch(Event):
    """What the client sends with `PostToolBatch`.

    Attributes:
        tool_calls: the calls, in the model's order.
    """

    tool_calls: tuple[ToolCall, ...] = ()
