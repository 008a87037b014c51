"""What the verbs that move a workflow share: whose it becomes, and what they print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.survival import owners, selection
from holdfast.workflow import formats, views

if TYPE_CHECKING:
    from holdfast.project import Project
    from holdfast.workflow.model import Workflow


def find(project: Project, workflow_id: str | None) -> Workflow:
    """Return the workflow a command is about; one that nobody owns becomes the session's that moves it.

    Raises:
        HoldfastError: there is none, it could be several, or the one found is only a generation of a broken file.
    """
    session = options.session()
    workflow = selection.select(project, workflow_id, session)
    if session and owners.owner(project, workflow) is None:
        owners.own(project, workflow, session)
    return workflow


def tell(workflow: Workflow, as_json: bool, news: str = "") -> None:
    """Print where a workflow stands and what comes next."""
    step = formats.get(workflow.format).step(workflow)
    if as_json:
        options.print_json(views.step(workflow, step))
        return
    lines = [news, views.table((workflow,)), *workflow.warnings]
    if step:
        lines += ["", step.text, *(["", "Prompt:", step.prompt] if step.agent else [])]
    click.echo("\n".join(lines).strip("\n"))
