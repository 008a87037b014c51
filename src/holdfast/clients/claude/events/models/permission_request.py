"""The fields of `PermissionRequest`."""

from typing import Any

from holdfast.clients.claude.events.call import ToolEvent


class PermissionRequest(ToolEvent):
    """What the client sends with `PermissionRequest`.

    Attributes:
        tool_input: the call's arguments.
        permission_suggestions: the rules the client would offer, each an object with a `type`.
    """

    tool_input: dict[str, Any]
    permission_suggestions: tuple[dict[str, Any], ...] = ()
