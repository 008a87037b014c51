"""`holdfast uninstall`: remove it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands.targets import named, target_options
from holdfast.install import uninstall

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Scope


@click.command("uninstall")
@target_options
def command(scope: Scope, settings: Path | None, project_dir: str | None) -> None:
    """Take Holdfast out of Claude Code's settings.json.

    A file nobody changed since the install becomes what it was before, byte for byte; from any other only Holdfast's
    own entries are removed. With the last of its settings the programs it wrote go too. Its memory of your workflows
    stays.
    """
    click.echo("\n".join(uninstall.uninstall(named(scope, settings, project_dir))))
