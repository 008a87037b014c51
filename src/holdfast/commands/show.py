"""`holdfast show`: show one workflow."""

from __future__ import annotations

import click

from holdfast.commands import options
from holdfast.survival import selection
from holdfast.workflow import views


@click.command(name="show")
@options.workflow_argument
@options.json_option
@options.project_option
def command(workflow_id: str | None, as_json: bool, project_dir: str | None) -> None:
    """Show one workflow: phases, reading, reminders, context."""
    project = options.open_project(project_dir)
    workflow = selection.select(project, workflow_id, options.session())
    if as_json:
        options.print_json(views.whole(workflow))
    else:
        options.say(views.text(workflow))
