"""Locks the file that an agent edits, and asks before somebody else edits it too; off until `locks = "on"`.

A lock lasts until its agent ends, or some minutes after the agent's last edit of the file. The answer to an edit that
conflicts is `ask`, as in `hold_edits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import ask, hookimpl, sessions

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PreToolUse, SubagentStop

RUNS_WHEN = {"locks": ["on"]}


@hookimpl(match="Edit|Write|MultiEdit|NotebookEdit")
def on_pre_tool_use(event: PreToolUse, context: Context) -> Outcome | None:
    """Lock the file, or ask if another agent has locked it."""
    taken = sessions.lock_file(event, context)
    return ask(taken) if taken else None


@hookimpl
def on_subagent_stop(event: SubagentStop, context: Context) -> None:
    """Free the files that the agent has locked."""
    sessions.unlock_files(event, context)
