"""The fields of `PostToolUseFailure`."""

from holdfast.clients.claude.events.call import ToolEvent


class PostToolUseFailure(ToolEvent):
    """What the client sends with `PostToolUseFailure`.

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
