"""The fields of `PermissionDenied`."""

from holdfast.clients.claude.events.call import ToolEvent


class PermissionDenied(ToolEvent):
    """What the client sends with `PermissionDenied`.

    Attributes:
        reason: why.
        tool_use_id: the call.
    """

    reason: str = ""
    tool_use_id: str | None = None
