"""Takes evidence of a skill's workflow at each command, not only when a turn ends; off until `handlers.on` names it.

Commits, test results and lint results are told at once then, at the cost of a process for each command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import deliver, hookimpl, sessions

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PostToolUse, PostToolUseFailure

OFF_BY_DEFAULT = True


@hookimpl(match="Bash|PowerShell")
def on_post_tool_use(event: PostToolUse, context: Context) -> list[Outcome]:
    """Record what the command shows, and tell what is new."""
    return [] if event.in_subagent else deliver(sessions.take_evidence(event, context))


@hookimpl(match="Bash|PowerShell")
def on_post_tool_use_failure(event: PostToolUseFailure, context: Context) -> list[Outcome]:
    """Do so for a command that failed."""
    return [] if event.in_subagent else deliver(sessions.take_evidence(event, context))
