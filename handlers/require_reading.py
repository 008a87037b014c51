"""Checks whether the required reading is really read, and reminds the model of it once after a compaction.

It runs at every Read, so it imports only what that needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import advise, hookimpl, sessions, workflows

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PostToolUse, SessionStart, UserPromptSubmit

RUNS_WHEN = {"reading": ["remind", "hold"]}
NAMED = 10  # unread files that the reminder names


@hookimpl(match="Read")
def on_post_tool_use(event: PostToolUse, context: Context) -> None:
    """Note what was read. The main model doesn't see what a subagent reads, but its session is live."""
    sessions.touch(event, context)
    if not event.in_subagent:
        sessions.note_read(event, context)


@hookimpl(match="compact")
def on_session_start(event: SessionStart, context: Context) -> None:
    """Record that the model has lost what it had read, unless a subagent was compacted."""
    if not sessions.compacts_agent(event, context):
        sessions.forget_reading(event, context)


@hookimpl(tryfirst=True)
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> Outcome | None:
    """Name what was not read since the last compaction, once, after the model had a turn to read it.

    It runs first, because other handlers note that the next turn has begun.
    """
    since = "" if event.in_subagent else sessions.reminder_due(event, context)
    if not since:
        return None
    workflow = workflows.mine(event, context)
    due = sessions.unread(event, context, workflow) if workflow else []
    if due is None:
        return None
    if not workflow or not due:
        sessions.reminded(event, context)
        return None
    names = [f"- {workflows.one_line(each.entry)}" for each in due[:NAMED]]
    more = [f"+{len(due) - NAMED} more"] if len(due) > NAMED else []
    lines = [f"Workflow: {workflows.one_line(workflow.title)}", *names, *more]
    text = workflows.fenced(f"Read these required files; you haven't {since}.", lines)
    return advise(text, on_delivered=lambda: sessions.reminded(event, context))
