"""`holdfast next`: print the next step, and begin it."""

from __future__ import annotations

import click

from holdfast.commands import options
from holdfast.commands import verbs as shared
from holdfast.workflow import verbs


@click.command(name="next")
@options.workflow_argument
@options.json_option
@options.project_option
def command(workflow_id: str | None, as_json: bool, project_dir: str | None) -> None:
    """Print the next step with its agent and what the last one handed over. Begin it if nothing is active.

    Run it as often as you like. Only `holdfast done` completes a phase.

    \b
    Examples:
      holdfast next
      holdfast next payments
    """
    project = options.open_project(project_dir)
    workflow = shared.find(project, workflow_id)
    shared.tell(verbs.begin(project, workflow), as_json)
