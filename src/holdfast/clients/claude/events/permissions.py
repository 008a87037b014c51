"""Events about the permission for a tool call."""

from typing import Any

from holdfast.clients.claude.events.calls import ToolEvent


class PermissionRequest(ToolEvent):
    """The user is about to be asked for a permission.

    Attributes:
        tool_input: the call's arguments.
        permission_suggestions: the rules the client would offer, each an object with a `type`.
    """

    tool_input: dict[str, Any]
    permission_suggestions: tuple[dict[str, Any], ...] = ()


class PermissionDenied(ToolEvent):
    """Auto mode denied a tool call.

    Attributes:
        reason: why.
        tool_use_id: the call.
    """

    reason: str = ""
    tool_use_id: str | None = None
