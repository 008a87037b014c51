"""What came of the steps that a task's flow control names, as whoever took them recorded it.

The task files of the `wfs` format hold the steps and not what they put out; Holdfast runs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.files.redact import beginning
from holdfast.workflow.records import StepRun

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.workflow.records import Outcome

LONGEST = 20_000
"""Characters of a step's output that are kept."""
KEPT = 2_000  # steps per project; the oldest go


def record(project: OpenProject, workflow: str, task: str, step: str, outcome: Outcome, output: str) -> None:
    """Record what came of a step; what was recorded before gives way.

    Args:
        project: where.
        workflow: the workflow's key.
        task: the task's id.
        step: the step's name.
        outcome: how it ended.
        output: what it put out.

    Raises:
        LedgerError: it cannot be kept.
    """
    kept = beginning(output, LONGEST).encode("utf-8", "replace").decode()
    project.ledger.run(
        "INSERT INTO step_runs (project, worktree, workflow, task, step, host, client, outcome, output, failures, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, worktree, workflow, task, step) DO UPDATE SET"
        " outcome = excluded.outcome, output = excluded.output, at = excluded.at,"
        " failures = CASE WHEN excluded.failures = 0 THEN 0 ELSE step_runs.failures + 1 END",
        *(project.key, project.worktree, workflow, task, step, project.host, project.client),
        *(outcome, kept, int(outcome == "failed"), clock.stamp()),
    )
    project.ledger.prune(project.key, "step_runs", "at", KEPT, key="project, worktree, workflow, task, step")


def of(project: OpenProject, workflow: str, task: str) -> dict[str, StepRun]:
    """Return what came of a task's steps, by their names. Raises LedgerError."""
    rows = project.ledger.rows(
        "SELECT step, outcome, output, failures, at FROM step_runs"
        " WHERE project = ? AND worktree = ? AND workflow = ? AND task = ?",
        *(project.key, project.worktree, workflow, task),
    )
    return {row["step"]: StepRun(**row) for row in rows}
