"""Take from events what they say about agents: that one runs, has ended, returned or failed.

Each function takes the event that its docstring names, and its context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.memory.rows import Agent
from holdfast.sessions import (
    agent_relaunch,
    agents,
    conversations,
    owners,
    progress,
    scripts,
)
from holdfast.sessions.agent_relaunch import PASSED, Relaunch
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import briefs, registry
from holdfast.workflow.wording import Message

if TYPE_CHECKING:
    from collections.abc import Collection

    from holdfast.clients.client import AgentResult, TaskNotification
    from holdfast.sessions.agents import State
    from holdfast.sessions.hook import Call, Context, Event, Returned
    from holdfast.workflow.model import Phase, Workflow


def start_agent(event: Event, context: Context) -> list[Message]:
    """Note at a `SubagentStart` that an agent runs.

    Return its task and the reminders of the workflow that it works for, once per agent.
    """
    run, (project, conversation) = event.agent_id, Workspace.at(event, context)
    if not run or not event.agent_type:
        return []
    agent = agents.record_report(project, conversation, run, "running", agent_type=event.agent_type)
    conversation = agent.conversation
    if agent.call and agent.since != agent.launched_at and not agent.judged:
        progress.restart(project, conversation, agent)
    if agent.reminded:
        return []
    workflow, phase = _worked_for(project, conversation, run)
    if workflow is None:
        return []
    brief = registry.brief(project, workflow, phase) if phase else None
    text = briefs.reminders(workflow, phase, root=context.root, brief=brief)
    return [Message(text, on_delivered=lambda: agents.change(project, agent, reminded=True))] if text else []


def compacts_agent(event: Event, context: Context) -> bool:
    """Return whether it is a subagent that is compacted, not the main conversation, also where no client says so.

    A subagent shares its parent's session, whose workflow is neither saved nor restored then.

    `event` is a `PreCompact`, a `PostCompact`, or a `SessionStart` with the source `compact`.
    """
    return event.in_subagent or agents.compacts_itself(
        context.project, conversations.of(context.project, event.session_id), context.environ
    )


def note_agent(event: Event, context: Context, state: State, words: str, *, transcript: str = "") -> None:
    """Note how an agent ended, as an event reports that names it; whether it succeeded is judged later.

    `state` is `stopped` or `failed`, `words` its last message, or the error. `transcript` is the path of its own, empty
    if unknown.
    """
    if event.agent_id:
        script = context.project.client.agent_runs().run_of(transcript)
        about: dict[str, Any] = {"kind": "script agent", "parent": script} if script else {}
        agents.record_report(
            context.project,
            conversations.of(context.project, event.session_id),
            event.agent_id,
            state,
            words,
            agent_type=event.agent_type or "",
            transcript=transcript,
            **about,
        )


def relaunch(event: Call, context: Context) -> Relaunch:
    """Note at a `PreToolUse` that agents are launched, and say what to do if they were launched before.

    Nothing finished is used again unless its run was interrupted or named, or the same work is launched again under
    the same prompt of a person after the conversation restarted. An agent's result must still hold: nothing was edited
    since, and the agent isn't part of a loop. A failed result never is, nor an empty one of a single agent. Permissions
    stay as they are.
    """
    if context.config.agents == "off" or context.project.ledger.problem:
        return PASSED
    judge = scripts.judge_script if event.tool_name == "Workflow" else agent_relaunch.judge_agent
    return judge(event, context)


def note_result(event: Returned, context: Context, result: AgentResult) -> None:
    """Note at a `PostToolUse` what a foreground agent returned (`holdfast.events.agent_result`).

    A background launch returns at once and has no result yet.
    """
    project, call = context.project, agents.call_id(event)
    conversation = conversations.of(project, event.session_id)
    agents.record_return(project, conversation, call, result)
    response, agent = event.tool_response, agents.of_call(project, conversation, call)
    if agent and isinstance(response, dict) and response.get("status") == "teammate_spawned":
        agents.change(project, agent, kind="teammate", name=str(response.get("name") or event.tool_input.get("name")))


def note_failure(event: Call, context: Context, error: str) -> None:
    """Note at a `PostToolUseFailure` the `error` of a launch; the client doesn't say which agent it was."""
    conversation = conversations.of(context.project, event.session_id)
    call = agents.call_id(event)
    agents.record_failure(context.project, conversation, call, error)


def note_notice(event: Event, context: Context, notice: TaskNotification) -> None:
    """Note how a background agent or a script ended, as a `notice` (`event.task_notification`) with its result says."""
    conversation = conversations.of(context.project, event.session_id)
    if not scripts.note_notice(context.project, conversation, notice):
        agents.record_notice(context.project, conversation, notice, agents.run_id(notice.task_id, notice.tool_use_id))


def record_stop(event: Event, context: Context, listed: Collection[str] | None) -> None:
    """Note at a `Stop` which results the main conversation got, and which agents are no longer `listed`.

    These are the ids of the background tasks that the client lists; None if the client doesn't list them.
    """
    project, conversation = Workspace.at(event, context)
    conversations.record_stop(project, conversation)
    # An agent that is no longer listed may have reported its end when the ledger could not be written.
    waiting = agents.waiting(project, conversation)
    if any(each.unused or (listed is not None and each.run not in listed) for each in waiting):
        agents.catch_up(project, conversation, event.transcript_path, most=agents.TURN_BYTES)
    if listed is not None:
        agents.mark_missing(project, conversation, listed)
        scripts.mark_ended(project, conversation, listed)


def start_epoch(event: Event, context: Context) -> None:
    """Record that a session's conversation restarts, so the model no longer knows its launches.

    It does at a `SessionStart` after a compaction or `/clear`, or of a session that is resumed. After `/clear`, the
    session keeps what the one before it has at work, but no earlier result answers anything: the person starts over.
    """
    if conversations.start_epoch(event, context):
        project, conversation = Workspace.at(event, context)
        agents.join_duplicates(project, conversation)
        project.ledger.table(Agent).update({"prompt_id": agents.CLEARED}, conversation=conversation)


def end_agents(event: Event, context: Context) -> None:
    """Record that the agents of a client process that is gone have ended with it.

    To be called at the `SessionStart` that resumes the session, before `join` notes the new process.
    """
    project, conversation = Workspace.at(event, context)
    if conversations.process_gone(project, conversation):
        if agent_relaunch.broke_off(project, conversation):  # its results answer its calls under any later prompt
            prompt = conversations.current_request(project, conversation).prompt
            project.ledger.table(Agent).update({"prompt_id": agents.ANY}, conversation=conversation, prompt_id=prompt)
        agents.catch_up(project, conversation, event.transcript_path)
        agents.mark_missing(project, conversation, ())


def _worked_for(project: Workspace, conversation: str, run: str) -> tuple[Workflow | None, Phase | None]:
    """Return the workflow an agent was launched for, with its phase; else the only one its session owns, if any."""
    found = [each for each in registry.candidates(project, conversation).workflows if each.resumable]
    calls = agents.candidates(project, conversation, run)
    phases = {each.phase for each in calls}
    for workflow in found:
        if calls and {each.workflow for each in calls} == {workflow.key}:
            return workflow, next((each for each in workflow.phases if phases == {each.id}), None)
    holders = owners.holders(project, found)
    owned = [each for each in found if holders[each.key] == conversation]
    return (owned[0], None) if len(owned) == 1 and owned[0].reminders else (None, None)
