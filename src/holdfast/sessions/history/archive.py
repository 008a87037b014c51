"""The archive: workflows that are over, with their last content, even after another took over their file."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import capture, clock, log
from holdfast.errors import LedgerError
from holdfast.sessions.history import timeline_event
from holdfast.sessions.history.timeline_event import TimelineEvent
from holdfast.workflow.model import Phase, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.project import OpenProject
    from holdfast.sessions.history.timeline_event import Asked

KEPT = 1_000  # workflows of one project; the oldest go

_OF_WORKFLOW = "WHERE project = ? AND worktree = ? AND workflow = ?"
_APART = ("path", "raw", "root")  # not JSON: stored in columns of their own, or known anyway
_TUPLES = ("reading", "reminders", "warnings", "remarks", "due", "needs")


class Archived(NamedTuple):
    """An archived workflow as it was at its end, when it ended (UTC stamp), and the worktree it was in."""

    workflow: Workflow
    completed_at: str
    worktree: str


def keep(project: OpenProject, workflow: Workflow, at: str) -> None:
    """Put a workflow into the archive, unless the user excludes its file from capture. Raises LedgerError."""
    if not capture.allowed(project.config, workflow.path):
        return
    said = {each.name: getattr(workflow, each.name) for each in fields(workflow) if each.name not in _APART}
    said["phases"] = [phase._asdict() for phase in workflow.phases]
    project.ledger.run(
        "INSERT INTO archive (project, worktree, workflow, host, client, path, said, content, completed_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, worktree, workflow) DO UPDATE SET"
        " said = excluded.said, content = excluded.content, completed_at = excluded.completed_at",
        *(project.key, project.worktree, workflow.key, project.host, project.client.NAME),
        *(workflow.place, json.dumps(said), workflow.raw, at),
    )
    project.ledger.prune(project.key, "archive", "completed_at", KEPT, key="project, worktree, workflow")


def shelve(project: OpenProject, workflow: Workflow) -> None:
    """Put a workflow whose file is about to be replaced into the archive as it is, even if it failed or was abandoned.

    A workflow that is archived already stays as it is. A ledger error is only logged, because the file's content is
    then saved in another way (`statefile.keep_aside`).
    """
    try:
        if workflow.key not in {each.workflow.key for each in entries(project)}:
            keep(project, workflow, clock.stamp())
    except LedgerError as error:
        log.write("warning", f"{workflow.place} wasn't archived: {error}")


def drop(project: OpenProject, workflow: Workflow) -> None:
    """Remove a workflow that goes on from the archive. Raises LedgerError."""
    project.ledger.run(f"DELETE FROM archive {_OF_WORKFLOW}", project.key, project.worktree, workflow.key)


def entries(project: OpenProject) -> list[Archived]:
    """Return the archived workflows of the project, of all its worktrees, the latest first. Raises LedgerError."""
    rows = project.ledger.rows(
        "SELECT * FROM archive WHERE project = ? ORDER BY completed_at DESC, workflow", project.key
    )
    return [Archived(_workflow(row), row["completed_at"], row["worktree"]) for row in rows]


def last(project: OpenProject, workflows: Iterable[Workflow]) -> Workflow | None:
    """Return the workflow of this worktree that was completed last, or None. Without a ledger, only files count.

    Args:
        project: the project.
        workflows: the workflows that have a file. If one is in the archive too, its file counts.
    """
    try:
        here = [each for each in entries(project) if each.worktree == project.worktree]
    except LedgerError:
        here = []
    completed_at = {each.workflow.key: each.completed_at for each in here}
    known = {each.workflow.key: each.workflow for each in here} | {each.key: each for each in workflows}
    over = [each for each in known.values() if each.finished]
    return max(over, key=lambda each: completed_at.get(each.key, each.updated_at), default=None)


def happened(project: OpenProject, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: workflows that were archived."""
    columns = "worktree, workflow, said, completed_at"
    rows = timeline_event.newest(*(project, asked), table="archive", at="completed_at", session="", columns=columns)
    return [
        TimelineEvent(
            *(row["completed_at"], "archive", "workflow archived", "", row["workflow"], said["title"]),
            detail=status,
            worktree=row["worktree"],
            data={"status": status},
        )
        for row, said in ((row, json.loads(row["said"])) for row in rows)
        for status in ("cancelled" if said.get("abandoned") else str(said["status"]),)
    ]


def _workflow(row: dict[str, Any]) -> Workflow:
    known = {each.name for each in fields(Workflow)}
    said = {name: value for name, value in json.loads(row["said"]).items() if name in known}
    root = Path(row["worktree"])
    return Workflow(
        **said
        | {name: tuple(said.get(name) or ()) for name in _TUPLES}
        | {"phases": tuple(_phase(phase) for phase in said["phases"])},
        path=root / row["path"],
        raw=bytes(row["content"]),
        root=root,
    )


def _phase(said: dict[str, Any]) -> Phase:
    known = {name: value for name, value in said.items() if name in Phase._fields}
    return Phase(**known | {"deliverables": tuple(said["deliverables"])})
