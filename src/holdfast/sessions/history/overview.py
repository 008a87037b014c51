"""What there is to see of one workflow: what its file says beside what the ledger knows of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import LedgerError
from holdfast.sessions.agents import agent_status, todolists
from holdfast.sessions.compaction import snapshots
from holdfast.sessions.history import generations, history
from holdfast.sessions.history.history import History
from holdfast.sessions.ownership import owners, sessions
from holdfast.workflow import facts, outside_reading, todos, views

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from holdfast.project import OpenProject
    from holdfast.sessions.agents.agent_status import Agent
    from holdfast.workflow.model import Found, Problem, Workflow


_RESULT = ("session", "agent_type", "agent_id", "phase", "fate", "ended_at", "words", "digest", "output", "transcript")
_BEFORE = "before "  # how the reason of a generation begins that a write found (`statefile.write`)


@dataclass(frozen=True, slots=True)
class Save:
    """The last time a workflow's content was kept.

    Attributes:
        at: UTC stamp.
        trigger: of the PreCompact that sealed it (`auto`, `manual`); empty where a write kept it.
        session: whose compaction that was.
        why: what wrote it, where a write kept it.
        current: whether it holds what the file says now.
    """

    at: str
    trigger: str = ""
    session: str | None = None
    why: str = ""
    current: bool = True


@dataclass(frozen=True, slots=True)
class Restore:
    """The last time a workflow was put back after a compaction.

    Attributes:
        at: UTC stamp.
        session: the session it was restored in.
        saved_at: when its seal was left (UTC stamp), None where PreCompact never fired.
    """

    at: str
    session: str
    saved_at: str | None


@dataclass(frozen=True, slots=True)
class Told:
    """A session that knows a to-do list of the workflow: since when, and whether it is the present one."""

    session: str
    told_at: str
    current: bool


@dataclass(frozen=True, slots=True)
class Session:
    """The session a workflow belongs to: whether it is live, and its last event (UTC stamp, empty if never seen)."""

    id: str
    live: bool
    last_seen: str


@dataclass(frozen=True, slots=True)
class _Known:
    """What the ledger knows of a workflow; all empty where it cannot be read, and `problem` says why."""

    history: History = field(default_factory=History)
    agents: tuple[Agent, ...] = ()
    unused: tuple[Agent, ...] = ()
    outside: frozenset[str] = frozenset()
    told: tuple[Told, ...] = ()
    last_save: Save | None = None
    last_restore: Restore | None = None
    owner: Session | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything there is to see of a workflow.

    Attributes:
        workflow: as its file says.
        history: when its phases ran.
        agents: its agents in flight, of all sessions that may still run. Those for no phase in particular are the
            owner's or, where nobody owns it, those of live sessions that own no other unfinished workflow.
        todos: the to-do list it stands for.
        told: the sessions that know a list of it, the last told first.
        last_save: when its content was last kept, None if never.
        last_restore: when it was last restored, None if never.
        owner: the session it belongs to, if any.
        missing: its required readings that are not there.
        outside: its required readings that are outside the project; nobody is asked to read them.
        archived: whether its file is gone, or holds another workflow by now.
        problems: files of the project that could not be read.
        ledger: what is wrong with the ledger; empty if nothing is.
        at: when all this was gathered; running times count from there.
        unused: its agents that ended, of the same sessions, where nothing shows that their results were used.
    """

    workflow: Workflow
    history: History
    agents: tuple[Agent, ...]
    todos: tuple[Mapping[str, str], ...]
    told: tuple[Told, ...]
    last_save: Save | None
    last_restore: Restore | None
    owner: Session | None
    missing: frozenset[str]
    archived: bool
    problems: tuple[Problem, ...]
    ledger: str
    at: datetime
    unused: tuple[Agent, ...] = ()
    outside: frozenset[str] = frozenset()

    def at_rest(self) -> Overview:
        """Return it with its clocks stopped: two that are equal so show the same but for the time that passed."""
        phases = {name: replace(each, seconds=0.0) for name, each in self.history.phases.items()}
        stopped = replace(self.history, phases=phases, seconds=0.0)
        owner = self.owner and replace(self.owner, last_seen="")
        return replace(self, history=stopped, owner=owner, at=clock.from_mtime(0))


def gather(project: OpenProject, workflow: Workflow, found: Found) -> Overview:
    """Return what there is to see of a workflow; where the ledger cannot be read, what its file says. Never writes.

    Args:
        project: where.
        workflow: one of those found, or one of the archive.
        found: what the project holds.
    """
    known = _known(project, workflow, found)
    return Overview(
        workflow=workflow,
        history=known.history,
        agents=known.agents,
        todos=tuple(todos.wanted(workflow)),
        told=known.told,
        last_save=known.last_save,
        last_restore=known.last_restore,
        owner=known.owner,
        missing=missing(project, workflow),
        outside=outside(project, workflow),
        archived=workflow.key not in {each.key for each in found.workflows},
        problems=found.problems,
        ledger=known.problem,
        at=clock.now(),
        unused=known.unused,
    )


def missing(project: OpenProject, workflow: Workflow) -> frozenset[str]:
    """Return the required readings of a workflow that are not there."""
    says = facts.presence(project.root)
    return frozenset(entry for entry in workflow.reading if says(entry) == "missing")


def outside(project: OpenProject, workflow: Workflow) -> frozenset[str]:
    """Return the required readings of a workflow that are outside the project."""
    return frozenset(entry for entry in workflow.reading if outside_reading.outside(project.root, entry))


def as_json(overview: Overview) -> dict[str, Any]:
    """Return an overview for programs: every key of `views.whole`, and what the ledger knows."""
    workflow, seen = overview.workflow, overview.history
    whole = views.whole(workflow)
    return whole | {
        "percent": workflow.percent,
        "phases": [phase | {"history": _phase_history(seen, phase["id"])} for phase in whole["phases"]],
        "history": {name: getattr(seen, name) for name in ("started_at", "ended_at", "seconds")},
        "agents": [_in_flight(each) for each in overview.agents],
        "unused_results": [_named(each, *_RESULT) for each in overview.unused],
        "todos": list(overview.todos),
        "todos_told": [_named(each, *Told.__slots__) for each in overview.told],
        "last_save": overview.last_save and _named(overview.last_save, *Save.__slots__),
        "last_restore": overview.last_restore and _named(overview.last_restore, *Restore.__slots__),
        "owner": overview.owner and overview.owner.id,
        "missing_reading": [entry for entry in workflow.reading if entry in overview.missing],
        "outside_reading": [entry for entry in workflow.reading if entry in overview.outside],
    }


def _known(project: OpenProject, workflow: Workflow, found: Found) -> _Known:
    try:
        owner = owners.owner(project, workflow)
        listed = {str(row["id"]): row for row in sessions.all_of(project)}
        live, gone = sessions.live_others(project, ""), sessions.gone(project)
        sealed = snapshots.naming(project, workflow.key)
        free = _free(project, workflow, owner, live, found)
        flying = agent_status.in_flight(project, workflow.key, free)
        landed = agent_status.unused(project, workflow.key, free)
        return _Known(
            history=history.of(project, workflow),
            agents=tuple(each for each in flying if each.session not in gone),
            unused=tuple(each for each in landed if each.session not in gone),
            told=_told(project, workflow),
            last_save=_last_save(project, workflow, sealed),
            last_restore=_last_restore(sealed),
            owner=Session(owner, owner in live, str(listed.get(owner, {}).get("last_seen", ""))) if owner else None,
            problem=project.ledger.problem or "",
        )
    except LedgerError as error:
        return _Known(problem=str(error))


def _free(
    project: OpenProject, workflow: Workflow, owner: str | None, live: set[str], found: Found
) -> Callable[[str], bool]:
    """Return which sessions' agents count that were launched for no workflow in particular."""
    if workflow.finished:
        return lambda session: False
    if owner:
        return lambda session: session == owner
    busy = {owners.owner(project, each) for each in found.workflows if each.resumable}
    return lambda session: session in live and session not in busy


def _told(project: OpenProject, workflow: Workflow) -> tuple[Told, ...]:
    present = todos.digest(todos.wanted(workflow))
    rows = todolists.all_told(project, workflow.key)
    return tuple(Told(row["session"], row["told_at"], row["digest"] == present) for row in rows)


def _last_save(project: OpenProject, workflow: Workflow, sealed: list[snapshots.Seal]) -> Save | None:
    present = hashlib.sha256(workflow.raw).hexdigest()
    saves = [
        Save(seal.sealed_at, seal.why, seal.session, current=each.digest == present)
        for seal in sealed
        for each in seal.workflows
        if each.key == workflow.key and seal.why != "none"  # a restore whose PreCompact never fired
    ]
    # What a write found before it, it may not have come to replace: only what was written is a save.
    kept = [each for each in generations.all(project, workflow.path) if not each["why"].startswith(_BEFORE)]
    # A path may be used again: what has this very content is this workflow's, whatever was kept of the path since.
    same = next((each for each in kept if each["digest"] == present), None)
    if last := same or next(iter(kept), None):
        saves.append(Save(last["at"], why=last["why"], current=same is not None))
    return max(saves, key=lambda save: save.at, default=None)


def _last_restore(sealed: list[snapshots.Seal]) -> Restore | None:
    restores = [
        Restore(seal.claimed_at, seal.claimed_by, None if seal.why == "none" else seal.sealed_at)
        for seal in sealed
        if seal.claimed_by and seal.claimed_at
    ]
    return max(restores, key=lambda restore: restore.at, default=None)


def _phase_history(seen: History, phase: str) -> dict[str, Any] | None:
    each = seen.phases.get(phase)
    return _named(each, "attempts", "started_at", "ended_at", "seconds", "error") if each else None


def _in_flight(agent: Agent) -> dict[str, Any]:
    told = _named(agent, "session", "agent_type", "agent_id", "phase", "background")
    return told | {"agent_id": agent.agent_id or None, "since": agent.launched_at}


def _named(thing: object, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}
