"""`MessageDisplay` fires for each piece of the assistant's text that appears on the screen.

The conversation keeps the original text.

Example::

    from holdfast import display, hookimpl

    @hookimpl
    def on_message_display(event):
        if "hunter2" in event.delta:
            return display(event.delta.replace("hunter2", "(hidden)"))
"""

from holdfast.clients.claude.events.event import Event


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
