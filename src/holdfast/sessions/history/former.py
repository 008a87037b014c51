"""Events of sessions, owners and agents, which aren't in the log yet. This goes when their modules append their own."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.sessions import archive
from holdfast.sessions.history import timeline_event
from holdfast.sessions.history.timeline_event import Asked, TimelineEvent
from holdfast.sessions.ownership import owners, sessions
from holdfast.workflow import registry
from holdfast.workflow.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

_ENDED = {
    "missing": "agent is gone",
    "stopped": "agent stopped",
    "completed": "agent completed",
    "failed": "agent failed",
}


def happened(
    project: Workspace, since: datetime | None, session: str | None, workflow: Workflow | None, limit: int
) -> list[TimelineEvent]:
    """Return the events of sessions, owners and agents, newest first."""
    asked = Asked(
        limit,
        clock.stamp(since) if since else "",
        session or "",
        workflow.key if workflow else "",
        worktree=project.worktree if workflow else "",
    )
    sources = (sessions.happened, owners.happened, of_agents, reused)
    found = [each for source in sources for each in source(project, asked)]
    found.sort(key=attrgetter("at"))
    return _titled(project, found[::-1][:limit])


def of_agents(project: Workspace, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: agents that were launched, and agents that reported an end."""
    begun = timeline_event.newest(project, asked, table="launches", at="launched_at")
    return [
        *(_of_agent(row, row["launched_at"], "agent launched", "") for row in begun),
        *(_of_agent(row, row["changed_at"], _ENDED[row["state"]], row["words"]) for row in _ended(project, asked)),
    ]


def reused(project: Workspace, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: launches that used what an earlier one had left."""
    found = []
    for table, at, column in (("script_runs", "launched_at", "reused"), ("agent_calls", "called_at", "refused")):
        said = {"where": f"{column} <> ''", "workflow": ""}
        for row in timeline_event.newest(project, asked, table=table, at=at, **said):
            text = one_line(row[column], 300)
            found.append(
                TimelineEvent(
                    *(row[at], "agent", "results used again", row["session"]), detail=text, worktree=row["worktree"]
                )
            )
    return found


def _ended(project: Workspace, asked: Asked) -> list[dict[str, Any]]:
    """Return the runs that have ended, each once, with the workflow and phase of a launch that names the run."""
    columns = "session, agent_id, state, words, changed_at, worktree"
    if asked.workflow:
        table, columns = "agents", f"{columns}, workflow, phase, run_type AS agent_type"
    else:
        launches = (
            "FROM launches WHERE launches.project = runs.project AND launches.session = runs.session"
            " AND launches.agent_id = runs.agent_id"
        )
        of_launch = ", ".join(f"(SELECT MAX({each}) {launches}) AS {each}" for each in ("workflow", "phase"))
        table, columns = "runs", f"{columns}, agent_type, {of_launch}"
    where = "state <> 'running'"
    return timeline_event.newest(project, asked, table=table, at="changed_at", where=where, columns=columns)


def _of_agent(row: Mapping[str, Any], at: str, what: str, words: str) -> TimelineEvent:
    said = one_line(words, 120)
    return TimelineEvent(
        *(at, "agent", what, row["session"], row["workflow"] or "", "", row["phase"] or ""),
        detail=": ".join(filter(None, (row["agent_type"] or row["agent_id"] or "", said))),
        worktree=row["worktree"],
        data={"agent_id": row["agent_id"], "agent_type": row["agent_type"], "last_message": words},
    )


def _titled(project: Workspace, found: Iterable[TimelineEvent]) -> list[TimelineEvent]:
    """Add the workflow's title to events that have only its key."""
    found = list(found)
    titles = {each.workflow: each.title for each in found if each.title}
    if any(each.workflow and each.workflow not in titles for each in found):
        titles |= {each.key: each.title for each in registry.all_found(project).workflows}
    if any(each.workflow and each.workflow not in titles for each in found):
        titles |= {each.workflow.key: each.workflow.title for each in archive.entries(project)}
    return [
        each
        if each.title or not each.workflow
        else replace(each, title=titles.get(each.workflow, each.workflow.rpartition("#")[2]))
        for each in found
    ]
