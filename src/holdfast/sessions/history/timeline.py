"""What happened in a project, out of all tables of its ledger, in the order of time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.files.redact import redact, redact_value
from holdfast.sessions.compaction import deliveries, losses, snapshots
from holdfast.sessions.history import archive, generations, history, timeline_event
from holdfast.sessions.history.timeline_event import Asked, TimelineEvent
from holdfast.sessions.ownership import owners, sessions
from holdfast.workflow import registry
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

LIMIT = 50  # happenings that are shown unless more are asked for
_ENDED = {
    "missing": "agent is gone",
    "stopped": "agent stopped",
    "completed": "agent completed",
    "failed": "agent failed",
}


def happened(
    project: Workspace,
    *,
    since: datetime | None = None,
    session: str | None = None,
    workflow: Workflow | None = None,
    limit: int = LIMIT,
) -> list[TimelineEvent]:
    """Return what happened, the newest first; no table is read beyond what is asked for.

    Args:
        project: where; its other worktrees are told of too, unless a workflow is asked for.
        since: not before this moment.
        session: only in the session with this id; what belongs to no session is left out.
        workflow: only of this workflow of this worktree, with the generations of its file.
        limit: how many at most.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    from holdfast import clock

    asked = Asked(
        limit,
        clock.stamp(since) if since else "",
        session or "",
        workflow.key if workflow else "",
        workflow.place if workflow else "",
        project.worktree if workflow else "",
        f"{workflow.place.rpartition('/')[0]}/" if workflow and workflow.spread else "",
    )
    project.ledger.index_log()
    found = [each for source in _SOURCES for each in source(project, asked)]
    order = sorted(range(len(found)), key=lambda place: (found[place].at, place), reverse=True)
    return _titled(project, [found[place] for place in order[:limit]])


def sentence(happening: TimelineEvent, phases: Mapping[tuple[str, str], str]) -> str:
    """Return what happened in a line, secrets masked: what, to which workflow and phase, and what else there is to say.

    Args:
        happening: what happened.
        phases: the titles of phases by their workflow's key and their id (`phase_titles`).
    """
    about = quoted(redact(happening.title)) if happening.title else ""
    if happening.phase:
        title = phases.get((happening.workflow, happening.phase), "")
        about += f" {one_line(happening.phase, 40)}" + (f" {quoted(title)}" if title else "")
    detail = one_line(redact(happening.detail), 300)  # before it is cut, for half a secret looks like none
    return redact(": ".join(filter(None, (happening.what, "; ".join(filter(None, (about.strip(), detail)))))))


def phase_titles(project: Workspace) -> dict[tuple[str, str], str]:
    """Return the titles of the phases of all workflows that have a file, by the workflow's key and the phase's id."""
    return {
        (workflow.key, phase.id): phase.title
        for workflow in registry.all_found(project).workflows
        for phase in workflow.phases
    }


def as_json(happening: TimelineEvent) -> dict[str, Any]:
    """Return a happening for programs, secrets masked."""
    names = ("at", "kind", "what", "session", "workflow", "title", "phase", "detail", "worktree")
    told = {name: getattr(happening, name) or None for name in names} | {"data": dict(happening.data)}
    return dict(redact_value(told))


def of_agents(project: Workspace, asked: Asked) -> list[TimelineEvent]:
    """Return which agents were launched, and which reported an end: those asked for."""
    begun = timeline_event.newest(project, asked, table="launches", at="launched_at")
    return [
        *(_of_agent(row, row["launched_at"], "agent launched", "") for row in begun),
        *(_of_agent(row, row["changed_at"], _ENDED[row["state"]], row["words"]) for row in _ended(project, asked)),
    ]


def _ended(project: Workspace, asked: Asked) -> list[dict[str, Any]]:
    """Return the runs that have ended, each once, with the workflow and phase of a launch that names it."""
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
        data={"agent_id": row["agent_id"], "agent_type": row["agent_type"], "words": words},
    )


def _titled(project: Workspace, found: Iterable[TimelineEvent]) -> list[TimelineEvent]:
    """Name the workflow of each happening whose table knows only its key."""
    found = list(found)
    titles = {each.workflow: each.title for each in found if each.title}
    if any(each.workflow and each.workflow not in titles for each in found):
        titles |= {each.key: each.title for each in registry.all_found(project).workflows}
    if any(each.workflow and each.workflow not in titles for each in found):
        titles |= {each.workflow.key: each.workflow.title for each in archive.kept(project)}
    return [
        each
        if each.title or not each.workflow
        else replace(each, title=titles.get(each.workflow, each.workflow.rpartition("#")[2]))
        for each in found
    ]


# Each tells of its table; of one moment, the later in this order happened later.
_SOURCES = (
    *(sessions.happened, owners.happened, generations.happened, snapshots.happened, deliveries.happened),
    *(losses.happened, of_agents, history.happened, archive.happened),
)
