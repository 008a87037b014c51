"""A compaction: the main conversation's or a subagent's own, and the client's summary of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.files.redact import beginning
from holdfast.sessions import agents, compactions, conversations, deliveries
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event

SUMMARY_LIMIT_CHARS = 200_000  # characters of a summary that are kept; real ones have some ten thousand


def compacts_agent(event: Event, context: Context) -> bool:
    """Return whether it is a subagent that is compacted, not the main conversation, also where no client says so.

    A subagent shares its parent's session, whose workflow is neither saved nor restored then.

    `event` is a `PreCompact`, a `PostCompact`, or a `SessionStart` with the source `compact`.
    """
    return event.in_subagent or is_of_agent(
        context.project, conversations.of(context.project, event.session_id), context.environ
    )


def keep_summary(event: Event, context: Context, text: str) -> None:
    """Keep the summary that the client's compaction wrote, without secrets, until `restore` says what it left out.

    Args:
        event: the `SubagentStop` of the compaction's own agent (`is_compaction`).
        context: its context.
        text: the summary, which replaces an earlier one that nobody took.
    """
    conversation = conversations.of(context.project, event.session_id)
    conversations.change(context.project, conversation, summary=beginning(text, SUMMARY_LIMIT_CHARS))


def report_losses(event: Event, context: Context, text: str) -> None:
    """Count what a summary kept of the workflow that a compaction's session was given last, unless that is known.

    Args:
        event: a `PostCompact`.
        context: its context.
        text: the summary.
    """
    project, conversation = context.project, conversations.of(context.project, event.session_id)
    last = next(iter(deliveries.recent(project, 1, conversation)), None)
    if last is None or not last.compaction or compacts_agent(event, context):
        return  # of an agent's own summary the main conversation's guidance says nothing
    for workflow in registry.candidates(Workspace.of(project), conversation).workflows:
        if workflow.key == last.workflow:
            compactions.count_facts(project, last.compaction, workflow, text)


def take_summary(project: OpenProject, conversation: str) -> str:
    """Return what a conversation's summary says and forget it; empty if nobody noted one."""
    with project.ledger.transaction():
        row = conversations.get(project, conversation)
        if not row.summary:
            return ""
        conversations.change(project, conversation, summary="")
    return row.summary


def is_of_agent(project: OpenProject, conversation: str, environ: Mapping[str, str]) -> bool:
    """Return whether an unmarked compaction event is a subagent's own.

    Never where the client marks such events. Else it is an agent's while the main thread waits for a foreground agent,
    or rests after a Stop with an agent still running. While the main thread works beside a background agent nothing
    tells the two apart; then it counts as the main one.
    """
    if project.client.marks_agents(environ):
        return False
    idle = conversations.get(project, conversation).idle and bool(_running(project, conversation))
    return idle or bool(_foreground_agents(project, conversation))


def compacted_agent(project: OpenProject, conversation: str) -> str | None:
    """Return the agent whose own compaction an unmarked event announces: the one that runs; None where several do.

    To be asked where `is_of_agent` says that it is one's.
    """
    found = {*_foreground_agents(project, conversation), *_running(project, conversation)}
    return found.pop() if len(found) == 1 else None


def _foreground_agents(project: OpenProject, conversation: str) -> list[str]:
    """Return the agents for which the main thread may be waiting right now."""
    calls = agents.unanswered(project, conversation)
    return [
        run.run
        for run in (agents.unclaimed(project, conversation) if calls else ())
        if run.status == "running" and any(run.launched_at >= each.launched_at for each in calls)  # else interrupted
    ]


def _running(project: OpenProject, conversation: str) -> list[str]:
    return [each.run for each in agents.waiting(project, conversation) if each.status == "running"]
