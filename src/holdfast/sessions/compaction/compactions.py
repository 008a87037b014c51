"""A compaction: the main conversation's or a subagent's own, and the client's summary of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.files.redact import beginning
from holdfast.sessions import agents, compactions, conversations, deliveries
from holdfast.sessions.ownership import sessions
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

    Args:
        event: a `PreCompact`, a `PostCompact`, or a `SessionStart` with the source `compact`.
        context: its context.
    """
    return event.in_subagent or is_an_agents(context.project, event.session_id, context.environ)


def keep_summary(event: Event, context: Context, text: str) -> None:
    """Keep the summary that the client's compaction wrote, until `restore` says what it left out.

    Args:
        event: the `SubagentStop` of the compaction's own agent (`is_compaction`).
        context: its context.
        text: the summary.
    """
    note_summary(context.project, event.session_id, text)


def report_losses(event: Event, context: Context, text: str) -> None:
    """Count what a summary kept of the workflow that a compaction's session was given last, unless that is known.

    Args:
        event: a `PostCompact`.
        context: its context.
        text: the summary.
    """
    project, session = context.project, event.session_id
    last = next(iter(deliveries.recent(project, 1, conversations.of(project, session))), None)
    if last is None or not last.compaction or compacts_agent(event, context):
        return  # of an agent's own summary the main conversation's guidance says nothing
    for workflow in registry.candidates(Workspace.of(project), session).workflows:
        if workflow.key == last.workflow:
            compactions.count_facts(project, last.compaction, workflow, text)


def note_summary(project: OpenProject, session: str, text: str) -> None:
    """Keep what a session's summary says, without secrets, in place of an earlier one that nobody took."""
    project.ledger.run(
        "INSERT INTO summaries (project, session, said, said_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (project, session) DO UPDATE SET said = excluded.said, said_at = excluded.said_at",
        *(project.key, session, beginning(text, SUMMARY_LIMIT_CHARS), clock.stamp()),
    )


def take_summary(project: OpenProject, session: str) -> str:
    """Return what a session's summary says and forget it; empty if nobody noted one."""
    with project.ledger.transaction():
        row = project.ledger.one("SELECT said FROM summaries WHERE project = ? AND session = ?", project.key, session)
        project.ledger.run("DELETE FROM summaries WHERE project = ? AND session = ?", project.key, session)
    return str(row["said"]) if row else ""


def is_an_agents(project: OpenProject, session: str, environ: Mapping[str, str]) -> bool:
    """Return whether an unmarked compaction event is a subagent's own.

    Never where the client marks such events. Else it is an agent's while the main thread waits for a foreground agent,
    or rests after a Stop with an agent still running. While the main thread works beside a background agent nothing
    tells the two apart; then it counts as the main one.
    """
    if project.client.marks_agents(environ):
        return False
    idle = sessions.is_idle(project, session) and bool(_running(project, session))
    return idle or in_foreground(project, session)


def whose(project: OpenProject, session: str) -> str | None:
    """Return the agent whose own compaction an unmarked event announces: the one that runs; None where several do.

    To be asked where `is_an_agents` says that it is one's.
    """
    found = {*_waited_for(project, session), *_running(project, session)}
    return found.pop() if len(found) == 1 else None


def in_foreground(project: OpenProject, session: str) -> bool:
    """Return whether the main thread waits for a foreground agent right now.

    Then a compaction can only be the agent's own: clients before the one that marks such events with `agent_id`
    send them unmarked.
    """
    return bool(_waited_for(project, session))


def _waited_for(project: OpenProject, session: str) -> list[str]:
    """Return the agents that may be running in the foreground."""
    calls = agents.unanswered(project, session)
    return [
        run.run
        for run in (agents.unclaimed(project, session) if calls else ())
        if run.status == "running" and any(run.launched_at >= each.launched_at for each in calls)  # else interrupted
    ]


def _running(project: OpenProject, session: str) -> list[str]:
    return [each.run for each in agents.waiting(project, session) if each.status == "running"]
