"""Stores what subagents report, and gives a new one its task and the reminders of its workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import deliver, hookimpl, sessions
from holdfast.events import agent_result

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import (
        PostToolUse,
        PostToolUseFailure,
        SessionStart,
        Stop,
        StopFailure,
        SubagentStart,
        SubagentStop,
        UserPromptSubmit,
    )

RUN = "wf_"  # the beginning of the id of a script's run


@hookimpl(tryfirst=True)
def on_subagent_start(event: SubagentStart, context: Context) -> list[Outcome]:
    """Record that an agent runs, and give it its task and the reminders of its workflow, once."""
    sessions.touch(event, context)
    return deliver(sessions.start_agent(event, context))


@hookimpl(tryfirst=True)
def on_subagent_stop(event: SubagentStop, context: Context) -> None:
    """Note an agent's last message; whether it succeeded is judged later. A compaction's own agent has no result."""
    sessions.touch(event, context)
    if event.agent_type:
        words, transcript = event.last_assistant_message or "", event.agent_transcript_path
        sessions.note_agent(event, context, "stopped", words, transcript=transcript)


@hookimpl(tryfirst=True)
def on_stop_failure(event: StopFailure, context: Context) -> None:
    """Record that an agent failed with an API error; without an agent_id, the main conversation did."""
    sessions.note_agent(event, context, "failed", event.last_assistant_message or event.error)


@hookimpl(match="compact|resume|clear", tryfirst=True)
def on_session_start(event: SessionStart, context: Context) -> None:
    """Record that the conversation begins anew, and that the agents of a client process that is gone ended with it.

    After `/clear`, agents go on in the same process, under another session id.
    """
    if event.in_subagent:
        return
    sessions.start_epoch(event, context)
    if event.source == "resume":
        sessions.end_agents(event, context)


@hookimpl
def on_stop(event: Stop, context: Context) -> None:
    """Record that the main conversation has stopped, which results it got, and which agents are gone."""
    told = "background_tasks" in event.model_fields_set  # clients before 2.1.145 don't list them
    sessions.record_stop(event, context, {task.id for task in event.background_tasks if task.id} if told else None)
    sessions.take_evidence(event, context)


@hookimpl(match="Agent|Task|Workflow", tryfirst=True)
def on_post_tool_use(event: PostToolUse, context: Context) -> None:
    """Note what a foreground agent returned, and which run a script started.

    A background launch returns at once and has no result yet.
    """
    sessions.touch(event, context)
    if event.tool_name == "Workflow":
        if not event.in_subagent:
            sessions.note_script_run(event, context)
    else:
        sessions.note_result(event, context, agent_result(event.tool_response))


@hookimpl(match="Agent|Task", tryfirst=True)
def on_post_tool_use_failure(event: PostToolUseFailure, context: Context) -> None:
    """Record that a launch failed; the client doesn't say which agent it was."""
    sessions.note_failure(event, context, event.error)


@hookimpl(tryfirst=True)
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> None:
    """Note what a person asks for, or how a background agent or run ended, from the prompt that the client made."""
    if event.in_subagent:
        return
    if event.task_notification:
        sessions.note_notice(event, context, event.task_notification)
    elif event.from_person:
        sessions.record_prompt(event, context)
        if RUN in event.prompt:
            sessions.carry_runs(event, context, event.prompt)
