"""Where a task of the `wfs` format stands in its steps: what was recorded of each, and which one is next."""

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
"""How often a step may fail before it stops the task, where that is not once."""


class Standing(NamedTuple):
    """A step with what came of it.

    Attributes:
        step: as the task's file has it.
        run: what was recorded, None so far.
        state: `pending`, `completed`, `skipped`, `retry` (it failed and is to be tried once more), `failed` (the task
            stops there), or `manual` (it failed, and a person is to decide).
    """

    step: Step
    run: StepRun | None
    state: str

    @property
    def over(self) -> bool:
        """Whether the steps behind it may be taken."""
        return self.state in ("completed", "skipped")


def standings(task: Mapping[str, Any], runs: Mapping[str, StepRun]) -> list[Standing]:
    """Return a task's steps in their order, each with what came of it."""
    return [Standing(step, runs.get(step.name), _state(step, runs.get(step.name))) for step in flow.steps(task)]


def runs(project: Records, workflow: str, task: str) -> dict[str, StepRun]:
    """Return what was recorded of a task's steps; nothing where the ledger cannot be read."""
    with suppress(LedgerError):
        return project.steps(workflow, task)
    return {}


def outputs(found: Sequence[Standing]) -> dict[str, str]:
    """Return what the steps that were taken put out, by the names of their variables; a later one counts."""
    return {
        each.step.output_to: each.run.output
        for each in found
        if each.step.output_to and each.run and each.run.outcome == "completed"
    }


def record(
    project: Records, workflow: str, task: str, found: Sequence[Standing], name: str, outcome: Outcome, output: str
) -> None:
    """Record what came of a step.

    Args:
        project: the project.
        workflow: the workflow's key.
        task: the task's id.
        found: the task's steps.
        name: the step's.
        outcome: how it ended.
        output: what it put out.

    Raises:
        HoldfastError: the task has no such step.
        TransitionError: a step before it was not taken, so that its order would be another.
        LedgerError: it cannot be kept.
    """
    position = next((number for number, each in enumerate(found) if each.step.name == name), None)
    if position is None:
        known = ", ".join(each.step.name for each in found) or "none"
        raise HoldfastError(f"{task} has no step {name!r}; its steps are: {known}")
    before = [each.step.name for each in found[:position] if not each.over]
    if before:
        raise TransitionError(f"{task}: the steps are taken in their order, and {before[0]} comes before {name}")
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
