"""The fields of `Notification`."""

from holdfast.clients.claude.events.event import Event


class Notification(Event):
    """What the client sends with `Notification`.

    Attributes:
        message: the text.
        title: its heading.
        notification_type: what it is about, such as `permission_prompt`, `idle_prompt`, `agent_completed`.
    """

    message: str = ""
    title: str | None = None
    notification_type: str = ""
