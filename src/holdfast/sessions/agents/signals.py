"""Take from events what they say about agents: that one runs, has ended, returned or failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sessions import conversations, owners
from holdfast.sessions.agents import (
    agent_relaunch,
    agent_status,
    attribution,
    lifecycle,
    notices,
    progress,
    script_relaunch,
    script_runs,
)
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import briefs, registry
from holdfast.workflow.wording import Message

if TYPE_CHECKING:
    from collections.abc import Collection

    from holdfast.files.transcript import Notice, Result
    from holdfast.sessions.agents.lifecycle import State
    from holdfast.sessions.hook import Call, Context, Event, Returned
    from holdfast.workflow.model import Phase, Workflow


def start_agent(event: Event, context: Context) -> list[Message]:
    """Note that an agent runs. Return its task and the reminders of the workflow it works for, once per agent.

    Args:
        event: its `SubagentStart`.
        context: its context.
    """
    project, agent = context.project, event.agent_id
    session = conversations.of(project, event.session_id)
    if not agent or not event.agent_type:
        return []
    lifecycle.reported(project, session, agent, event.agent_type, "running")
    continued = agent_status.of_run(project, session, agent)
    if continued and continued.since != continued.launched_at and continued.verdict in (None, agent_status.UNWRITTEN):
        progress.restart(project, session, continued)
    if lifecycle.reminded(project, session, agent):
        return []
    workflow, phase = _worked_for(event, context, agent)
    if workflow is None:
        return []
    brief = registry.of_agents(workflow.format).brief(Workspace.of(project), workflow, phase) if phase else None
    text = briefs.reminders(workflow, phase, root=context.root, brief=brief)
    return [Message(text, on_delivered=lambda: lifecycle.remind(project, session, agent))] if text else []


def note_agent(event: Event, context: Context, state: State, words: str, *, transcript: str = "") -> None:
    """Note how an agent ended, as its own event reports; whether it succeeded is judged later.

    Args:
        event: an event that names the agent.
        context: its context.
        state: `stopped` or `failed`.
        words: its last message, or the error.
        transcript: the path of its own transcript; empty if unknown.
    """
    if event.agent_id:
        if transcript:
            script_runs.note_agent(
                context.project,
                conversations.of(context.project, event.session_id),
                event.agent_id,
                transcript,
            )
        agent = (event.agent_id, event.agent_type or "", state, words)
        lifecycle.reported(
            context.project,
            conversations.of(context.project, event.session_id),
            *agent,
            transcript=transcript,
        )


def note_prompt(event: Event, context: Context) -> None:
    """Note that a person gave a prompt, under which agents are launched from now on.

    Args:
        event: a `UserPromptSubmit` of a person, not one that the client made itself.
        context: its context.
    """
    conversations.record_prompt(event, context.project)


def carry_runs(event: Event, context: Context, prompt: str) -> None:
    """Let the model resume the runs of scripts that a person's prompt names, whichever session they are of.

    Args:
        event: the `UserPromptSubmit` of a person.
        context: its context.
        prompt: what the person said.
    """
    if context.config.agents != "off":
        script_relaunch.carry_named(event, context, prompt)


def begin_again(event: Event, context: Context) -> None:
    """Note that a session's conversation begins anew, so that the model doesn't know any more what it launched.

    After `/clear`, the session keeps what the one before it has at work.

    Args:
        event: a `SessionStart` after a compaction or `/clear`, or of a session that is resumed.
        context: its context.
    """
    if conversations.start_epoch(event, context):
        for table in ("agent_calls", "script_runs"):  # the person starts over, so no earlier result answers anything
            context.project.ledger.run(
                f"UPDATE {table} SET prompt = ? WHERE session = ?",
                *(conversations.CLEARED, conversations.of(context.project, event.session_id)),
            )


def note_script_run(event: Returned, context: Context) -> None:
    """Note which run of a script a call started.

    Args:
        event: the `PostToolUse` of the Workflow tool.
        context: its context.
    """
    script_runs.launched(event, context)


def note_result(event: Returned, context: Context, result: Result) -> None:
    """Note what a foreground agent returned. A background launch returns at once and has no result yet.

    Args:
        event: the `PostToolUse` of the Agent tool.
        context: its context.
        result: what the call returned (`holdfast.events.agent_result`).
    """
    call = lifecycle.call_id(event.tool_use_id, event.tool_input)
    lifecycle.returned(
        context.project,
        conversations.of(context.project, event.session_id),
        call,
        result,
    )
    if event.tool_input.get("name"):
        agent_relaunch.note_teammate(event, context.project)


def note_failure(event: Call, context: Context, error: str) -> None:
    """Note that a launch failed; the client doesn't say which agent it was.

    Args:
        event: the `PostToolUseFailure` of the Agent tool.
        context: its context.
        error: what went wrong.
    """
    lifecycle.failed(
        context.project,
        conversations.of(context.project, event.session_id),
        lifecycle.call_id(event.tool_use_id, event.tool_input),
        error,
    )


def note_notice(event: Event, context: Context, notice: Notice) -> None:
    """Note how a background agent ended; the notification brought its result.

    Args:
        event: the `UserPromptSubmit` that the client made of the notification.
        context: its context.
        notice: the notification (`event.task_notification`).
    """
    if script_runs.note_notice(event, context.project, notice):
        return
    told = (notice.task_id, notice.tool_use_id, notice.status, notice.words, notice.output_file)
    notices.notified(context.project, conversations.of(context.project, event.session_id), *told)


def rest(event: Event, context: Context, listed: Collection[str] | None) -> None:
    """Note that the main conversation has stopped, which results it got, and which agents are no longer listed.

    Args:
        event: a `Stop`.
        context: its context.
        listed: the ids of the background tasks that the client lists; None if the client doesn't list them.
    """
    project, session = context.project, conversations.of(context.project, event.session_id)
    conversations.record_stop(project, session)
    waiting = agent_status.waiting(project, session)
    # An agent that is no longer listed may have reported its end when the ledger could not be written.
    if any(each.unused or (listed is not None and each.agent_id not in listed) for each in waiting):
        notices.catch_up(project, session, event.transcript_path, most=notices.TURN_BYTES)
    if listed is not None:
        lifecycle.still_there(project, session, listed)
        script_runs.still_there(project, session, listed)


def end_agents(event: Event, context: Context) -> None:
    """Note that the agents of a client process that is gone have ended with it.

    Args:
        event: the `SessionStart` that resumes the session, before `join` notes the new process.
        context: its context.
    """
    project, session = context.project, conversations.of(context.project, event.session_id)
    if conversations.process_gone(project, session):
        if agent_relaunch.broke_off(project, session):
            agent_relaunch.free_calls(project, session)
        notices.catch_up(project, session, event.transcript_path)
        lifecycle.still_there(project, session, ())


def _worked_for(event: Event, context: Context, agent: str) -> tuple[Workflow | None, Phase | None]:
    """Return the workflow an agent was launched for, with its phase; else the only one its session owns, if any."""
    project, session = context.project, conversations.of(context.project, event.session_id)
    found = [each for each in registry.candidates(Workspace.of(project), session).workflows if each.resumable]
    meant = attribution.candidates(project, session, agent)
    keys = {(each.workflow, each.phase) for each in meant}
    for workflow in found:
        if meant and {key for key, _ in keys} == {workflow.key}:
            names = {name for _, name in keys}
            return workflow, next((each for each in workflow.phases if names == {each.id}), None)
    holders = owners.holders(project, found)
    owned = [each for each in found if holders[each.key] == session]
    return (owned[0], None) if len(owned) == 1 and owned[0].reminders else (None, None)
