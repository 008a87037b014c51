"""The steps before a `wfs` task's work, with their recorded results.

Holdfast never runs the commands in task files (R002-29): they come from whoever wrote the file, and whoever works on
the task decides about them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import HoldfastError, LedgerError, TransitionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.formats.wfs.schema import Step
    from holdfast.formats.wfs.tree import Task
    from holdfast.workflow.records import Outcome, Records, StepRun

_TRIES = {"retry_once": 2}
"""How often a step may fail before it stops the task, if that isn't once."""


class StepState(NamedTuple):
    """A step with its result.

    Attributes:
        name: its name; `step_2` for the second if it has none.
        step: the step in the task's file.
        run: the recorded result; None for none.
        state: `pending`, `completed`, `skipped`, `retry` (it failed and should be tried once more), `failed` (the task
            stops here), or `manual` (it failed, and a person must decide) (R002-26).
    """

    name: str
    step: Step
    run: StepRun | None
    state: str

    @property
    def is_over(self) -> bool:
        """Whether the following steps may be run."""
        return self.state in ("completed", "skipped")


def states(project: Records, workflow: str, task: Task) -> list[StepState]:
    """Return a task's steps in their order, each with its result; without results if the ledger can't be read.

    `workflow` is the key of the session's workflow.
    """
    runs: Mapping[str, StepRun] = {}
    with suppress(LedgerError):
        runs = project.steps(workflow, task.id)
    named = [(each.step or f"step_{number}", each) for number, each in enumerate(task.flow.pre_analysis, 1)]
    return [StepState(name, step, runs.get(name), _state(step, runs.get(name))) for name, step in named]


def outputs(steps: Sequence[StepState]) -> dict[str, str]:
    """Return the output of completed steps by variable name; of several, the last counts."""
    return {
        each.step.output_to: each.run.output
        for each in steps
        if each.step.output_to and each.run and each.run.outcome == "completed"
    }


def record(project: Records, workflow: str, task: Task, name: str, outcome: Outcome, output: str) -> list[StepState]:
    """Record the result of a step, and return the task's steps as they are now.

    Args:
        project: the project.
        workflow: the workflow's key.
        task: the task.
        name: the step's name.
        outcome: how it ended.
        output: its output.

    Raises:
        HoldfastError: the task has no such step.
        TransitionError: an earlier step was not run; steps go in order.
        LedgerError: it can't be stored.
    """
    steps = states(project, workflow, task)
    position = next((number for number, each in enumerate(steps) if each.name == name), None)
    if position is None:
        known = ", ".join(each.name for each in steps) or "none"
        raise HoldfastError(f"{task.id} has no step {name!r}; its steps are: {known}")
    before = [each.name for each in steps[:position] if not each.is_over]
    if before:
        raise TransitionError(f"{before[0]} comes before {name}; record {before[0]} first, or skip it with --skipped")
    project.record_step(workflow, task.id, name, outcome, output)
    return states(project, workflow, task)


def _state(step: Step, run: StepRun | None) -> str:
    if run is None:
        return "pending"
    if run.outcome != "failed":
        return run.outcome
    if step.on_error == "skip_optional":
        return "skipped"
    if step.on_error == "manual_intervention":
        return "manual"
    return "retry" if run.failures < _TRIES.get(step.on_error, 1) else "failed"
