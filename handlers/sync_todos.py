"""Updates phases, Markdown view and to-do list when subagents finish.

To-dos follow the workflow and never move it (R000-32). A hook can't call a tool (I000-11), so the model is told the
list to write, once each time it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import advise, ask, change_input, deliver, deny, hookimpl, sessions
from holdfast.events import agent_result

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PostToolUse, PostToolUseFailure, PreCompact, PreToolUse, SessionStart, UserPromptSubmit


@hookimpl(match="Agent|Task|TodoWrite")
def on_pre_tool_use(event: PreToolUse, context: Context) -> list[Outcome]:
    """Start the phase an agent is launched for, or hold the launch; correct a to-do list that contradicts the workflow.

    A launch that is held starts nothing. If a person allows it, the phase starts as its call returns (I000-6). What a
    launch inside an agent starts is told to the main conversation, which has the to-do list.
    """
    sessions.touch(event, context)
    if event.in_subagent:
        if event.tool_name != "TodoWrite":
            sessions.launch_agent(event, context)
        return []
    moved = sessions.settle_agents(event, context)
    if event.tool_name != "TodoWrite":
        if held := sessions.held_launch(event, context):
            told = deliver(sessions.report(event, context, moved))
            answer = [deny(held)] if context.config.hold == "deny" else [ask(held), advise(held)]  # ask tells the user
            return [*answer, *told]
        moved += sessions.launch_agent(event, context)
        return deliver(sessions.report(event, context, moved))
    corrected = sessions.correct_todos(event, context)
    report = deliver(sessions.report(event, context, moved))
    if corrected is None:
        return report
    todos = change_input({**event.tool_input, "todos": corrected.todos})
    return [todos, *deliver(corrected.messages), *report]


@hookimpl(match="Agent|Task|TaskCreate|TaskUpdate")
def on_post_tool_use(event: PostToolUse, context: Context) -> list[Outcome]:
    """Finish the phase of an agent that returned (R000-26).

    Tools for task lists move nothing (I000-1), but the ids of tasks that represent phases are stored.
    """
    sessions.touch(event, context)
    if not event.is_agent_launch:
        if not event.in_subagent:
            sessions.note_task(event, context)
        return []
    moved = sessions.finish_agent(event, context, agent_result(event.tool_response))
    unmoved = [] if event.in_subagent else sessions.report_unmoved(event, context)
    return deliver([*sessions.report(event, context, moved), *unmoved])


@hookimpl(match="Agent|Task")
def on_post_tool_use_failure(event: PostToolUseFailure, context: Context) -> list[Outcome]:
    """Fail the phase of an agent that failed."""
    return deliver(sessions.report(event, context, sessions.finish_agent(event, context, None)))


@hookimpl
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> list[Outcome]:
    """Move the phases of background agents that have reported since the last main-thread event."""
    if event.in_subagent:
        return []
    moved = sessions.settle_agents(event, context)
    sessions.abandon_calls(event, context)
    return deliver(sessions.report(event, context, moved))


@hookimpl(tryfirst=True)
def on_pre_compact(event: PreCompact, context: Context) -> None:
    """Update the workflow before it is saved."""
    if not event.in_subagent:
        sessions.settle_agents(event, context)


@hookimpl(match="compact|resume")
def on_session_start(event: SessionStart, context: Context) -> None:
    """Update the workflow before it is restored; if it isn't, the next prompt tells what moved."""
    if not event.in_subagent and (event.source == "compact" or sessions.crashed(event, context)):
        sessions.settle_agents(event, context)
