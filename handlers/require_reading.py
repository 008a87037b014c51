"""Watches whether the required reading is really read, and reminds of it once after a compaction.

It runs at every Read, so nothing is imported that this does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import advise, hookimpl
from holdfast.sessions.ownership import sessions
from holdfast.sessions.reading import reads

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PostToolUse, SessionStart, UserPromptSubmit

RUNS_WHEN = {"reading": ["remind", "hold"]}
NAMED = 10  # files that are named
ARRIVED = ("delivered", "confirmed", "unconfirmed")  # guidance whose reply was written


@hookimpl(match="Read")
def on_post_tool_use(event: PostToolUse, context: Context) -> None:
    """Note what was read; what a subagent reads is not before the main model, but its session lives."""
    sessions.heard(context.project, event.session_id)
    if not event.in_subagent:
        from holdfast.sessions.reading import readtexts

        readtexts.heard(context.project, event.session_id, event.tool_input, event.tool_response)


@hookimpl(match="compact")
def on_session_start(event: SessionStart, context: Context) -> None:
    """Note that the model has lost what it had read; not when it is a subagent that was compacted."""
    from holdfast.sessions.compaction import compactions

    if not event.in_subagent and not compactions.is_an_agents(context.project, event.session_id, context.environ):
        reads.compacted(context.project, event.session_id)


@hookimpl(trylast=True)
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> Outcome | None:
    """Name what has not been read since the last compaction, once, at a prompt after the guidance was given."""
    from holdfast.sessions.compaction import deliveries

    project, session = context.project, event.session_id
    last = next(iter(deliveries.recent(project, 1, session)), None)
    if event.in_subagent or last is None or last.state not in ARRIVED:
        return None
    reader = reads.reader(project, session)
    if reader.reminded >= reader.compactions:
        return None
    from holdfast.sessions.reading import reading
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import registry, wording

    workflow = reading.mine(project, session, registry.candidates(Workspace.of(project), session).workflows)
    due = reading.reminder(project, session, workflow) if workflow else []
    if due is None:
        return None
    if not workflow or not due:
        reads.reminded(project, session)
        return None
    names = [f"- {wording.one_line(each.entry)}" for each in due[:NAMED]]
    more = [f"+{len(due) - NAMED} more"] if len(due) > NAMED else []
    since = "since the compaction" if reader.compactions else "in this session"
    lines = [f"Workflow: {wording.one_line(workflow.title)}", *names, *more]
    text = wording.fenced(f"Holdfast: not read {since}, of what this workflow requires.", lines)
    return advise(text, on_delivered=lambda: reads.reminded(project, session))
