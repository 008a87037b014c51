"""The command `holdfast uninstall`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast import paths, scopes, uninstall

if TYPE_CHECKING:
    from holdfast.scopes import Scope


@click.command("uninstall")
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
    help="The settings file that was edited, if it is not the usual one of the scope.",
)
@click.option("--project", help="The project's folder; by default the one around the current folder.")
def command(scope: Scope, settings: Path | None, project: str | None) -> None:
    """Take Holdfast out of Claude Code's settings.json.

    A file nobody changed since the install becomes what it was before, byte for byte; from any other only Holdfast's
    own entries are removed. With the last of its settings the programs it wrote go too. Its memory of your workflows
    stays.
    """
    root = paths.find_root(project, os.environ, Path.cwd())
    click.echo("\n".join(uninstall.uninstall(scopes.target(scope, root, settings))))
