"""Records every event, redacted, for replay and for tests; off until the key `handlers.on` names it.

WorktreeCreate and WorktreeRemove are left out: the client expects hooks on them to make and remove worktrees.
"""

from holdfast import Context, hookimpl, sessions
from holdfast import events as e

OFF_BY_DEFAULT = True


def _record(event: e.Event, context: Context) -> None:
    sessions.record(event, context, event.model_dump(by_alias=True, exclude_unset=True) | event.unreadable)


@hookimpl
def on_session_start(event: e.SessionStart, context: Context) -> None:
    """Record SessionStart."""
    _record(event, context)


@hookimpl
def on_setup(event: e.Setup, context: Context) -> None:
    """Record Setup."""
    _record(event, context)


@hookimpl
def on_session_end(event: e.SessionEnd, context: Context) -> None:
    """Record SessionEnd."""
    _record(event, context)


@hookimpl
def on_user_prompt_submit(event: e.UserPromptSubmit, context: Context) -> None:
    """Record UserPromptSubmit."""
    _record(event, context)


@hookimpl
def on_user_prompt_expansion(event: e.UserPromptExpansion, context: Context) -> None:
    """Record UserPromptExpansion."""
    _record(event, context)


@hookimpl
def on_pre_tool_use(event: e.PreToolUse, context: Context) -> None:
    """Record PreToolUse."""
    _record(event, context)


@hookimpl
def on_post_tool_use(event: e.PostToolUse, context: Context) -> None:
    """Record PostToolUse."""
    _record(event, context)


@hookimpl
def on_post_tool_use_failure(event: e.PostToolUseFailure, context: Context) -> None:
    """Record PostToolUseFailure."""
    _record(event, context)


@hookimpl
def on_post_tool_batch(event: e.PostToolBatch, context: Context) -> None:
    """Record PostToolBatch."""
    _record(event, context)


@hookimpl
def on_permission_request(event: e.PermissionRequest, context: Context) -> None:
    """Record PermissionRequest."""
    _record(event, context)


@hookimpl
def on_permission_denied(event: e.PermissionDenied, context: Context) -> None:
    """Record PermissionDenied."""
    _record(event, context)


@hookimpl
def on_stop(event: e.Stop, context: Context) -> None:
    """Record Stop."""
    _record(event, context)


@hookimpl
def on_stop_failure(event: e.StopFailure, context: Context) -> None:
    """Record StopFailure."""
    _record(event, context)


@hookimpl
def on_subagent_start(event: e.SubagentStart, context: Context) -> None:
    """Record SubagentStart."""
    _record(event, context)


@hookimpl
def on_subagent_stop(event: e.SubagentStop, context: Context) -> None:
    """Record SubagentStop."""
    _record(event, context)


@hookimpl
def on_pre_compact(event: e.PreCompact, context: Context) -> None:
    """Record PreCompact."""
    _record(event, context)


@hookimpl
def on_post_compact(event: e.PostCompact, context: Context) -> None:
    """Record PostCompact."""
    _record(event, context)


@hookimpl
def on_task_created(event: e.TaskCreated, context: Context) -> None:
    """Record TaskCreated."""
    _record(event, context)


@hookimpl
def on_task_completed(event: e.TaskCompleted, context: Context) -> None:
    """Record TaskCompleted."""
    _record(event, context)


@hookimpl
def on_teammate_idle(event: e.TeammateIdle, context: Context) -> None:
    """Record TeammateIdle."""
    _record(event, context)


@hookimpl
def on_pre_model_switch(event: e.PreModelSwitch, context: Context) -> None:
    """Record PreModelSwitch."""
    _record(event, context)


@hookimpl
def on_post_model_switch(event: e.PostModelSwitch, context: Context) -> None:
    """Record PostModelSwitch."""
    _record(event, context)


@hookimpl
def on_notification(event: e.Notification, context: Context) -> None:
    """Record Notification."""
    _record(event, context)


@hookimpl
def on_message_display(event: e.MessageDisplay, context: Context) -> None:
    """Record MessageDisplay."""
    _record(event, context)


@hookimpl
def on_config_change(event: e.ConfigChange, context: Context) -> None:
    """Record ConfigChange."""
    _record(event, context)


@hookimpl
def on_instructions_loaded(event: e.InstructionsLoaded, context: Context) -> None:
    """Record InstructionsLoaded."""
    _record(event, context)


@hookimpl
def on_cwd_changed(event: e.CwdChanged, context: Context) -> None:
    """Record CwdChanged."""
    _record(event, context)


@hookimpl
def on_file_changed(event: e.FileChanged, context: Context) -> None:
    """Record FileChanged."""
    _record(event, context)


@hookimpl
def on_directory_added(event: e.DirectoryAdded, context: Context) -> None:
    """Record DirectoryAdded."""
    _record(event, context)


@hookimpl
def on_elicitation(event: e.Elicitation, context: Context) -> None:
    """Record Elicitation."""
    _record(event, context)


@hookimpl
def on_elicitation_result(event: e.ElicitationResult, context: Context) -> None:
    """Record ElicitationResult."""
    _record(event, context)
