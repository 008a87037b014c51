"""`PostToolUseFailure` fires after a tool call started and failed; not for refused calls and invalid arguments.

Example::

    from holdfast import advise, hookimpl

    @hookimpl(match="Bash")
    def on_post_tool_use_failure(event):
        if "command not found" in event.error:
            return advise("The tools of this project are installed by `make tools`.")
"""

from holdfast.clients.claude.events.call import ToolEvent


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
