"""The command `holdfast install`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast import demand, install, paths, scopes

if TYPE_CHECKING:
    from holdfast.scopes import Scope


@click.command("install")
@click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default="user",
    show_default=True,
    help="Whose settings: yours everywhere, the team's in this project, or yours in this project.",
)
@click.option(
    "--settings",
    type=click.Path(path_type=Path),
    help="The settings file to edit, if it is not the usual one of the scope.",
)
@click.option("--print", "printing", is_flag=True, help="Print the settings a team would get, and do nothing else.")
@click.option("--dry-run", is_flag=True, help="Print what would change in the settings file, and do nothing else.")
@click.option("--allow-cli", is_flag=True, help="Also let the model call this command unasked, and give it the skill.")
@click.option("--project", help="The project's folder; by default the one around the current folder.")
def command(
    scope: Scope, settings: Path | None, printing: bool, dry_run: bool, allow_cli: bool, project: str | None
) -> None:
    """Register Holdfast's handlers in Claude Code's settings.json.

    Only entries of Holdfast's own are added, brought up to date or removed; every other character of the file stays.
    The file as it was is backed up first, and `holdfast uninstall` puts it back.
    """
    root = paths.find_root(project, os.environ, Path.cwd())
    target = scopes.target(scope, root, settings)
    if printing:
        click.echo(demand.printed(root), nl=False)
    elif dry_run:
        click.echo(install.preview(target, allow_cli=allow_cli), nl=False)
    else:
        click.echo("\n".join(install.install(target, allow_cli=allow_cli)))
