"""`Notification` fires when the client notifies the user.

Example::

    from holdfast import hookimpl, terminal

    @hookimpl(match="permission_prompt|idle_prompt")
    def on_notification(event):
        return terminal("\\x07")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class Notification(Event):
    """The client notifies the user.

    Attributes:
        message: the text.
        title: its heading.
        notification_type: what it is about, such as `permission_prompt`, `idle_prompt`, `agent_completed`.
    """

    matcher_field: ClassVar[str | None] = "notification_type"
    accepts = frozenset({"terminal"})

    message: str = ""
    title: str | None = None
    notification_type: str = ""
