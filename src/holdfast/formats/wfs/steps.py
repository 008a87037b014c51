"""The steps of a `wfs` task with their recorded results."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import HoldfastError, LedgerError, TransitionError
from holdfast.formats.wfs import flow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from holdfast.formats.wfs.flow import Step
    from holdfast.workflow.records import Outcome, Records, StepRun

TRIES = {"retry_once": 2}
"""How often a step may fail before it stops the task, if that isn't once."""


class Standing(NamedTuple):
    """A step with its result.

    Attributes:
        step: the step in the task's file.
        run: the recorded result; None for none.
        state: `pending`, `completed`, `skipped`, `retry` (it failed and should be tried once more), `failed` (the task
            stops here), or `manual` (it failed, and a person must decide).
    """

    step: Step
    run: StepRun | None
    state: str

    @property
    def over(self) -> bool:
        """Whether the following steps may be run."""
        return self.state in ("completed", "skipped")


def standings(task: Mapping[str, Any], runs: Mapping[str, StepRun]) -> list[Standing]:
    """Return a task's steps in their order, each with its result."""
    return [Standing(step, runs.get(step.name), _state(step, runs.get(step.name))) for step in flow.steps(task)]


def runs(project: Records, workflow: str, task: str) -> dict[str, StepRun]:
    """Return the recorded results of a task's steps by name; none if the ledger can't be read."""
    with suppress(LedgerError):
        return project.steps(workflow, task)
    return {}


def outputs(found: Sequence[Standing]) -> dict[str, str]:
    """Return the output of completed steps by variable name; of several, the last counts."""
    return {
        each.step.output_to: each.run.output
        for each in found
        if each.step.output_to and each.run and each.run.outcome == "completed"
    }


def record(
    project: Records, workflow: str, task: str, found: Sequence[Standing], name: str, outcome: Outcome, output: str
) -> None:
    """Record the result of a step.

    Args:
        project: the project.
        workflow: the workflow's key.
        task: the task's id.
        found: the task's steps.
        name: the step's name.
        outcome: how it ended.
        output: its output.

    Raises:
        HoldfastError: the task has no such step.
        TransitionError: an earlier step was not run; steps go in order.
        LedgerError: it can't be stored.
    """
    position = next((number for number, each in enumerate(found) if each.step.name == name), None)
    if position is None:
        known = ", ".join(each.step.name for each in found) or "none"
        raise HoldfastError(f"{task} has no step {name!r}; its steps are: {known}")
    before = [each.step.name for each in found[:position] if not each.over]
    if before:
        raise TransitionError(f"{before[0]} comes before {name}; record {before[0]} first, or skip it with --skipped")
    project.record_step(workflow, task, name, outcome, output)


def _state(step: Step, run: StepRun | None) -> str:
    if run is None:
        return "pending"
    if run.outcome != "failed":
        return run.outcome
    if step.on_error == "skip_optional":
        return "skipped"
    if step.on_error == "manual_intervention":
        return "manual"
    return "retry" if run.failures < TRIES.get(step.on_error, 1) else "failed"
