"""Gather the content of a report from the ledger and the workflows' files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from holdfast import clock
from holdfast.memory import costs
from holdfast.sessions import agents, archive, conversations, owners, timeline
from holdfast.sessions import compactions as compacting
from holdfast.workflow import registry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from holdfast.memory.rows import Agent, Cost
    from holdfast.sessions.compactions import CompactionReport
    from holdfast.sessions.timeline import TimelineEvent
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

EVENT_LIMIT = 1_000
SESSION_LIMIT = 60


@dataclass(frozen=True, slots=True)
class Run:
    """An agent's run, with where it stands (`agents.standing`).

    A running agent ends when the report is made, and one that ended with its session when that did. `began_at` isn't
    before the report's beginning.
    """

    agent: Agent
    began_at: str
    ended_at: str
    status: str


@dataclass(frozen=True, slots=True)
class Session:
    """A session: its id, its checkout, its first and last event (UTC stamps), and its status.

    `compactions` counts those after which it went on; `runs` are its agents'.
    """

    id: str
    worktree: str
    first_at: str
    last_at: str
    status: Literal["live", "ended", "silent"]
    compactions: int = 0
    runs: tuple[Run, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkflowEntry:
    """A workflow as in its file or the archive, with its checkout, its owner, and whether only the archive has it."""

    workflow: Workflow
    worktree: str
    owner: str
    archived: bool


@dataclass(frozen=True, slots=True)
class Report:
    """What happened in the project at `root`, gathered at `made_at`; `since` and `session` limit it unless empty.

    Sessions, compactions and events have the newest first. Of the sessions, those with the latest events are listed,
    and `omitted_sessions` are not; `events_cut` says whether older events are left out. `names` has the session id that
    each conversation has now: sessions, compactions, agents, owners and costs name a conversation.
    """

    root: Path
    made_at: str
    since: str
    session: str
    sessions: tuple[Session, ...]
    omitted_sessions: int
    compactions: tuple[CompactionReport, ...]
    workflows: tuple[WorkflowEntry, ...]
    costs: tuple[Cost, ...]
    events: tuple[TimelineEvent, ...]
    events_cut: bool
    names: Mapping[str, str]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.sessions or self.compactions or self.workflows or self.costs or self.events)


def gather(project: Workspace, *, since: datetime | None = None, session: str = "", limit: int = EVENT_LIMIT) -> Report:
    """Return the events in all worktrees of a project since a time, in one session or in all.

    Raises LedgerError.
    """
    start = clock.stamp(since) if since else ""
    events = timeline.happened(project, since=since, session=session or None, limit=limit + 1)
    compactions = [
        each
        for each in sorted(compacting.recent(project), key=lambda each: each.at, reverse=True)
        if each.at >= start and session in ("", each.row.conversation, each.row.restored_in)
    ]
    over = conversations.ended_ids(project)
    found = _sessions(project, start, session, over)
    listed = sorted(found[:SESSION_LIMIT], key=lambda each: (each.first_at, each.id), reverse=True)
    return Report(
        root=project.root,
        made_at=clock.stamp(),
        since=start,
        session=session,
        sessions=tuple(
            replace(
                each,
                compactions=sum(one.row.conversation == each.id for one in compactions),
                runs=_runs(project, each, start, over),
            )
            for each in listed
        ),
        omitted_sessions=len(found) - len(listed),
        compactions=tuple(compactions),
        workflows=tuple(_workflows(project, start, session, compactions)),
        costs=tuple(costs.totals(project, conversation=session, since=start)),
        events=tuple(events[:limit]),
        events_cut=len(events) > limit,
        names={row.id: row.session for row in conversations.every(project)},
    )


def _sessions(project: Workspace, since: str, only: str, over: Collection[str]) -> list[Session]:
    """Return the sessions without compactions and runs, those with the latest events first."""
    found = []
    for row in conversations.every(project):
        last = row.last_seen
        if last >= since and only in ("", row.id):
            status: Literal["live", "ended", "silent"] = "live"
            if row.ended_at:
                status, last = "ended", max(last, row.ended_at)
            elif row.id in over or conversations.is_silent(row):
                status = "silent"
            found.append(Session(row.id, row.worktree, row.first_seen, last, status))
    return found


def _runs(project: Workspace, session: Session, since: str, over: Collection[str]) -> tuple[Run, ...]:
    found = []
    for agent in (each for each in agents.list_launched(project, session.id) if each.named):
        status = agents.standing(agent, over)
        ended = agent.ended_at or (clock.stamp() if status == "running" else max(session.last_at, agent.since))
        if ended >= since:
            found.append(Run(agent, max(agent.since, since), ended, status))
    return tuple(found)


def _workflows(
    project: Workspace, since: str, session: str, compactions: Iterable[CompactionReport]
) -> list[WorkflowEntry]:
    """Return all workflows or, for one session, those it owns or that its compactions name."""
    listed = [
        WorkflowEntry(each, project.worktree, owners.owner(project, each) or "", archived=False)
        for each in registry.all_found(project).workflows
    ]
    known = {(each.worktree, each.workflow.key) for each in listed}
    listed += [
        WorkflowEntry(each.workflow, each.worktree, "", archived=True)
        for each in archive.entries(project)
        if (each.worktree, each.workflow.key) not in known and each.completed_at >= since
    ]
    named = {saved.key for each in compactions for saved in each.workflows}
    return [each for each in listed if not session or each.owner == session or each.workflow.key in named]
