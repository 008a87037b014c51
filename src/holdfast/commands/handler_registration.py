"""Write handler files, and register the events that handlers want after which of them run has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast import paths
from holdfast.clients.claude import claude
from holdfast.commands import options
from holdfast.errors import StateError, because
from holdfast.install import inspection, upkeep
from holdfast.plugins import discovery, strict_memory

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace


def folder(project: Workspace, in_project: bool) -> Path:
    """Return the folder that a new handler is written to."""
    return paths.project_handlers(project.root) if in_project else paths.user_handlers()


def write(project: Workspace, path: Path, source: bytes, *, trusted: bool) -> None:
    """Write a new handler file and register what it wants, and say so.

    Args:
        project: the project.
        path: the file; nothing is there.
        source: its content.
        trusted: whether it is the project's, and so has to be trusted.

    Raises:
        StateError: the file can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source)
    except OSError as error:
        raise StateError(
            path if path.parent.is_dir() else path.parent, f"can't be created: {because(error)}"
        ) from error
    if trusted:
        strict_memory.trust_files(claude, project.root, {path: source})
    click.echo(paths.shown(f"Wrote {path}."))
    refresh(options.reopen(project))


def refresh(project: Workspace) -> None:
    """Register what the handlers want now, and print what changed or why nothing runs."""
    for line in upkeep.keep_registered(project):
        click.echo(paths.shown(line))
    for event, why in inspection.withheld(project, discovery.find(claude, project)).items():
        click.echo(f"{event} is not registered: {why}")
    if not paths.launcher().exists():
        click.echo("Nothing runs yet, because Holdfast isn't registered. Run holdfast install.")
