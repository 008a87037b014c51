"""Options that name the settings file a command works on."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from holdfast import paths
from holdfast.clients.claude import scopes
from holdfast.commands.options import project_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.clients.claude.scopes import Scope

Command = TypeVar("Command", bound="Callable[..., Any]")


def target_options(command: Command) -> Command:
    """Add `--scope`, `--settings` and `--project`; the command receives the settings file that they name as `target`.

    The command raises HoldfastError if the named folder doesn't exist.
    """

    @wraps(command)
    def with_target(*, scope: Scope, settings: Path | None, project_dir: str | None, **others: Any) -> Any:
        root = paths.find_root(project_dir, os.environ, Path.cwd())
        return command(target=scopes.target(scope, root, settings), **others)

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
    return cast("Command", scope(settings(project_option(with_target))))
