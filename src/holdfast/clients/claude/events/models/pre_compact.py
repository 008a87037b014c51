"""The fields of `PreCompact`."""

from holdfast.clients.claude.events.event import Event


class PreCompact(Event):
    """What the client sends with `PreCompact`.

    Attributes:
        trigger: `manual` or `auto`.
        custom_instructions: what the user asked the summary to keep; `None` or empty when nothing.
    """

    trigger: str = ""
    custom_instructions: str | None = None
