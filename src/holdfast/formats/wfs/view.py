"""The neutral view of a `wfs` session: its leaf tasks are the phases."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from holdfast.formats.wfs import context as contexts
from holdfast.formats.wfs import index, places, rules
from holdfast.formats.wfs import session as sessions
from holdfast.workflow import assignments, extras
from holdfast.workflow.model import Phase, Workflow, changed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.model import Status
    from holdfast.workflow.records import Records

NAME = "wfs"

_READY = 10  # ready tasks that are named
_TOLD = 8  # finished tasks whose summaries are included
_STATUSES: dict[sessions.Standing, Status] = {"active": "active", "paused": "pending", "completed": "completed"}


def workflow(project: Records, session: Session, board: Board) -> Workflow:
    """Return a session with its tasks as a workflow."""
    executable = board.executable
    due = next(iter((*board.active, *executable)), None)
    begun = any(each.status != "pending" for each in board.leaves)
    current = due if begun else None  # no task is current before the first is begun
    told = {
        each.name: assignments.extract_result(contexts.summary(session, each.id), short=False)
        for each in _told(board, due)
    }
    phases = _phases(session.name, board.leaves, told)
    number = board.leaves.index(current) + 1 if current else None
    over = session.standing == "completed"
    made = Workflow(
        format=NAME,
        id=session.name,
        title=session.topic,
        kind=session.kind,
        status=_STATUSES[session.standing],
        phases=phases,
        current=None if over else number,
        total=len(phases) + sum(problem.path.stem not in board.names for problem in board.problems),
        phase="" if over or current is None else current.title,
        phase_status="" if over or current is None else current.status,
        reading=_reading(project, session, board, due),
        reminders=(),
        context={} if over else _context(project, session, board, due),
        created_at="",
        updated_at=changed(session.file.data, max(session.file.document.mtime, board.changed)),
        path=session.file.path,
        raw=session.file.document.raw,
        root=project.root,
        warnings=tuple(_warnings(session, board)),
        recovered=bool(session.file.broken),
        paused=session.standing == "paused",
        due=() if over else tuple(each.id for each in (*board.active, *executable)),
        needs=() if over or due is None else tuple(each.id for each in contexts.before(board, due)),
    )
    merged = extras.merged(project, made)[0]
    return replace(merged, context={**merged.context, **made.context})


def of_session(project: Records, session: Session) -> Workflow:
    """Return a session as a workflow, with its tasks as they are now."""
    return workflow(project, session, index.board(project, session.folder))


def key(session: Session) -> str:
    """Return the key of a session's workflow (`Workflow.key`)."""
    return f"{NAME}:{places.TOP}/{session.name}/{places.SESSION}#{session.name}"


def _told(board: Board, current: Brief | None) -> list[Brief]:
    """Return the finished tasks whose summaries matter now: the current task's dependencies, and the last ones."""
    done = [each for each in board.leaves if each.status == "completed"]
    wanted = [each for each in (contexts.before(board, current) if current else ()) if each.status == "completed"]
    return list(dict.fromkeys([*wanted, *done[-_TOLD:]]))[:_TOLD]


def _phases(
    session: str, leaves: Sequence[Brief], told: Mapping[str, tuple[tuple[str, ...], str]]
) -> tuple[Phase, ...]:
    """Return the leaves as phases, with what the summaries that are told deliver and hand over, by the tasks' names."""
    folder = f"{places.TOP}/{session}/{places.TASKS}/"
    results = [told.get(each.name, ((), "")) for each in leaves]
    columns = (
        [each.id for each in leaves],
        count(1),
        [each.title for each in leaves],
        [each.status for each in leaves],
        [each.agent.removeprefix("@") for each in leaves],
        [deliverables for deliverables, _ in results],
        [handover for _, handover in results],
        [f"{folder}{each.name}.json" for each in leaves],
    )
    return tuple(map(Phase._make, zip(*columns, strict=False)))


def _reading(project: Records, session: Session, board: Board, current: Brief | None) -> tuple[str, ...]:
    """Return the required reading: the plan, if it is written, and the task's artifacts, the most important first.

    Its parent's artifacts come after its own (R002-31).
    """
    plan = session.folder / places.PLAN
    found = [places.inner(project, plan)] if _says_something(plan) else []
    return tuple(f"@{path}" for path in (*found, *_artifacts(project, session, board, current)))


def _says_something(plan: Path) -> bool:
    try:
        return plan.stat().st_size > len(places.PLAN_TEXT)
    except OSError:
        return False


def _artifacts(project: Records, session: Session, board: Board, current: Brief | None) -> list[str]:
    if current is None:
        return []
    ranked = list[dict[str, Any]]()
    for task in filter(None, (current, board.parent(current))):
        items = contexts.artifacts(contexts.own(project, session, task))
        ranked += sorted(items, key=lambda each: _rank(each.get("priority"), rules.PRIORITIES))
    paths = [each["path"] for each in ranked if isinstance(each.get("path"), str) and each["path"].strip()]
    return list(dict.fromkeys(paths))


def _rank(value: Any, order: tuple[str, ...]) -> int:
    return order.index(value) if value in order else len(order)


def _context(project: Records, session: Session, board: Board, current: Brief | None) -> Mapping[str, Any]:
    """Return the context of the current task, the session's phase first."""
    found: dict[str, Any] = {"session_phase": session.phase} if session.phase else {}
    if board.looks_finished:
        found["looks_finished"] = board.looks_finished
    if current is None:
        return found
    own = contexts.own(project, session, current)
    found["task"] = current.id
    for name in ("requirements", "focus_paths", "acceptance", "shared_context"):
        if own.get(name):
            found[name] = own[name]
    inherited = own.get("inherited")
    if isinstance(inherited, dict) and inherited.get("context"):
        found["inherited"] = inherited["context"]
    if current.depends_on:
        found["depends_on"] = [each.id for each in contexts.before(board, current)]
    waits = board.waits_for(current)
    if waits:
        found["waits_for"] = waits
    active = [each.id for each in board.active]
    if len(active) > 1:
        found["active_tasks"] = active
    ready = [each.id for each in board.executable if each is not current]
    if ready:
        found["ready_beside_it"] = ready[:_READY]
    return found


def _warnings(session: Session, board: Board) -> list[str]:
    drift = [session.drift] if session.drift else []
    contradicted = [f"{said}: `{command}`" for said, command in contradictions(session, board)]
    broken = [f"{problem.path.name} cannot be read: {problem.reason}" for problem in board.problems]
    return [*drift, *contradicted, *broken]


def contradictions(session: Session, board: Board) -> list[tuple[str, str]]:
    """Return the contradictions between a session's status and its tasks, each with a remedy."""
    number = len(board.leaves)
    left = number - [each.status for each in board.leaves].count("completed")
    if session.standing == "completed" and left:
        said = f"the session is {session.raw_status}, but {left} of {number} tasks are not completed"
        return [(said, f"holdfast wfs resume {session.name}")]
    if session.standing != "completed" and board.finished:
        said = f"all {number} tasks are completed, but the session is {session.raw_status or 'not'}"
        return [(said, f"holdfast wfs complete {session.name}")]
    return []
