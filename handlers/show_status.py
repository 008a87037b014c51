"""Keeps what the client's status line shows of a session: workflow, phase, agents and last save.

Without `holdfast install --statusline` it does nothing. It only takes events that other handlers want anyway, and comes
after these. `save_written` and the commands keep the line, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import hookimpl, sessions

if TYPE_CHECKING:
    from holdfast import Context
    from holdfast.events import (
        PostToolUse,
        PreCompact,
        SessionEnd,
        SessionStart,
        SubagentStart,
        SubagentStop,
        UserPromptSubmit,
    )


@hookimpl(trylast=True)
def on_session_start(event: SessionStart, context: Context) -> None:
    """Show the workflow that the session has or got back."""
    sessions.show_status(event, context, begins=True)


@hookimpl(trylast=True)
def on_session_end(event: SessionEnd, context: Context) -> None:
    """Show nothing any more."""
    sessions.show_status(event, context, over=True)


@hookimpl(trylast=True)
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> None:
    """Show what changed since the last prompt."""
    sessions.show_status(event, context)


@hookimpl(trylast=True)
def on_subagent_start(event: SubagentStart, context: Context) -> None:
    """Show one agent more, and the phase it was launched for."""
    sessions.show_status(event, context)


@hookimpl(trylast=True)
def on_subagent_stop(event: SubagentStop, context: Context) -> None:
    """Show one agent less."""
    sessions.show_status(event, context)


@hookimpl(match="Agent|Task", trylast=True)
def on_post_tool_use(event: PostToolUse, context: Context) -> None:
    """Show the phase that an agent's result led to."""
    sessions.show_status(event, context)


@hookimpl(trylast=True)
def on_pre_compact(event: PreCompact, context: Context) -> None:
    """Show that the workflow was saved just now."""
    sessions.show_status(event, context)
