"""The overview of one workflow: what its file says, and what the ledger knows about it."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import LedgerError, StateError
from holdfast.files import document
from holdfast.formats import RECORDS
from holdfast.sessions import conversations, messages, owners
from holdfast.sessions.agents import agent_status
from holdfast.sessions.compaction import snapshots
from holdfast.sessions.history import generations, history
from holdfast.sessions.history.history import History
from holdfast.workflow import facts, outside_reading, todos, views

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from holdfast.project import OpenProject
    from holdfast.sessions.agents.agent_status import Agent
    from holdfast.workflow.model import Found, Problem, Workflow


_RESULT = (
    "session",
    "agent_type",
    "agent_id",
    "phase",
    "status",
    "ended_at",
    "last_message",
    "digest",
    "output",
    "transcript",
)
_BEFORE = "before "  # how the reason begins of a generation that a write found in the file (`statefile.write`)


@dataclass(frozen=True, slots=True)
class Save:
    """The last time that a workflow's content was saved.

    Attributes:
        at: UTC stamp.
        trigger: the trigger of the PreCompact that saved it (`auto`, `manual`); empty if a write did.
        session: the session that was to be compacted; None if a write saved it.
        reason: why a write saved it; empty if a PreCompact did.
        current: whether the saved content is the file's present content.
    """

    at: str
    trigger: str = ""
    session: str | None = None
    reason: str = ""
    current: bool = True


@dataclass(frozen=True, slots=True)
class Restore:
    """The last time that a workflow was restored after a compaction.

    Attributes:
        at: UTC stamp.
        session: the session it was restored in.
        saved_at: when its snapshot was left (UTC stamp); None if PreCompact never fired.
    """

    at: str
    session: str
    saved_at: str | None


@dataclass(frozen=True, slots=True)
class Recipient:
    """A session that knows a to-do list of the workflow, since when (UTC stamp), and whether the list is current."""

    session: str
    sent_at: str
    current: bool


@dataclass(frozen=True, slots=True)
class Session:
    """The session that owns a workflow: whether it is live, and its last event (UTC stamp, empty if never seen)."""

    id: str
    live: bool
    last_seen: str


@dataclass(frozen=True, slots=True)
class _Known:
    """What the ledger knows of a workflow. If it can't be read, all is empty and `problem` says why."""

    history: History = field(default_factory=History)
    agents: tuple[Agent, ...] = ()
    unused: tuple[Agent, ...] = ()
    outside: frozenset[str] = frozenset()
    recipients: tuple[Recipient, ...] = ()
    last_save: Save | None = None
    last_restore: Restore | None = None
    owner: Session | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that is known about a workflow.

    Attributes:
        workflow: the workflow as in its file.
        history: when its phases ran.
        agents: its running agents, of all sessions that may still run. Agents launched for no workflow count if they
            are the owner's or, without an owner, if their live session owns no unfinished workflow.
        todos: its to-do list.
        recipients: the sessions that know a to-do list of it, the last told first.
        last_save: the last time its content was saved, None if never.
        last_restore: the last time it was restored, None if never.
        owner: the session that owns it, None for none.
        missing: its required readings that don't exist.
        outside: its required readings outside the project, which nobody is asked to read.
        archived: whether its file is gone, or holds another workflow by now.
        problems: files of the project that could not be read.
        ledger: what is wrong with the ledger; empty if nothing is.
        at: when this was gathered; running times count up to then.
        unused: the agents of the same sessions that have ended and whose results are not known to be used.
        moved: where its file was moved when it ended, None if it wasn't.
    """

    workflow: Workflow
    history: History
    agents: tuple[Agent, ...]
    todos: tuple[Mapping[str, str], ...]
    recipients: tuple[Recipient, ...]
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
    moved: Path | None = None

    @property
    def place(self) -> str:
        """The path of its file now: relative to the root, or absolute if it is outside."""
        return replace(self.workflow, path=self.moved).place if self.moved else self.workflow.place


def gather(project: OpenProject, workflow: Workflow, found: Found) -> Overview:
    """Return the overview of a workflow; only what its file says if the ledger can't be read. Never writes.

    Args:
        project: the project.
        workflow: one of the workflows found, or one of the archive.
        found: the project's workflows and problems.
    """
    known = _known(project, workflow, found)
    return Overview(
        workflow=workflow,
        history=known.history,
        agents=known.agents,
        todos=tuple(todos.todo_list(workflow)),
        recipients=known.recipients,
        last_save=known.last_save,
        last_restore=known.last_restore,
        owner=known.owner,
        missing=missing_reading(project, workflow),
        outside=outside(project, workflow),
        moved=_moved(project, workflow),
        archived=workflow.key not in {each.key for each in found.workflows},
        problems=found.problems,
        ledger=known.problem,
        at=clock.now(),
        unused=known.unused,
    )


def missing_reading(project: OpenProject, workflow: Workflow) -> frozenset[str]:
    """Return the required readings of a workflow that don't exist."""
    says = facts.presence(project.root)
    return frozenset(entry for entry in workflow.reading if says(entry) == "missing")


def outside(project: OpenProject, workflow: Workflow) -> frozenset[str]:
    """Return the required readings of a workflow that are outside the project."""
    return frozenset(entry for entry in workflow.reading if outside_reading.outside(project.root, entry))


def as_json(overview: Overview) -> dict[str, Any]:
    """Return an overview as JSON values: every key of `views.whole`, and what the ledger knows."""
    workflow, seen = overview.workflow, overview.history
    whole = views.whole(workflow)
    return whole | {
        "path": str(overview.moved or workflow.path),
        "percent": workflow.percent,
        "phases": [phase | {"history": _phase_history(seen, phase["id"])} for phase in whole["phases"]],
        "history": {name: getattr(seen, name) for name in ("started_at", "ended_at", "seconds")},
        "agents": [_in_flight(each) for each in overview.agents],
        "unused_results": [each.row(*_RESULT) for each in overview.unused],
        "todos": list(overview.todos),
        "todo_recipients": [asdict(each) for each in overview.recipients],
        "last_save": overview.last_save and asdict(overview.last_save),
        "last_restore": overview.last_restore and asdict(overview.last_restore),
        "owner": overview.owner and overview.owner.id,
        "missing_reading": [entry for entry in workflow.reading if entry in overview.missing],
        "outside_reading": [entry for entry in workflow.reading if entry in overview.outside],
    }


def _moved(project: OpenProject, workflow: Workflow) -> Path | None:
    """Return where a finished workflow's file is now, if the format moved it: same name, same content."""
    if not workflow.finished or workflow.path.exists():
        return None
    for pattern in RECORDS[workflow.format].VIEWS:
        path = project.root / pattern.replace("*.json", workflow.path.name)
        with suppress(StateError, OSError):
            if path.name == workflow.path.name and document.read(path, within=project.root)[0] == workflow.raw:
                return path
    return None


def _known(project: OpenProject, workflow: Workflow, found: Found) -> _Known:
    try:
        owner = owners.owner(project, workflow)
        listed = {row.id: row for row in conversations.every(project)}
        live, gone = conversations.live_others(project, ""), conversations.ended_ids(project)
        naming = snapshots.naming(project, workflow.key)
        free = _free(project, workflow, owner, live, found)
        flying = agent_status.in_flight(project, workflow.key, free)
        landed = agent_status.unused(project, workflow.key, free)
        names = {each.id: each.session for each in listed.values()}

        def now(agent: Agent) -> Agent:
            return agent._replace(session=names.get(agent.session, agent.session))

        return _Known(
            history=history.of(project, workflow),
            agents=tuple(now(each) for each in flying if each.session not in gone),
            unused=tuple(now(each) for each in landed if each.session not in gone),
            recipients=_recipients(project, workflow),
            last_save=_last_save(project, workflow, naming, names),
            last_restore=_last_restore([each for each in naming if not snapshots.not_restored(project, each)], names),
            owner=Session(names.get(owner, owner), owner in live, listed[owner].last_seen if owner in listed else "")
            if owner
            else None,
            problem=project.ledger.problem or "",
        )
    except LedgerError as error:
        return _Known(problem=str(error))


def _free(
    project: OpenProject, workflow: Workflow, owner: str | None, live: set[str], found: Found
) -> Callable[[str], bool]:
    """Return a test of which sessions' agents count although they were launched for no workflow."""
    if workflow.finished:
        return lambda session: False
    if owner:
        return lambda session: session == owner
    busy = {*owners.holders(project, [each for each in found.workflows if each.resumable]).values()}
    return lambda session: session in live and session not in busy


def _recipients(project: OpenProject, workflow: Workflow) -> tuple[Recipient, ...]:
    present = todos.digest(workflow)
    rows = messages.recipients(project, messages.TODO_LIST, workflow.key)
    names = conversations.session_ids(project, [row.conversation for row in rows])
    return tuple(Recipient(names[row.conversation], row.at, row.value == present) for row in rows)


def _last_save(
    project: OpenProject, workflow: Workflow, naming: list[snapshots.Snapshot], names: Mapping[str, str]
) -> Save | None:
    present = hashlib.sha256(workflow.raw).hexdigest()
    saves = [
        Save(
            snapshot.sealed_at,
            snapshot.why,
            names.get(snapshot.session, snapshot.session),
            current=each.digest == present,
        )
        for snapshot in naming
        for each in snapshot.workflows
        if each.key == workflow.key
        and snapshot.why != "none"  # else it only marks a restore whose PreCompact never fired
    ]
    # A generation of what a write found doesn't prove that the write happened; only written content is a save.
    kept = [each for each in generations.all(project, workflow.path) if not each["why"].startswith(_BEFORE)]
    # The path may be used again by another workflow, so a generation with this very content comes first.
    same = next((each for each in kept if each["digest"] == present), None)
    if last := same or next(iter(kept), None):
        saves.append(Save(last["at"], reason=last["why"], current=same is not None))
    return max(saves, key=lambda save: save.at, default=None)


def _last_restore(naming: list[snapshots.Snapshot], names: Mapping[str, str]) -> Restore | None:
    restores = [
        Restore(
            snapshot.claimed_at,
            names.get(snapshot.claimed_by, snapshot.claimed_by),
            None if snapshot.why == "none" else snapshot.sealed_at,
        )
        for snapshot in naming
        if snapshot.claimed_by and snapshot.claimed_at
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
