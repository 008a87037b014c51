"""`PreCompact` fires before a compaction, which may still be given up or take effect much later.

Example::

    from holdfast import hookimpl, instruct_summary

    @hookimpl
    def on_pre_compact(event):
        if not event.in_subagent:
            return instruct_summary("Keep the names of all failing tests.")
"""

from typing import ClassVar

from holdfast.clients.claude.events.event import Event


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
