"""Saves a session's workflows before a compaction, and tells the summariser what to keep of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import hookimpl, instruct_summary, sessions

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PreCompact


@hookimpl
def on_pre_compact(event: PreCompact, context: Context) -> Outcome | None:
    """Save this session's workflows (R001-24). Never block a compaction (R001-14); ignore a subagent's own."""
    if event.in_subagent or (event.trigger != "manual" and sessions.compacts_agent(event, context)):
        return None
    sessions.join(event, context)
    sessions.take_evidence(event, context)
    summary = sessions.save(event, context, event.trigger)
    return instruct_summary(summary) if summary else None
