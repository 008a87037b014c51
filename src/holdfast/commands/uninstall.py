"""`holdfast uninstall`: remove Holdfast from the settings again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast import paths
from holdfast.commands.targets import target_options
from holdfast.install import uninstall

if TYPE_CHECKING:
    from holdfast.clients.claude.scopes import Target


@click.command("uninstall")
@target_options
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option(
    "--purge", is_flag=True, help="Also delete what Holdfast knows of your workflows in all projects. Asks first."
)
@click.option("--yes", is_flag=True, help="Don't ask.")
def command(target: Target, dry_run: bool, purge: bool, yes: bool) -> None:
    """Remove Holdfast from Claude Code's settings.json.

    Only Holdfast's own entries are removed. A file that nobody else changed since the install becomes what it was
    before, byte for byte. With the last settings file, the programs that Holdfast wrote go too.

    What Holdfast knows of your workflows stays, unless you give --purge. Files in your projects always stay. Before you
    uninstall, `holdfast forget --everything` removes them there.

    \b
    Examples:
      holdfast uninstall --dry-run
      holdfast uninstall --purge
    """
    if dry_run:
        click.echo(uninstall.preview(target), nl=False)
        for line in uninstall.outlook(target, purging=purge):
            click.echo(paths.shown(line))
        return
    if purge and not yes:
        click.confirm(
            f"Delete {paths.shown(str(paths.state_dir()))}, all that Holdfast knows of your workflows, for good?",
            abort=True,
        )
    lines = uninstall.uninstall(target)
    lines += uninstall.purge() if purge else []
    click.echo(paths.shown("\n".join([*lines, *uninstall.remainder()])))
