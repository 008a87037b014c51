"""The history of phases: when each ran, how often it was attempted, and the errors of its failures.

The files of the formats hold none of this (R000-38). The ledger observes them and stores one row for each attempt.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock, log
from holdfast.errors import LedgerError
from holdfast.files.redact import beginning
from holdfast.formats import RECORDS
from holdfast.sessions.history import archive, timeline_event
from holdfast.sessions.history.timeline_event import TimelineEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.project import OpenProject
    from holdfast.sessions.history.timeline_event import Asked
    from holdfast.workflow.model import Workflow

_OF_WORKFLOW = "WHERE project = ? AND worktree = ? AND workflow = ?"
_LAST = f"{_OF_WORKFLOW} AND phase = ? AND number = (SELECT MAX(number) FROM attempts {_OF_WORKFLOW} AND phase = ?)"
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
        error: the error of its last failure, or what blocks it; empty once it is completed.
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


class _Seen(NamedTuple):
    """The last observation of a workflow: the number and status of each phase by id, whether it was over, and when."""

    phases: Mapping[str, tuple[int, str]]
    finished: bool
    at: str


def observe(project: OpenProject, workflow: Workflow, *, error: str = "", at: str | None = None) -> None:
    """Store what moved in a workflow since it was last observed. A workflow that is over goes into the archive.

    A ledger error is only logged.

    Args:
        project: the project.
        workflow: the workflow as its file is now.
        error: the error of the phase that failed or is blocked.
        at: when it moved (UTC stamp). The default is when the file changed, because it may have been edited by hand.
    """
    if workflow.recovered:
        return
    try:
        phases = _listed(workflow)
        if error or not _unmoved(project, {workflow.key: (workflow.finished, phases)}):
            with project.ledger.transaction():
                _note(project, workflow, phases, beginning(error.strip(), _ERROR_LIMIT_CHARS), at)
    except LedgerError as refused:
        log.write("warning", f"the changes in {workflow.place} weren't remembered: {refused}")


def observe_all(project: OpenProject, workflows: Iterable[Workflow]) -> None:
    """Store what moved in workflows since each was last observed (`observe`); most often nothing did."""
    every = list(workflows)
    if not every:
        return  # without opening the ledger
    unmoved = set[str]()
    with suppress(LedgerError):  # `observe` logs it
        unmoved = _unmoved(project, {each.key: (each.finished, _listed(each)) for each in every})
    for each in every:
        if each.key not in unmoved:
            observe(project, each)


def of(project: OpenProject, workflow: Workflow) -> History:
    """Return what the ledger saw of a workflow. If the ledger can't be read, log that and return an empty history."""
    try:
        rows = project.ledger.rows(
            f"SELECT * FROM attempts {_OF_WORKFLOW} ORDER BY number",
            *_key(project, workflow),
        )
    except LedgerError as refused:
        log.write("warning", f"the history of {workflow.place} can't be read: {refused}")
        return History()
    by_phase: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_phase.setdefault(row["phase"], []).append(row)
    phases = {phase: _summed(phase, attempts) for phase, attempts in by_phase.items()}
    if not phases:
        return History()
    started = min(each.started_at for each in phases.values())
    ended = max(each.ended_at or "" for each in phases.values()) if workflow.finished else ""
    return History(phases, started, ended or None, _between(started, ended or None))


def happened(project: OpenProject, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: phases that began and ended."""
    began = timeline_event.newest(project, asked, table="attempts", at="started_at", session="")
    ended = timeline_event.newest(project, asked, table="attempts", at="ended_at", session="")
    told = [(row, row["started_at"], "phase began", "") for row in began if _begun(row)]
    ends = [(row, row["ended_at"], f"phase {_ENDS.get(row['outcome'], 'ended')}", _error(row)) for row in ended]
    # Within one moment, a phase ends before the next begins, but after its own beginning, if that was seen.
    told = [each for each in ends if not _in_a_moment(each[0])] + told
    told += [each for each in ends if _in_a_moment(each[0])]
    return [
        TimelineEvent(
            *(at, "phase", what, "", row["workflow"], "", row["phase"]),
            detail="; ".join(filter(None, (f"attempt {row['number']}" if row["number"] > 1 else "", error))),
            worktree=row["worktree"],
            data={"attempt": row["number"], "outcome": row["outcome"], "error": row["error"]},
        )
        for row, at, what, error in told
    ]


def _error(row: Mapping[str, Any]) -> str:
    """Return the error that a phase ended with; empty for a completed phase, whatever had blocked it before."""
    return "" if row["outcome"] == "completed" else str(row["error"])


def _begun(row: Mapping[str, Any]) -> bool:
    """Return whether a phase was seen to begin. A phase that was passed over was only seen to be over."""
    return bool(row["begun"])


def _in_a_moment(row: Mapping[str, Any]) -> bool:
    return _begun(row) and row["started_at"] == row["ended_at"]


_ENDS = {"completed": "completed", "failed": "failed", "left": "left", "blocked": "blocked"}


def _note(project: OpenProject, workflow: Workflow, phases: str, error: str, at: str | None) -> None:
    before = _seen(project, workflow)
    now = clock.stamp()
    when = at or max(min(workflow.updated_at, now), before.at if before else "")
    states, olds = _states(workflow, before), before.phases if before else {}
    unseen = (0, "pending" if before else None)
    unlike = [phase for phase, state in states.items() if olds.get(phase) != state]  # of a thousand, usually one
    was = {phase: olds.get(phase, unseen)[1] for phase in unlike}
    moved = {phase: old for phase, old in was.items() if old != states[phase][1]}
    # The error belongs to the phases that failed just now or, if none did, to those that had failed before.
    failing = [phase for phase, (_, status) in states.items() if status in ("failed", "blocked")] if error else []
    spoke = [phase for phase in failing if phase in moved] or failing
    for phase in dict.fromkeys([*moved, *spoke]):
        status = states[phase][1]
        _move(project, workflow, phase, (moved.get(phase, status), status), when, error if phase in spoke else "")
    if workflow.finished and not (before and before.finished):
        archive.keep(project, workflow, when)
    elif before and before.finished and not workflow.finished:
        archive.drop(project, workflow)
    project.ledger.run(
        "INSERT INTO phases_seen (project, worktree, workflow, host, client, finished, phases, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, worktree, workflow)"
        " DO UPDATE SET finished = excluded.finished, phases = excluded.phases, at = excluded.at",
        *(*_key(project, workflow), project.host, project.client.NAME),
        *(int(workflow.finished), phases, when),
    )


def _states(workflow: Workflow, before: _Seen | None) -> dict[str, tuple[int, str]]:
    """Return the number and status of every phase, including past phases that the file no longer lists."""
    states: dict[str, tuple[int, str]] = {phase.id: (phase.number, phase.status) for phase in workflow.phases}
    if before is None or before.phases.keys() <= states.keys():
        return states
    whole = workflow.completed == workflow.total  # counts all phases, so it isn't asked for each
    for phase, (number, _) in before.phases.items():
        passed = whole or number < (workflow.current or 0)
        states.setdefault(phase, (number, "completed" if passed else "pending"))
    return states


def _move(
    project: OpenProject, workflow: Workflow, phase: str, change: tuple[str | None, str], when: str, error: str
) -> None:
    """Store what a phase's change of status means for its attempts. An old status of None was never seen."""
    old, new = change
    retried = RECORDS[workflow.format].RETRIED
    running = ("active",) if "blocked" in retried else ("active", "blocked")
    ended = ("completed", *retried)
    if new in running and old not in running:
        _begin(project, workflow, phase, when, None, new, error)
    elif new in ended and old == "pending":  # it was not seen to begin
        _begin(project, workflow, phase, when, when, new, error)
    elif new != old and old in running:
        _end(project, workflow, phase, None if new in running else when, "left" if new == "pending" else new, error)
    elif new != old and old in ended and new in ended:
        _end(project, workflow, phase, when, new, error)
    elif error:
        _end(project, workflow, phase, None, new, error)


def _begin(
    project: OpenProject, workflow: Workflow, phase: str, started: str, ended: str | None, outcome: str, error: str
) -> None:
    key = _key(project, workflow)
    project.ledger.run(
        "INSERT INTO attempts (project, worktree, workflow, phase, number, host, client, started_at, ended_at, outcome,"
        " error, begun) SELECT ?, ?, ?, ?, COALESCE(MAX(number), 0) + 1, ?, ?, ?, ?, ?, ?, ?"
        f" FROM attempts {_OF_WORKFLOW} AND phase = ?",
        *(*key, phase, project.host, project.client.NAME, started, ended, outcome, error),
        *(int(ended is None), *key, phase),
    )


def _end(project: OpenProject, workflow: Workflow, phase: str, when: str | None, outcome: str, error: str) -> None:
    """Set the outcome of the last attempt. `when` None leaves its end as it is, and an empty `error` its error."""
    key = _key(project, workflow)
    project.ledger.run(
        "UPDATE attempts SET outcome = ?, ended_at = COALESCE(?, ended_at),"
        f" error = CASE WHEN ? = '' THEN error ELSE ? END {_LAST}",
        *(outcome, when, error, error, *key, phase, *key, phase),
    )


def _summed(phase: str, attempts: list[dict[str, Any]]) -> PhaseHistory:
    last = attempts[-1]
    errors = [row["error"] for row in attempts if row["error"]]
    return PhaseHistory(
        phase=phase,
        attempts=len(attempts),
        started_at=attempts[0]["started_at"],
        ended_at=last["ended_at"],
        seconds=sum(_between(row["started_at"], row["ended_at"]) for row in attempts),
        error=errors[-1] if errors and last["outcome"] != "completed" else "",
    )


def _between(started: str, ended: str | None) -> float:
    first, last = clock.parse(started), clock.parse(ended) if ended else clock.now()
    return max((last - first).total_seconds(), 0.0) if first and last else 0.0


def _seen(project: OpenProject, workflow: Workflow) -> _Seen | None:
    row = project.ledger.one(f"SELECT * FROM phases_seen {_OF_WORKFLOW}", *_key(project, workflow))
    if row is None:
        return None
    return _Seen(
        {phase: (number, status) for phase, number, status in json.loads(row["phases"])},
        bool(row["finished"]),
        row["at"],
    )


def _unmoved(project: OpenProject, workflows: Mapping[str, tuple[bool, str]]) -> set[str]:
    """Return the keys of those workflows that are as they were last observed.

    Compares JSON texts, to parse nothing at most events.

    Args:
        project: the project.
        workflows: by key, whether each is over, and its phases (`_listed`).
    """
    rows = project.ledger.by_value(
        "workflow",
        list(workflows),
        "SELECT workflow, finished, phases FROM phases_seen WHERE project = ?1 AND worktree = ?2 AND workflow IN (*)",
        *(project.key, project.worktree),
    )
    return {key for key, row in rows.items() if (bool(row["finished"]), row["phases"]) == workflows[key]}


def _listed(workflow: Workflow) -> str:
    """Return the id, number and status of each phase, as `json.dumps` would write them, in half of its time and memory.

    A run has hundreds of tasks, and an event that moves one lists them twice.
    """
    quoted = json.encoder.encode_basestring_ascii
    listed = [f'[{quoted(each.id)}, {each.number}, "{each.status}"]' for each in workflow.phases]
    return f"[{', '.join(listed)}]"


def _key(project: OpenProject, workflow: Workflow) -> tuple[str, str, str]:
    return project.key, project.worktree, workflow.key
