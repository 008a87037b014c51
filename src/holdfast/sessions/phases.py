"""The history of phases: when each ran, how often it was attempted, and the errors of its failures.

The files of the formats hold none of this (R000-38). The ledger observes them: `workflows` has the last observation,
and each change is an event in the log. A phase's history is a fold over its events.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast import clock, log
from holdfast.errors import LedgerError
from holdfast.files.redact import beginning, redact
from holdfast.formats import RECORDS
from holdfast.memory.log import note
from holdfast.memory.rows import Event, WorkflowRow
from holdfast.memory.store import key
from holdfast.sessions import archive
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.project import OpenProject
    from holdfast.workflow.model import Workflow

_ERROR_LIMIT_CHARS = 2_000  # characters of an error's text


@dataclass(frozen=True, slots=True)
class PhaseHistory:
    """What the ledger saw of one phase.

    Attributes:
        phase: its id.
        attempts: how often it became active, at least 1.
        started_at: when it first did (UTC stamp).
        ended_at: when it last ended (UTC stamp); None while it runs.
        seconds: the time spent in all attempts; a running attempt counts up to now.
        error: why the last attempt failed, or what blocks it. While an attempt goes on, this is the last error before
            it; it is empty once the phase is completed.
    """

    phase: str
    attempts: int
    started_at: str
    ended_at: str | None
    seconds: float
    error: str


@dataclass(frozen=True, slots=True)
class History:
    """What the ledger saw of a workflow: its phases by id, its first start, its end, and the seconds between.

    Phases that never started are missing. `started_at` is empty if nothing was seen. `seconds` run from the first start
    to the end, or to now.
    """

    phases: Mapping[str, PhaseHistory] = field(default_factory=dict)
    started_at: str = ""
    ended_at: str | None = None
    seconds: float = 0.0


def observe(project: OpenProject, workflow: Workflow, *, error: str = "", at: str | None = None) -> None:
    """Store what moved in a workflow since it was last observed. A workflow that is over goes into the archive.

    A ledger error is only logged. `error` is that of the phase that failed or is blocked. `at` is when it moved (UTC
    stamp), by default when the file changed, because it may have been edited by hand.
    """
    if workflow.recovered:
        return
    try:
        phases = _listed(workflow)
        row = project.ledger.table(WorkflowRow).one(worktree=project.worktree, workflow=workflow.key)
        if error or row is None or (row.finished, row.phases) != (workflow.finished, phases):
            with project.ledger.transaction():
                _note(project, workflow, phases, beginning(error.strip(), _ERROR_LIMIT_CHARS), at)
    except LedgerError as refused:
        log.write("warning", f"the changes in {workflow.place} weren't remembered: {refused}")


def of(project: OpenProject, workflow: Workflow) -> History:
    """Return a workflow's history in the ledger. If the ledger can't be read, log that and return an empty history."""
    try:
        events = project.ledger.table(Event).where(
            worktree=project.worktree, workflow=workflow.key, kind="phase", order="at, id"
        )
    except LedgerError as refused:
        log.write("warning", f"the history of {workflow.place} can't be read: {refused}")
        return History()
    attempts = _attempts(events, _running(workflow))
    phases = {phase: _summed(phase, list(each.values())) for phase, each in attempts.items()}
    if not phases:
        return History()
    started = min(each.started_at for each in phases.values())
    ended = max(each.ended_at or "" for each in phases.values()) if workflow.finished else ""
    return History(phases, started, ended or None, _between(started, ended or None))


@dataclass
class _Attempt:
    """One attempt at a phase: when it began and ended (UTC stamps), its outcome, and its last error."""

    started_at: str
    ended_at: str | None = None
    outcome: str = ""
    error: str = ""


def _attempts(events: Iterable[Event], running: tuple[str, ...]) -> dict[str, dict[int, _Attempt]]:
    """Return the attempts by phase and number. A phase that was passed over only has the event of its end."""
    found: dict[str, dict[int, _Attempt]] = {}
    for event in events:
        data = json.loads(event.data)
        attempt = found.setdefault(event.phase, {}).setdefault(data["attempt"], _Attempt(event.at))
        if event.what not in ("began", *running) and event.what != attempt.outcome:
            attempt.ended_at = event.at
        attempt.outcome = event.what
        attempt.error = data["error"] or attempt.error
    return found


def _running(workflow: Workflow) -> tuple[str, ...]:
    """Return the statuses of a phase whose attempt goes on. Where a format retries what is blocked, that ends it."""
    return tuple(each for each in ("active", "blocked") if each not in RECORDS[workflow.format].RETRIED)


def _note(project: OpenProject, workflow: Workflow, phases: str, error: str, at: str | None) -> None:
    """Store an observation that differs from the last one, and append to the log what moved."""
    table, place = project.ledger.table(WorkflowRow), WorkflowRow(project.worktree, workflow.key)
    row = table.one(**key(place)) or place
    when = at or max(min(workflow.updated_at, clock.stamp()), row.observed_at)
    olds = {phase: (number, status) for phase, number, status in json.loads(row.phases or "[]")}
    states, unseen = _states(workflow, olds), (0, "pending" if row.phases else None)
    unlike = [phase for phase, state in states.items() if olds.get(phase) != state]  # of a thousand, usually one
    was = {phase: olds.get(phase, unseen)[1] for phase in unlike}
    moved = {phase: old for phase, old in was.items() if old != states[phase][1]}
    # The error belongs to the phases that failed just now or, if none did, to those that had failed before.
    failing = [phase for phase, (_, status) in states.items() if status in ("failed", "blocked")] if error else []
    spoke = [phase for phase in failing if phase in moved] or failing
    # Within one moment, a phase ends before the next begins.
    for phase in sorted({*moved, *spoke}, key=lambda phase: (states[phase][1] == "active", states[phase][0], phase)):
        status = states[phase][1]
        about = {"error": error if phase in spoke else "", "cause": _cause(project, at)}
        _move(project, workflow, phase, (moved.get(phase, status), status), when, about)
    if workflow.finished and not row.finished:
        archive.keep(project, workflow, when)
    elif row.finished and not workflow.finished:
        archive.drop(project, workflow)
    table.amend(place, phases=phases, finished=workflow.finished, observed_at=when)


def _states(workflow: Workflow, olds: Mapping[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    """Return the number and status of every phase, including past phases that the file no longer lists."""
    states: dict[str, tuple[int, str]] = {phase.id: (phase.number, phase.status) for phase in workflow.phases}
    states |= {phase.id: (phase.number, "skipped") for phase in workflow.skipped}
    whole = workflow.completed == workflow.total
    for phase, (number, _) in olds.items():
        passed = whole or number < (workflow.current or 0)
        states.setdefault(phase, (number, "completed" if passed else "pending"))
    return states


def _move(
    project: OpenProject,
    workflow: Workflow,
    phase: str,
    change: tuple[str | None, str],
    when: str,
    data: dict[str, str],
) -> None:
    """Append to the log what a phase's change of status means. An old status of None was never seen."""
    error = data["error"]
    old, new = change
    running, ended = _running(workflow), ("completed", *RECORDS[workflow.format].RETRIED)
    began = new in running and old not in running
    passed_over = new in (*ended, "skipped") and old == "pending"  # it was not seen to begin
    attempt = _last_attempt(project, workflow, phase) + (began or passed_over)
    happened = [new] if error else []
    if began:
        happened = ["began", "blocked"] if new == "blocked" else ["began"]
    elif passed_over or (new != old and (old in running or (old in ended and new in ended))):
        happened = [] if new == "active" else ["left" if new == "pending" else new]
    about = {"workflow": workflow.key, "title": redact(clean(workflow.title)), "phase": phase}
    for what in happened if attempt else ():
        details = {**data, "attempt": attempt, "error": "" if what == "began" else error}
        note(project, "phase", what, at=when, data=details, **about)


def _cause(project: OpenProject, at: str | None) -> str:
    """Return the cause of a phase's move: a `command`, an `event`, or whoever wrote the `file`, seen there later."""
    if at is None:
        return "file"
    return "command" if project.patience.say else "event"


def _last_attempt(project: OpenProject, workflow: Workflow, phase: str) -> int:
    """Return the number of a phase's last attempt; 0 if none was seen."""
    row = project.ledger.one(
        "SELECT MAX(json_extract(data, '$.attempt')) AS number FROM events"
        " WHERE worktree = ? AND workflow = ? AND kind = 'phase' AND phase = ?",
        *(project.worktree, workflow.key, phase),
    )
    return int(row["number"] or 0) if row else 0


def _summed(phase: str, attempts: list[_Attempt]) -> PhaseHistory:
    last = attempts[-1]
    over = {"completed": [], "failed": [last], "blocked": [last]}  # an attempt that ended shows only its own error
    errors = [each.error for each in over.get(last.outcome, attempts) if each.error]
    return PhaseHistory(
        phase=phase,
        attempts=len(attempts),
        started_at=attempts[0].started_at,
        ended_at=last.ended_at,
        seconds=sum(_between(each.started_at, each.ended_at) for each in attempts),
        error=errors[-1] if errors else "",
    )


def _between(started: str, ended: str | None) -> float:
    first, last = clock.parse(started), clock.parse(ended) if ended else clock.now()
    return max((last - first).total_seconds(), 0.0) if first and last else 0.0


def _listed(workflow: Workflow) -> str:
    """Return the id, number and status of each phase as JSON."""
    skipped = [[each.id, each.number, "skipped"] for each in workflow.skipped]
    return json.dumps([*([each.id, each.number, each.status] for each in workflow.phases), *skipped])
