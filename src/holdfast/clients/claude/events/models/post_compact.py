"""The fields of `PostCompact`."""

from holdfast.clients.claude.events.event import Event


class PostCompact(Event):
    """What the client sends with `PostCompact`.

    Attributes:
        trigger: `manual` or `auto`.
        compact_summary: the summary as the model wrote it, often with `<analysis>` and `<summary>` tags; may be empty.
    """

    trigger: str = ""
    compact_summary: str = ""
