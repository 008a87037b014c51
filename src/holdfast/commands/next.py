"""`holdfast next`: say what is to be done next, and begin it."""

from __future__ import annotations

import click

from holdfast.commands import options, verbs
from holdfast.workflow import registry


@click.command(name="next")
@options.workflow_argument
@options.json_option
@options.project_option
def command(workflow_id: str | None, as_json: bool, project_dir: str | None) -> None:
    """Say what is to be done next, with its agent and the context handed over; begin it if nothing is active.

    Asking again changes nothing; `holdfast done` is what completes a phase.
    """
    project = options.open_project(project_dir)
    workflow = verbs.find(project, workflow_id)
    verbs.tell(registry.get(workflow.format).begin(project, workflow), as_json)
