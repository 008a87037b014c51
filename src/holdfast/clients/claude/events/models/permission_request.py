"""`PermissionRequest` fires when the user is about to be asked for a permission, or nobody is there to ask.

A changed input counts only together with allow.

Example::

    from holdfast import allow, hookimpl

    @hookimpl(match="Bash")
    def on_permission_request(event):
        if event.tool_input.get("command") == "make test":
            return allow()
"""

from typing import Any

from holdfast.clients.claude.events.call import ToolEvent


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
