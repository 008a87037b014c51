"""The events around a compaction of the conversation."""

from typing import ClassVar

from holdfast.events.event import Event


class PreCompact(Event):
    """A compaction is about to start; it may still be given up, or be prepared long before it takes effect.

    Attributes:
        trigger: `manual` or `auto`.
        custom_instructions: what the user asked the summary to keep; `None` or empty when nothing.
    """

    matcher_field: ClassVar[str | None] = "trigger"
    accepts = frozenset({"instruct_summary", "block"})

    trigger: str = ""
    custom_instructions: str | None = None


class PostCompact(Event):
    """A compaction took place; SessionStart with source `compact` came before (client fact §2.2).

    Attributes:
        trigger: `manual` or `auto`.
        compact_summary: the summary as the model wrote it, often with `<analysis>` and `<summary>` tags; may be empty.
    """

    matcher_field: ClassVar[str | None] = "trigger"
    accepts = frozenset({"tell_user"})

    trigger: str = ""
    compact_summary: str = ""
