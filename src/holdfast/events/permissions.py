"""The events of a tool call that needs a permission."""

from typing import Any

from holdfast.events.call import ToolEvent


class PermissionRequest(ToolEvent):
    """The user is about to be asked for a permission, or nobody is there to ask.

    Attributes:
        tool_input: the call's arguments.
        permission_suggestions: the rules the client would offer, each an object with a `type`.
    """

    accepts = frozenset({"allow", "deny", "change_input", "tell_user", "terminal"})
    strictable = True

    tool_input: dict[str, Any]
    permission_suggestions: tuple[dict[str, Any], ...] = ()


class PermissionDenied(ToolEvent):
    """Auto mode denied a tool call.

    Attributes:
        reason: why.
        tool_use_id: the call.
    """

    accepts = frozenset({"retry", "terminal"})

    reason: str = ""
    tool_use_id: str | None = None
