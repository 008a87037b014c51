"""Results of the steps that a task's flow control names, recorded by whoever ran them.

The task files of the `wfs` format hold the steps but not their output. Holdfast doesn't run the steps.
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
"""Characters of a step's output that are stored."""
KEPT = 2_000  # steps per project; the oldest go


def record(project: OpenProject, workflow: str, task: str, step: str, outcome: Outcome, output: str) -> None:
    """Record the result of a step, in place of an earlier one.

    Args:
        project: the project.
        workflow: the workflow's key.
        task: the task's id.
        step: the step's name.
        outcome: how it ended.
        output: its output, of which the first `LONGEST` characters are stored.

    Raises:
        LedgerError: it can't be stored.
    """
    kept = beginning(output, LONGEST).encode("utf-8", "replace").decode()
    project.ledger.run(
        "INSERT INTO step_runs (project, worktree, workflow, task, step, host, client, outcome, output, failures, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, worktree, workflow, task, step) DO UPDATE SET"
        " outcome = excluded.outcome, output = excluded.output, at = excluded.at,"
        " failures = CASE WHEN excluded.failures = 0 THEN 0 ELSE step_runs.failures + 1 END",
        *(project.key, project.worktree, workflow, task, step, project.host, project.client.NAME),
        *(outcome, kept, int(outcome == "failed"), clock.stamp()),
    )
    project.ledger.prune(project.key, "step_runs", "at", KEPT, key="project, worktree, workflow, task, step")


def of(project: OpenProject, workflow: str, task: str) -> dict[str, StepRun]:
    """Return the results of a task's steps, by step name. Raises LedgerError."""
    rows = project.ledger.rows(
        "SELECT step, outcome, output, failures, at FROM step_runs"
        " WHERE project = ? AND worktree = ? AND workflow = ? AND task = ?",
        *(project.key, project.worktree, workflow, task),
    )
    return {row["step"]: StepRun(**row) for row in rows}
