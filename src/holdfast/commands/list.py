"""`holdfast list`: list the workflows of all formats."""

from __future__ import annotations

import click

from holdfast.commands import options
from holdfast.workflow import formats, views


@click.command(name="list")
@options.json_option
@options.project_option
def command(as_json: bool, project_dir: str | None) -> None:
    """List the workflows of all formats, the newest first; files that cannot be read are named on stderr."""
    project = options.open_project(project_dir)
    found = formats.all_found(project)
    for problem in found.problems:
        click.echo(f"{problem.path}: {problem.reason}", err=True)
    if as_json:
        options.print_json([views.row(workflow) for workflow in found.workflows])
    elif found.workflows:
        options.say(views.table(found.workflows))
    else:
        click.echo(f"No workflows in {project.root}. `holdfast start TITLE` starts one.")
