"""Register the events that handlers want, after which of them run has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast import paths
from holdfast.clients import claude
from holdfast.install import inspection, upkeep
from holdfast.plugins import discovery

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace


def refresh(project: Workspace) -> None:
    """Register what the handlers want now, and print what changed or why nothing runs."""
    for line in upkeep.keep_registered(project):
        click.echo(paths.shown(line))
    for event, why in inspection.withheld(project, discovery.find(claude, project)).items():
        click.echo(f"{event} is {why}")
    if not paths.launcher().exists():
        click.echo("Nothing runs yet, because Holdfast isn't registered. Run holdfast install.")
