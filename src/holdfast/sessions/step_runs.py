"""Results of the steps that a task's flow control names, recorded by whoever ran them.

The task files of the `wfs` format hold the steps but not their output. Holdfast doesn't run the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from holdfast import clock
from holdfast.files.redact import beginning
from holdfast.memory import rows
from holdfast.workflow.records import StepRun

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.workflow.records import Outcome

LIMIT_CHARS = 20_000  # of a step's output that are stored


def record(project: OpenProject, workflow: str, unit: str, step: str, outcome: Outcome, output: str) -> None:
    """Record the result of a step of a unit, such as a task, in place of an earlier one. Raises LedgerError.

    Of its output the first `LIMIT_CHARS` characters are stored. `workflow` is the workflow's key.
    """
    table, place = project.ledger.table(rows.StepRun), (project.worktree, workflow, unit, step)
    text = beginning(output, LIMIT_CHARS).encode("utf-8", "replace").decode()
    with project.ledger.transaction():
        before = table.one(**dict(zip(rows.StepRun.KEY, place, strict=True)))
        failures = (before.failures if before else 0) + 1 if outcome == "failed" else 0
        table.put(rows.StepRun(*place, outcome, text, failures, clock.stamp()))


def of(project: OpenProject, workflow: str, unit: str) -> dict[str, StepRun]:
    """Return the results of a unit's steps, by step name. Raises LedgerError."""
    found = project.ledger.table(rows.StepRun).where(worktree=project.worktree, workflow=workflow, unit=unit)
    return {
        each.step: StepRun(each.step, cast("Outcome", each.outcome), each.output, each.failures, each.at)
        for each in found
    }
