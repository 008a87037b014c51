"""What the commands that move a workflow share: finding it, giving it to the session, and printing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import formats
from holdfast.commands import options
from holdfast.sessions.agents import progress
from holdfast.sessions.ownership import owners, selection
from holdfast.workflow import registry, views

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Step, Workflow


def find(project: Workspace, workflow_id: str | None) -> Workflow:
    """Return the workflow that a command is about, and give it to the session that runs the command (`take`).

    Raises:
        HoldfastError: there is none, or several fit.
    """
    settle(project)
    workflow = selection.select(project, workflow_id, options.session(), whole=True)
    take(project, workflow)
    return workflow


def settle(project: Workspace) -> None:
    """Apply what this session's agents have reported, so that the answer is as new as what the hooks know."""
    session = options.session()
    if session:
        progress.settle(project, session)


def take(project: Workspace, workflow: Workflow) -> None:
    """Give a workflow to the session that runs this command. An earlier owner is told at its next prompt."""
    session = options.session()
    if session:
        owners.own(project, workflow, session)


def tell(workflow: Workflow, as_json: bool, news: str = "") -> None:
    """Print a workflow's progress and its next step."""
    step = registry.get(workflow.format).step(workflow)
    if as_json:
        options.print_json(views.step(workflow, step))
        return
    lines = [news, views.table((workflow,)), *(f"warning: {each}" for each in workflow.warnings)]
    if step:
        lines += ["", f"Next: {step.text}.", *_how(workflow, step)]
    options.say("\n".join(lines).strip("\n"))


def _how(workflow: Workflow, step: Step) -> list[str]:
    """Return lines with the step's prompt, and how to launch its agent or that no agent moves this workflow."""
    if workflow.format not in formats.WITH_AGENTS:
        said = ["No agent moves this workflow: run `holdfast done` when that is done."] if step.agent else []
        return [*said, *(["", "Prompt:", step.prompt] if step.prompt != step.title else [])]
    return ["", views.call(step), step.prompt] if step.agent or step.prompt != step.title else []
