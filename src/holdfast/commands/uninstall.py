"""`holdfast uninstall`: remove Holdfast from the settings again."""

from __future__ import annotations

from typing import Annotated

import click

from holdfast import paths
from holdfast.commands import options
from holdfast.commands.verb import DryRun, ProjectDir, Scope, SettingsFile, Yes, verb
from holdfast.install import uninstall
from holdfast.sessions import erasure


@verb("uninstall")
def command(
    *,
    scope: Scope = "user",
    settings: SettingsFile = None,
    dry_run: DryRun = False,
    purge: Annotated[bool, "Also delete what Holdfast knows of your workflows in all projects. Asks first."] = False,
    yes: Yes = False,
    project_dir: ProjectDir = None,
) -> None:
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
    target = options.target(scope, settings, project_dir)
    if dry_run:
        click.echo(uninstall.preview(target), nl=False)
        for line in uninstall.outlook(target, purging=purge):
            options.say_short(line)
        return
    if purge and not yes:
        click.confirm(
            f"Delete {paths.shown(str(paths.state_dir()))}, all that Holdfast knows of your workflows, for good?",
            abort=True,
        )
    files = erasure.workflow_files(options.open_project(project_dir, tell=False))
    lines = uninstall.uninstall(target)
    lines += uninstall.purge() if purge else []
    lines += uninstall.remainder()
    if files:
        lines += ["Your workflows in this project stay. `holdfast forget --everything` offers to delete them:"]
        lines += [f"  {each}" for each in files]
    options.say_short("\n".join(lines))
