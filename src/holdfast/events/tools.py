"""The events of a tool call's life: before, after, failed, and the batch it belonged to."""

from typing import Any

from pydantic import AliasChoices, Field

from holdfast.events.call import AGENT_TOOLS, ToolEvent
from holdfast.events.event import Event
from holdfast.events.record import Record


class PreToolUse(ToolEvent):
    """A tool is about to be called; comes before the permission check, in every permission mode.

    Attributes:
        tool_input: the arguments; a handler further on sees them as changed so far.
        tool_use_id: the call; absent on older clients.
    """

    accepts = frozenset({"deny", "ask", "allow", "defer", "change_input", "advise", "tell_user", "stop", "terminal"})
    strictable = True

    tool_input: dict[str, Any]
    tool_use_id: str | None = None


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


class PostToolUseFailure(ToolEvent):
    """A tool call started and failed; not fired for refused calls and invalid arguments.

    Attributes:
        error: what went wrong, in the tool's words.
        is_interrupt: whether the user interrupted it.
        tool_use_id: the call; absent on older clients.
        duration_ms: how long it ran, in milliseconds.
    """

    accepts = frozenset({"advise", "block", "stop", "tell_user", "terminal"})

    error: str = ""
    is_interrupt: bool = False
    tool_use_id: str | None = None
    duration_ms: int | float | None = None


class ToolCall(Record):
    """One call of a batch.

    Attributes:
        tool_name: the tool.
        tool_input: the arguments as the model wrote them, also invalid ones (PostToolUse has them resolved).
        tool_use_id: the call.
        tool_response: what the model gets to see: a string or content blocks, not the tool's own result.
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
    """All calls of one assistant message are done, also those that never ran because their input was invalid.

    Attributes:
        tool_calls: the calls, in the model's order.
    """

    accepts = frozenset({"advise", "block", "stop", "tell_user", "terminal"})

    tool_calls: tuple[ToolCall, ...] = ()
