"""Saves what the model itself writes to a workflow's files; the workflow then belongs to its session.

PreCompact may never fire ([ISS 50467], [ISS 13572]), and this doesn't need it. Nearly all edits are of other files, so
nothing is imported before the path is known to matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import deliver, hookimpl, sessions, workflows

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PostToolUse


@hookimpl(match="Write|Edit|MultiEdit")
def on_post_tool_use(event: PostToolUse, context: Context) -> list[Outcome]:
    """Keep a generation of a written state file, and merge a written memory file or plan (I001-6).

    After an edit of a list that is never read back, say which command does what was ticked in it.
    """
    path = None if event.in_subagent else workflows.written(event, context)
    if path is None:
        return []
    sessions.join(event, context)
    told = workflows.save(event, context, path)
    sessions.show_status(event, context)
    return deliver(told)
