"""`PostCompact` fires after a compaction; `SessionStart` with source `compact` came before it.

Example::

    from holdfast import hookimpl, tell_user

    @hookimpl(match="auto")
    def on_post_compact(event):
        return tell_user(f"The conversation was compacted to {len(event.compact_summary)} characters.")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


class PostCompact(Event):
    """A compaction has taken place; SessionStart with source `compact` fired before this (client fact §2.2).

    Attributes:
        trigger: `manual` or `auto`.
        compact_summary: the summary as the model wrote it, often with `<analysis>` and `<summary>` tags; may be empty.
    """

    matcher_field: ClassVar[str | None] = "trigger"
    accepts = frozenset({"tell_user"})

    trigger: str = ""
    compact_summary: str = ""
