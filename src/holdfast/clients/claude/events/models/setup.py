"""The fields of `Setup`."""

from holdfast.clients.claude.events.event import Event


class Setup(Event):
    """What the client sends with `Setup`.

    Attributes:
        trigger: `init` or `maintenance`.
    """

    trigger: str = ""
