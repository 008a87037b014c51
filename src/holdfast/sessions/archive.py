"""The archive: workflows that are over, with their last content, even after another took over their file."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import capture, clock, log
from holdfast.errors import LedgerError
from holdfast.files.redact import redact
from holdfast.memory.log import note
from holdfast.memory.rows import WorkflowRow
from holdfast.workflow.model import Phase, Workflow, place_of
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.project import OpenProject

MOST = 1_000  # workflows of one project; the oldest go

_APART = ("path", "raw", "root")  # not JSON: stored in columns of their own, or known anyway
_TUPLES = ("reading", "reminders", "warnings", "remarks", "due", "needs", "skipped")
_EMPTY: dict[str, Any] = {"completed_at": None, "fields": "", "content": b""}


class Archived(NamedTuple):
    """An archived workflow as it was at its end, when it ended (UTC stamp), and the worktree it was in."""

    workflow: Workflow
    completed_at: str
    worktree: str


def keep(project: OpenProject, workflow: Workflow, at: str) -> None:
    """Put a workflow into the archive, unless the user excludes its file from capture. Raises LedgerError."""
    if not capture.allowed(project.config, workflow.path):
        return
    values = {each.name: getattr(workflow, each.name) for each in fields(workflow) if each.name not in _APART}
    values["phases"] = [phase._asdict() for phase in workflow.phases]
    columns = {"completed_at": at, "fields": json.dumps(values), "content": workflow.raw}
    table = project.ledger.table(WorkflowRow)
    with project.ledger.transaction():
        table.amend(WorkflowRow(project.worktree, workflow.key), **columns)
        newest = "SELECT completed_at FROM workflows WHERE completed_at IS NOT NULL ORDER BY completed_at DESC"
        table.update(_EMPTY, f"completed_at <= ({newest} LIMIT 1 OFFSET ?)", MOST)
        status = "cancelled" if workflow.abandoned else workflow.status
        about = {"workflow": workflow.key, "title": redact(clean(workflow.title))}
        note(project, "archive", "archived", at=at, data={"status": status}, **about)


def shelve(project: OpenProject, workflow: Workflow) -> None:
    """Put a workflow whose file is about to be replaced into the archive as it is, even if it failed or was abandoned.

    A workflow that is archived already stays as it is. A ledger error is only logged, because the file's content is
    then saved in another way (`statefile.keep_aside`).
    """
    try:
        if not holds(project, workflow.key):
            keep(project, workflow, clock.stamp())
    except LedgerError as error:
        log.write("warning", f"{workflow.place} wasn't archived: {error}")


def drop(project: OpenProject, workflow: Workflow) -> None:
    """Remove a workflow that goes on from the archive. Raises LedgerError."""
    project.ledger.table(WorkflowRow).update(_EMPTY, worktree=project.worktree, workflow=workflow.key)


def holds(project: OpenProject, key: str) -> bool:
    """Return whether the workflow of this worktree with this key is in the archive. Raises LedgerError."""
    about = {"worktree": project.worktree, "workflow": key}
    return project.ledger.table(WorkflowRow).count("completed_at IS NOT NULL", **about) > 0


def entries(project: OpenProject) -> list[Archived]:
    """Return the archived workflows of the project, of all its worktrees, the latest first. Raises LedgerError."""
    rows = project.ledger.table(WorkflowRow).where("completed_at IS NOT NULL", order="completed_at DESC, workflow")
    return [Archived(_workflow(row), row.completed_at or "", row.worktree) for row in rows]


def last(project: OpenProject, workflows: Iterable[Workflow]) -> Workflow | None:
    """Return the workflow of this worktree that was completed last, or None. Raises LedgerError.

    `workflows` are those that have a file; if one is in the archive too, its file counts.
    """
    here = [each for each in entries(project) if each.worktree == project.worktree]
    completed_at = {each.workflow.key: each.completed_at for each in here}
    known = {each.workflow.key: each.workflow for each in here} | {each.key: each for each in workflows}
    over = [each for each in known.values() if each.finished]
    return max(over, key=lambda each: completed_at.get(each.key, each.updated_at), default=None)


def _workflow(row: WorkflowRow) -> Workflow:
    known = {each.name for each in fields(Workflow)}
    values = {name: value for name, value in json.loads(row.fields).items() if name in known}
    root = Path(row.worktree)
    return Workflow(
        **values
        | {name: tuple(values.get(name) or ()) for name in _TUPLES}
        | {"phases": tuple(_phase(phase) for phase in values["phases"])},
        path=root / place_of(row.workflow),
        raw=bytes(row.content),
        root=root,
    )


def _phase(values: dict[str, Any]) -> Phase:
    return Phase(**values | {"deliverables": tuple(values["deliverables"])})
