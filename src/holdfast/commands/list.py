"""`holdfast list`: list the workflows of all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.survival import archive
from holdfast.workflow import formats, templates, views

if TYPE_CHECKING:
    from holdfast.project import Project


@click.command(name="list")
@click.option("--archive", "archived", is_flag=True, help="List the completed workflows whose files have given way.")
@click.option("--templates", "patterns", is_flag=True, help="List what start --template takes.")
@options.json_option
@options.project_option
def command(archived: bool, patterns: bool, as_json: bool, project_dir: str | None) -> None:
    """List the workflows of all formats, the newest first; files that cannot be read are named on stderr."""
    project = options.open_project(project_dir)
    if archived and patterns:
        raise click.UsageError("--archive and --templates are two different lists; give one of them")
    if archived:
        _archive(project, as_json)
    elif patterns:
        _templates(project, as_json)
    else:
        _present(project, as_json)


def _present(project: Project, as_json: bool) -> None:
    found = formats.all_found(project)
    for problem in found.problems:
        click.echo(f"{problem.path}: {problem.reason}", err=True)
    if as_json:
        options.print_json([views.row(workflow) for workflow in found.workflows])
    elif found.workflows:
        options.say(views.table(found.workflows))
    else:
        click.echo(f"No workflows in {project.root}. `holdfast start TITLE` starts one.")


def _archive(project: Project, as_json: bool) -> None:
    kept = archive.kept(project)
    if as_json:
        rows = [{"completed_at": each.completed_at, "worktree": each.worktree} for each in kept]
        options.print_json([views.row(each.workflow) | row for each, row in zip(kept, rows, strict=True)])
    elif kept:
        options.say("\n".join(f"{each.completed_at[:16]}Z  {views.table((each.workflow,))}" for each in kept))
    else:
        click.echo(f"No workflow of {project.root} has been completed yet.")


def _templates(project: Project, as_json: bool) -> None:
    found, problems = templates.from_files(project)
    for problem in problems:
        click.echo(problem, err=True)
    if as_json:
        options.print_json([templates.row(template) for template in found])
    else:
        options.say("\n".join(f"{each.name:<16} {' → '.join(templates.row(each)['phases'])}" for each in found))
        click.echo("Every workflow is one too: name its id or title. Your own are files: see the README.")
