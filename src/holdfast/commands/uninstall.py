"""`holdfast uninstall`: remove it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast import paths
from holdfast.commands.targets import named, target_options
from holdfast.install import uninstall

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Scope


@click.command("uninstall")
@target_options
@click.option("--dry-run", is_flag=True, help="Print what would change in the settings file, and do nothing else.")
@click.option("--purge", is_flag=True, help="Also delete what is known of your workflows, in all projects. Asks first.")
@click.option("--yes", is_flag=True, help="Don't ask.")
def command(
    scope: Scope, settings: Path | None, project_dir: str | None, dry_run: bool, purge: bool, yes: bool
) -> None:
    """Take Holdfast out of Claude Code's settings.json.

    A file nobody changed since the install becomes what it was before, byte for byte; from any other only Holdfast's
    own entries are removed. With the last of its settings the programs it wrote go too. Its memory of your workflows
    stays without --purge; files in your projects always stay (`holdfast forget --everything` there, before this).
    """
    target = named(scope, settings, project_dir)
    if dry_run:
        click.echo(uninstall.preview(target), nl=False)
        return
    if purge and not yes:
        click.confirm(f"Delete {paths.state_dir()}, all that is known of your workflows, for good?", abort=True)
    lines = uninstall.uninstall(target)
    lines += uninstall.purge() if purge else []
    click.echo("\n".join([*lines, *uninstall.remainder()]))
