"""Keeps what subagents report of themselves: running, stopped, completed, failed."""

from holdfast import Context, hookimpl
from holdfast.events import (
    PostToolUse,
    PostToolUseFailure,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
    UserPromptSubmit,
)
from holdfast.events.agents import agent_result
from holdfast.survival import agents, sessions
from holdfast.survival.agents import State

STATES: dict[str, State] = {
    "completed": "completed",
    "running": "running",
    "": "stopped",
}  # any other word is a failure


@hookimpl(tryfirst=True)
def on_subagent_start(event: SubagentStart, context: Context) -> None:
    """Note that an agent runs."""
    if event.agent_id and event.agent_type:
        agents.reported(context.project, event.session_id, event.agent_id, event.agent_type, "running")


@hookimpl(tryfirst=True)
def on_subagent_stop(event: SubagentStop, context: Context) -> None:
    """Note an agent's last words; whether it succeeded is judged later. A compaction's own agent is nobody's result."""
    if event.agent_id and event.agent_type:
        words = event.last_assistant_message or ""
        agents.reported(context.project, event.session_id, event.agent_id, event.agent_type, "stopped", words)


@hookimpl(tryfirst=True)
def on_stop_failure(event: StopFailure, context: Context) -> None:
    """Note that an agent died of an API error; without an agent_id it is the main conversation that did."""
    if event.agent_id:
        words = event.last_assistant_message or event.error
        agents.reported(context.project, event.session_id, event.agent_id, event.agent_type or "", "failed", words)


@hookimpl
def on_stop(event: Stop, context: Context) -> None:
    """Note that the main conversation rests, and which background agents the client no longer lists."""
    sessions.rest(context.project, event.session_id)
    if "background_tasks" in event.model_fields_set:  # clients before 2.1.145 do not say
        listed = {task.id for task in event.background_tasks if task.id}
        agents.still_there(context.project, event.session_id, listed)


@hookimpl(match="Agent|Task", tryfirst=True)
def on_post_tool_use(event: PostToolUse, context: Context) -> None:
    """Note what a foreground agent returned; a background launch returns at once and is no result."""
    if event.in_subagent:
        return
    result = agent_result(event.tool_response)
    if result.status == "completed":
        run = agents.run_id(result.agent_id, agents.call_id(event.tool_use_id, event.tool_input))
        state: State = "failed" if result.is_api_error else "completed"
        agents.reported(context.project, event.session_id, run, result.agent_type, state, result.text)


@hookimpl(match="Agent|Task", tryfirst=True)
def on_post_tool_use_failure(event: PostToolUseFailure, context: Context) -> None:
    """Note that a launch failed; the client does not say which agent it was."""
    if not event.in_subagent:
        run = agents.run_id("", agents.call_id(event.tool_use_id, event.tool_input))
        agents.reported(context.project, event.session_id, run, "", "failed", event.error)


@hookimpl(tryfirst=True)
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> None:
    """Note how a background agent ended, from the prompt the client makes of it."""
    note = event.task_notification
    if note and not event.in_subagent:
        state = STATES.get(note.status, "failed")
        run = agents.run_id(note.task_id, note.tool_use_id)
        agents.reported(context.project, event.session_id, run, "", state, note.result or note.summary)
