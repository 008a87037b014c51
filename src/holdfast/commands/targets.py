"""Options that name the settings file a command works on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from holdfast import paths
from holdfast.clients.claude import scopes
from holdfast.commands.options import project_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.clients.claude.scopes import Scope, Target

Command = TypeVar("Command", bound="Callable[..., Any]")


def target_options(command: Command) -> Command:
    """Add `--scope`, `--settings` and `--project`."""
    scope = click.option(
        "--scope",
        type=click.Choice(["user", "project", "local"]),
        default="user",
        show_default=True,
        help="Whose settings: yours everywhere, the team's here, or yours here.",
    )
    settings = click.option(
        "--settings",
        metavar="PATH",
        type=click.Path(path_type=Path),
        help="Another settings file than the usual one of the scope.",
    )
    return scope(settings(project_option(command)))


def of_options(scope: Scope, settings: Path | None, project_dir: str | None) -> Target:
    """Return the settings file that these options name. Raises HoldfastError if the named folder doesn't exist."""
    return scopes.target(scope, paths.find_root(project_dir, os.environ, Path.cwd()), settings)
