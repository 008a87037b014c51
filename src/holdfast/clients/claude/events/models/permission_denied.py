"""`PermissionDenied` fires when auto mode denied a tool call.

Example::

    from holdfast import hookimpl, retry

    @hookimpl(match="Read")
    def on_permission_denied(event):
        return retry()
"""

from holdfast.clients.claude.events.call import ToolEvent


class PermissionDenied(ToolEvent):
    """Auto mode denied a tool call.

    Attributes:
        reason: why.
        tool_use_id: the call.
    """

    accepts = frozenset({"retry", "terminal"})

    reason: str = ""
    tool_use_id: str | None = None
