"""The content of a report, gathered from the ledger and the workflows' files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from holdfast import clock
from holdfast.ledger import context_costs
from holdfast.sessions.agents import agent_status
from holdfast.sessions.compaction import aftermath, deliveries
from holdfast.sessions.history import archive, history, timeline
from holdfast.sessions.history.timeline_event import Asked
from holdfast.sessions.ownership import owners, sessions
from holdfast.workflow import registry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from holdfast.ledger.context_costs import Cost
    from holdfast.sessions.agents.agent_status import Agent
    from holdfast.sessions.compaction.aftermath import Compaction
    from holdfast.sessions.compaction.deliveries import Delivery
    from holdfast.sessions.history.timeline_event import TimelineEvent
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

LIMIT = 1_000  # how many happenings are listed by default
SESSIONS = 60  # how many sessions are drawn, the newest
PHASES = 2_000  # how many beginnings and ends of phases are drawn, the newest


@dataclass(frozen=True, slots=True)
class Run:
    """An agent's run, as it is drawn.

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
class Attempt:
    """One attempt at a phase.

    Attributes:
        workflow: the key of its workflow.
        worktree: the checkout of its workflow.
        phase: the phase's id.
        number: the attempt's number, from 1.
        began_at: UTC stamp.
        ended_at: UTC stamp, None while it runs.
        outcome: `active` or `blocked` while it runs; `completed`, `failed` or `left`.
        error: why it failed, or what blocks it; may be empty.
    """

    workflow: str
    worktree: str
    phase: str
    number: int
    began_at: str
    ended_at: str | None
    outcome: str
    error: str


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
        apart: guidance without a compaction, such as after a crash when the session was resumed.
        workflows: those with a file, then those only in the archive.
        attempts: attempts at phases, earliest first.
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
    apart: tuple[Delivery, ...]
    workflows: tuple[Told, ...]
    attempts: tuple[Attempt, ...]
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
    everything = aftermath.recent(project)
    compacted = [each for each in everything if each.at >= start and session in ("", each.session, each.restored_in)]
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
        apart=tuple(_apart(project, start, session, everything)),
        workflows=tuple(workflows),
        attempts=tuple(_attempts(project, start, workflows)),
        costs=tuple(context_costs.totals(project, session=session, since=start)),
        happened=tuple(happened[:limit]),
        more=len(happened) > limit,
        phases={
            (each.workflow.key, phase.id): phase.title for each in reversed(workflows) for phase in each.workflow.phases
        },
    )


def _sessions(project: Workspace, since: str, only: str) -> list[Session]:
    gone = sessions.ended_ids(project)
    found = []
    for row in sessions.all_of(project):
        name, last, ended = str(row["id"]), str(row["last_seen"]), row["ended_at"]
        if last >= since and only in ("", name):
            over = name in gone or sessions.silent(row)
            standing: Literal["live", "ended", "silent"] = "ended" if ended else "silent" if over else "live"
            last = max(last, str(ended or ""))
            found.append(Session(name, str(row["worktree"]), str(row["first_seen"]), last, standing, ()))
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


def _apart(project: Workspace, since: str, session: str, everything: Iterable[Compaction]) -> list[Delivery]:
    answers = {given.id for each in everything for given in each.given}
    found = deliveries.recent(project, deliveries.KEPT, session or None)
    return [each for each in found if each.id not in answers and each.made_at >= since]


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


def _attempts(project: Workspace, since: str, workflows: Iterable[Told]) -> list[Attempt]:
    """Return the attempts at phases, built from the records of their beginnings and ends."""
    wanted = {(each.worktree, each.workflow.key) for each in workflows}
    found: dict[tuple[str, str, str, int], Attempt] = {}
    for each in history.happened(project, Asked(PHASES)):
        place = (each.worktree, each.workflow, each.phase, int(each.data["attempt"]))
        if place[:2] not in wanted:
            continue
        outcome, error = str(each.data["outcome"]), str(each.data["error"])
        before = found.get(place)
        if each.what == "phase began":
            ended = before.ended_at if before else None
            found[place] = Attempt(place[1], place[0], each.phase, place[3], each.at, ended, outcome, error)
        else:
            began = before.began_at if before else each.at
            found[place] = Attempt(place[1], place[0], each.phase, place[3], began, each.at, outcome, error)
    listed = [each for each in found.values() if (each.ended_at or "~") >= since]
    return sorted(listed, key=lambda each: (each.began_at, each.ended_at or "~"))
