"""`holdfast list`: list the workflows of all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click
from rich.table import Column, Table
from rich.text import Text

from holdfast import clock, paths
from holdfast.commands import options, terminal
from holdfast.commands.verb import Json, verb
from holdfast.sessions import archive, saving, templates
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, views
from holdfast.workflow.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.workflow.model import Workflow


@verb("list")
def command(
    project: Workspace,
    *,
    archived: Annotated[bool, "--archive", "List completed workflows, even if their files are gone."] = False,
    patterns: Annotated[bool, "--templates", "List the templates for `holdfast start`."] = False,
    as_json: Json = False,
) -> None:
    """List the workflows of all formats, the newest first.

    Files that can't be read are named on stderr.

    \b
    Example:
      holdfast list --archive
    """
    options.at_most_one({"--archive": archived, "--templates": patterns})
    if archived:
        _archive(project, as_json)
    elif patterns:
        _templates(project, as_json)
    else:
        _present(project, as_json)


def _present(project: Workspace, as_json: bool) -> None:
    if project.ledger_file.exists():
        _ = project.ledger  # opening it reports a problem, if there is one
    saving.take_over(project, options.conversation(project) or "")
    found = registry.all_found(project)
    for problem in found.problems:
        click.echo(paths.shown(f"{problem.path}: {problem.reason}"), err=True)
    if as_json:
        options.print_json([views.row(workflow) for workflow in found.workflows])
    elif found.workflows:
        _put([(each.word, each.position, _told(each)) for each in found.workflows])
    else:
        click.echo(views.NONE)


def _archive(project: Workspace, as_json: bool) -> None:
    options.insist_on_ledger(project)
    kept = archive.entries(project)
    if as_json:
        rows = [{"completed_at": each.completed_at, "worktree": each.worktree} for each in kept]
        options.print_json([views.row(each.workflow) | row for each, row in zip(kept, rows, strict=True)])
    elif kept:
        places = ["" if each.worktree == project.worktree else f", in {each.worktree}" for each in kept]
        _put(
            [
                (clock.minute(each.completed_at), each.workflow.position, _told(each.workflow, place))
                for each, place in zip(kept, places, strict=True)
            ]
        )
    else:
        click.echo("No workflow of this project has been completed yet.")


def _templates(project: Workspace, as_json: bool) -> None:
    found, problems = templates.from_files(project)
    for problem in problems:
        click.echo(paths.shown(problem), err=True)
    if as_json:
        options.print_json([templates.row(template) for template in found])
    else:
        _put([(one_line(each.name), ", ".join(map(one_line, templates.row(each)["phases"]))) for each in found])
        click.echo(
            "Each workflow is a template too, by its title. Write your own in .claude/templates/NAME.toml or "
            f"{paths.shown(str(paths.user_templates() / 'NAME.toml'))}."
        )


def _told(workflow: Workflow, place: str = "") -> str:
    phase = f" - {one_line(workflow.current_name)}" if workflow.phase else ""
    name = one_line(f"({workflow.format} {workflow.id}{place})", limit=1_000)
    return f"{one_line(workflow.title)}{phase}  {name}"


def _put(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows in columns."""
    table = Table.grid(*(Column(overflow="fold") for _ in rows[0]), padding=(0, 2, 0, 0))
    for cells in rows:
        table.add_row(*map(Text, cells))
    terminal.put_wrapped(terminal.console(), table)
