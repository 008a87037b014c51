"""The events of what the user gets to see."""

from typing import ClassVar

from holdfast.events.event import Event


class Notification(Event):
    """The client notifies the user.

    Attributes:
        message: the words.
        title: their heading.
        notification_type: what it is about, such as `permission_prompt`, `idle_prompt`, `agent_completed`.
    """

    matcher_field: ClassVar[str | None] = "notification_type"
    accepts = frozenset({"terminal"})

    message: str = ""
    title: str | None = None
    notification_type: str = ""


class MessageDisplay(Event):
    """A piece of the assistant's text is about to appear on the screen.

    Attributes:
        turn_id: the turn.
        message_id: the message.
        index: the piece's position in the message, from 0.
        final: whether it is the last one.
        delta: the text.
    """

    accepts = frozenset({"display", "terminal"})
    deadline = 10.0

    turn_id: str = ""
    message_id: str = ""
    index: int = 0
    final: bool = False
    delta: str = ""
