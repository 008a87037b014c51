"""The content of a report, gathered from the ledger and the workflows' files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from holdfast import clock
from holdfast.memory import context_costs
from holdfast.sessions import conversations, owners
from holdfast.sessions.agents import agent_status
from holdfast.sessions.compaction import aftermath
from holdfast.sessions.history import archive, timeline
from holdfast.workflow import registry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from holdfast.memory.context_costs import Cost
    from holdfast.sessions.agents.agent_status import Agent
    from holdfast.sessions.compaction.aftermath import Compaction
    from holdfast.sessions.history.timeline_event import TimelineEvent
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

LIMIT = 1_000  # how many happenings are listed by default
SESSIONS = 60  # how many sessions are listed, the newest


@dataclass(frozen=True, slots=True)
class Run:
    """An agent's run.

    Attributes:
        agent: the agent.
        began_at: UTC stamp, not before the report's beginning.
        ended_at: UTC stamp; for a running agent, when the report was made.
        outcome: `running`, `completed` or `failed`; `left` if its session ended first.
        used: whether its result reached the main conversation.
    """

    agent: Agent
    began_at: str
    ended_at: str
    outcome: Literal["running", "completed", "failed", "left"]
    used: bool


@dataclass(frozen=True, slots=True)
class Session:
    """A session: its id, its checkout, its first and last event (UTC stamps), its status, and its agents' runs."""

    id: str
    worktree: str
    first_at: str
    last_at: str
    standing: Literal["live", "ended", "silent"]
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A workflow as in its file or the archive, with its checkout, its owner, and whether only the archive has it."""

    workflow: Workflow
    worktree: str
    owner: str
    archived: bool


@dataclass(frozen=True, slots=True)
class Story:
    """The content of a report.

    Attributes:
        root: the project's root.
        made_at: when it was gathered (UTC stamp).
        since: the report's beginning (UTC stamp); empty means no limit.
        session: the only session it covers; empty means all.
        sessions: the sessions with the latest events, newest beginning first.
        unseen: how many older sessions are left out.
        compactions: newest first.
        workflows: those with a file, then those only in the archive.
        costs: what was put into the model's context.
        happened: everything that happened, newest first.
        more: whether older happenings are left out.
        phases: (workflow's key, phase's id) → the phase's title.
    """

    root: Path
    made_at: str
    since: str
    session: str
    sessions: tuple[Session, ...]
    unseen: int
    compactions: tuple[Compaction, ...]
    workflows: tuple[Told, ...]
    costs: tuple[Cost, ...]
    happened: tuple[TimelineEvent, ...]
    more: bool
    phases: dict[tuple[str, str], str]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.sessions or self.compactions or self.workflows or self.costs or self.happened)


def gather(project: Workspace, *, since: datetime | None = None, session: str = "", limit: int = LIMIT) -> Story:
    """Return what happened in a project, as far as the ledger still knows it.

    Args:
        project: the project; all its worktrees are included.
        since: leave out everything before this time.
        session: include only the session with this id.
        limit: how many happenings to list at most.

    Raises:
        LedgerError: the ledger can't be read.
    """
    start = clock.stamp(since) if since else ""
    happened = timeline.happened(project, since=since, session=session or None, limit=limit + 1)
    compacted = [
        each
        for each in aftermath.recent(project)
        if each.at >= start and session in ("", each.session, each.restored_in)
    ]
    workflows = _workflows(project, start, session, compacted)
    seen = _sessions(project, start, session)
    shown = sorted(seen[:SESSIONS], key=lambda each: (each.first_at, each.id), reverse=True)
    return Story(
        root=project.root,
        made_at=clock.stamp(),
        since=start,
        session=session,
        sessions=tuple(replace(each, runs=_runs(project, each, start)) for each in shown),
        unseen=max(len(seen) - SESSIONS, 0),
        compactions=tuple(compacted),
        workflows=tuple(workflows),
        costs=tuple(context_costs.totals(project, session=session, since=start)),
        happened=tuple(happened[:limit]),
        more=len(happened) > limit,
        phases={
            (each.workflow.key, phase.id): phase.title for each in reversed(workflows) for phase in each.workflow.phases
        },
    )


def _sessions(project: Workspace, since: str, only: str) -> list[Session]:
    gone = conversations.ended_ids(project)
    found = []
    for row in conversations.every(project):
        if row.last_seen >= since and only in ("", row.id):
            over = row.id in gone or conversations.is_silent(row)
            standing: Literal["live", "ended", "silent"] = "ended" if row.ended_at else "silent" if over else "live"
            last = max(row.last_seen, row.ended_at or "")
            found.append(Session(row.id, row.worktree, row.first_seen, last, standing, ()))
    return found


def _runs(project: Workspace, session: Session, since: str) -> tuple[Run, ...]:
    """Return the runs of a session's agents in their order; one still running at the session's end ended with it."""
    found = []
    for agent in agent_status.of_session(project, session.id):
        outcome: Literal["running", "completed", "failed", "left"] = "failed" if agent.failed else "completed"
        if agent.fate == "running":
            outcome = "running" if session.standing == "live" else "left"
        ended = agent.ended_at or (clock.stamp() if outcome == "running" else max(session.last_at, agent.since))
        if ended >= since:
            found.append(Run(agent, max(agent.since, since), ended, outcome, agent.fate == "consumed"))
    return tuple(found)


def _workflows(project: Workspace, since: str, session: str, compacted: Iterable[Compaction]) -> list[Told]:
    """Return the workflows to show: all, or for one session those it owns or that its compactions name."""
    kept = archive.entries(project)
    listed = [
        Told(each, project.worktree, owners.owner(project, each) or "", archived=False)
        for each in registry.all_found(project).workflows
    ]
    here = {(each.worktree, each.workflow.key) for each in listed}
    listed += [
        Told(each.workflow, each.worktree, "", archived=True)
        for each in kept
        if (each.worktree, each.workflow.key) not in here and each.completed_at >= since
    ]
    if not session:
        return listed
    named = {saved.key for each in compacted for saved in each.workflows}
    return [each for each in listed if each.owner == session or each.workflow.key in named]
