"""Add a ready-made handler of the catalogue to a handlers folder."""

from __future__ import annotations

import ast
from difflib import get_close_matches
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import click
from click.shell_completion import CompletionItem
from rich.table import Table

from holdfast import paths
from holdfast.commands import handler_registration, terminal
from holdfast.commands.verb import InProject, verb
from holdfast.errors import HoldfastError
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping


def _catalogue() -> Mapping[str, bytes]:
    """Return the handlers' sources by name."""
    return {path.stem: path.read_bytes() for path in sorted(paths.shipped("catalogue").glob("*.py"))}


def _complete(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names that begin with a text."""
    return [CompletionItem(name) for name in _catalogue() if name.startswith(incomplete)]


_Name = Annotated[str | None, {"shell_complete": _complete}]


@verb("add")
def command(project: Workspace, name: _Name = None, *, in_project: InProject = False) -> None:
    """Add a ready-made handler to your handlers folder.

    Without NAME, it lists them. The file is yours to edit: one that differs from the catalogue's is never overwritten.

    \b
    Examples:
      holdfast handlers add
      holdfast handlers add git_guard
      holdfast handlers add protected_paths --in-project
    """
    found = _catalogue()
    if name is None:
        table = Table.grid(padding=(0, 2, 0, 0))
        for each, source in found.items():
            table.add_row(each, (ast.get_docstring(ast.parse(source)) or "").splitlines()[0])
        terminal.put_wrapped(terminal.console(), table)
        click.echo("To add one: holdfast handlers add NAME")
        return
    name = name.removesuffix(".py")
    if name not in found:
        near = get_close_matches(name, found, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(found)}"
        raise HoldfastError(f"the catalogue has no handler {name!r}; {hint}")
    path = handler_registration.folder(project, in_project) / f"{name}.py"
    if path.exists():
        if path.read_bytes() != found[name]:
            raise HoldfastError(f"{path} differs from the catalogue's and stays as it is; to replace it, move it away")
        click.echo(paths.shown(f"{path} is already there, unchanged."))
        return
    handler_registration.write(project, path, found[name], trusted=in_project)
    click.echo(f"Its options stand in [options.{name}] of a holdfast.toml; the file says which there are.")
    if b".commands" in found[name] and not find_spec("tree_sitter_bash"):
        click.echo("Install holdfast[shell], or it asks about each command that isn't just plain words.")
