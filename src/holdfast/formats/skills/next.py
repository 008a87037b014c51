"""The next step of a skill's workflow, in the document's own words (R004-33 to R004-35)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.formats.skills import display, transitions, view
from holdfast.workflow.model import Step
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from holdfast.workflow.model import Workflow


def step(workflow: Workflow) -> Step | None:
    """Return what to go on with, None if the workflow is finished."""
    if workflow.finished:
        return None
    if not workflow.phases:
        name = transitions.current(view.of(workflow).data)
        return Step(0, 0, name, "", name, f"go on with {quoted(name)}; the state file lists no phases")
    unit = next((each for each in workflow.phases if each.number == workflow.current), None)
    unit = unit or next((each for each in workflow.phases if each.status != "completed"), workflow.phases[-1])
    before = workflow.phases[unit.number - 2].handover if unit.number > 1 else ""
    prompt = f"{unit.title}\n\nContext: {before}" if before else unit.title
    agent = f" (agent {unit.agent})" if unit.agent else ""
    text = f"{display.scenario(view.of(workflow), unit)}{agent}"
    return Step(unit.number, workflow.total, unit.title, unit.agent, prompt, text)
