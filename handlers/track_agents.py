"""Keeps what subagents report of themselves, and gives a new one its task and the reminders of its workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import advise, hookimpl
from holdfast.sessions.agents import lifecycle
from holdfast.sessions.ownership import sessions

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
    from holdfast.workflow.model import Phase, Workflow


@hookimpl(tryfirst=True)
def on_subagent_start(event: SubagentStart, context: Context) -> Outcome | None:
    """Note that an agent runs; give it, once, its task and the reminders of the workflow it works for."""
    sessions.heard(context.project, event.session_id)
    if not event.agent_id or not event.agent_type:
        return None
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import briefs, registry

    project, session, agent = context.project, event.session_id, event.agent_id
    lifecycle.reported(project, session, agent, event.agent_type, "running")
    if lifecycle.reminded(project, session, agent):
        return None
    workflow, phase = _worked_for(event, context)
    if workflow is None:
        return None
    brief = registry.of_agents(workflow.format).brief(Workspace.of(project), workflow, phase) if phase else None
    text = briefs.reminders(workflow, phase, root=context.root, brief=brief)
    return advise(text, on_delivered=lambda: lifecycle.remind(project, session, agent)) if text else None


@hookimpl(tryfirst=True)
def on_subagent_stop(event: SubagentStop, context: Context) -> None:
    """Note an agent's last words; whether it succeeded is judged later. A compaction's own agent is nobody's result."""
    sessions.heard(context.project, event.session_id)
    if event.agent_id and event.agent_type:
        words, own = event.last_assistant_message or "", event.agent_transcript_path
        lifecycle.reported(
            context.project, event.session_id, event.agent_id, event.agent_type, "stopped", words, transcript=own
        )


@hookimpl(tryfirst=True)
def on_stop_failure(event: StopFailure, context: Context) -> None:
    """Note that an agent died of an API error; without an agent_id it is the main conversation that did."""
    if event.agent_id:
        words = event.last_assistant_message or event.error
        lifecycle.reported(context.project, event.session_id, event.agent_id, event.agent_type or "", "failed", words)


@hookimpl(match="resume", tryfirst=True)
def on_session_start(event: SessionStart, context: Context) -> None:
    """Note that agents which ran in a client that is gone run no more: they ended with its process."""
    if not event.in_subagent and sessions.process_gone(context.project, event.session_id):
        from holdfast.events import TaskNotification
        from holdfast.sessions.agents import notices

        notices.catch_up(context.project, event.session_id, event.transcript_path, TaskNotification.noted)
        lifecycle.still_there(context.project, event.session_id, ())


@hookimpl
def on_stop(event: Stop, context: Context) -> None:
    """Note that the main conversation rests, which results it got meanwhile, and which agents are no longer listed."""
    from holdfast.events import TaskNotification
    from holdfast.sessions.agents import agent_status, notices

    sessions.rest(context.project, event.session_id)
    told = "background_tasks" in event.model_fields_set  # clients before 2.1.145 do not say
    listed = {task.id for task in event.background_tasks if task.id}
    waiting = agent_status.waiting(context.project, event.session_id)
    # The end of one that is no longer listed may have been told when nothing could be written.
    if any(each.unused or (told and each.agent_id not in listed) for each in waiting):
        most = notices.TURN
        notices.catch_up(context.project, event.session_id, event.transcript_path, TaskNotification.noted, most=most)
    if told:
        lifecycle.still_there(context.project, event.session_id, listed)


@hookimpl(match="Agent|Task", tryfirst=True)
def on_post_tool_use(event: PostToolUse, context: Context) -> None:
    """Note what a foreground agent returned; a background launch returns at once and is no result."""
    sessions.heard(context.project, event.session_id)
    if event.in_subagent:
        return
    from holdfast.events import agent_result

    call = lifecycle.call_id(event.tool_use_id, event.tool_input)
    lifecycle.returned(context.project, event.session_id, call, agent_result(event.tool_response))


@hookimpl(match="Agent|Task", tryfirst=True)
def on_post_tool_use_failure(event: PostToolUseFailure, context: Context) -> None:
    """Note that a launch failed; the client does not say which agent it was."""
    if not event.in_subagent:
        call = lifecycle.call_id(event.tool_use_id, event.tool_input)
        lifecycle.failed(context.project, event.session_id, call, event.error)


@hookimpl(tryfirst=True)
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> None:
    """Note how a background agent ended, from the prompt the client makes of it: so its result was given."""
    note = event.task_notification
    if note and not event.in_subagent:
        from holdfast.sessions.agents import notices

        words = note.result or note.summary
        notices.notified(
            context.project, event.session_id, note.task_id, note.tool_use_id, note.status, words, note.output_file
        )


def _worked_for(event: SubagentStart, context: Context) -> tuple[Workflow | None, Phase | None]:
    """Return the workflow an agent was launched for, with its phase; else the one its session owns, if only one."""
    from holdfast.sessions.agents import attribution
    from holdfast.sessions.ownership import owners
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import registry

    there = registry.candidates(Workspace.of(context.project), event.session_id).workflows
    found = [each for each in there if each.resumable]
    meant = attribution.candidates(context.project, event.session_id, event.agent_id)
    keys = {(each.workflow, each.phase) for each in meant}
    for workflow in found:
        if meant and {key for key, _ in keys} == {workflow.key}:
            names = {name for _, name in keys}
            return workflow, next((each for each in workflow.phases if names == {each.id}), None)
    owned = [each for each in found if owners.owner(context.project, each) == event.session_id]
    return (owned[0], None) if len(owned) == 1 and owned[0].reminders else (None, None)
