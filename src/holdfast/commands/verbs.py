"""What the verbs that move a workflow share: whose it becomes, and what they print."""

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
    """Return the workflow a command is about, which becomes the session's that moves it (`take`).

    Raises:
        HoldfastError: there is none, or it could be several.
    """
    settle(project)
    workflow = selection.select(project, workflow_id, options.session(), whole=True)
    take(project, workflow)
    return workflow


def settle(project: Workspace) -> None:
    """Let what this session's agents have reported count, so that no answer is older than what the hooks know."""
    session = options.session()
    if session:
        progress.settle(project, session)


def take(project: Workspace, workflow: Workflow) -> None:
    """Give a workflow to the session that runs this command, unless it belongs to another that is live."""
    session = options.session()
    if session:
        owners.take(project, workflow, session)


def tell(workflow: Workflow, as_json: bool, news: str = "") -> None:
    """Print where a workflow stands and what comes next."""
    step = registry.get(workflow.format).step(workflow)
    if as_json:
        options.print_json(views.step(workflow, step))
        return
    lines = [news, views.table((workflow,)), *(f"warning: {each}" for each in workflow.warnings)]
    if step:
        lines += ["", f"Next: {step.text}.", *_how(workflow, step)]
    options.say("\n".join(lines).strip("\n"))


def _how(workflow: Workflow, step: Step) -> list[str]:
    """Return how a step's agent is launched, or that no agent moves this workflow, and the step's prompt."""
    if workflow.format not in formats.WITH_AGENTS:
        said = ["No agent moves this workflow: run `holdfast done` when that is done."] if step.agent else []
        return [*said, *(["", "Prompt:", step.prompt] if step.prompt != step.title else [])]
    return ["", views.call(step), step.prompt] if step.agent or step.prompt != step.title else []
