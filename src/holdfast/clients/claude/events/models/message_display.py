"""The fields of `MessageDisplay`."""

from holdfast.clients.claude.events.event import Event


class MessageDisplay(Event):
    """What the client sends with `MessageDisplay`.

    Attributes:
        turn_id: the turn.
        message_id: the message.
        index: the piece's position in the message, from 0.
        final: whether it is the last one.
        delta: the text.
    """

    turn_id: str = ""
    message_id: str = ""
    index: int = 0
    final: bool = False
    delta: str = ""
