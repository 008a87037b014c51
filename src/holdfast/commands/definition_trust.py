"""What the commands share that trust a project's definition: a machine, or a format without code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from holdfast import formats
from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.files import trust
from holdfast.process.terminal_text import printable
from holdfast.workflow import definitions

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace


def grant(project: Workspace, name: str, *, yes: bool, as_json: bool = False) -> None:
    """Show a project's definition, ask, and trust exactly the content that was shown.

    Args:
        project: the project.
        name: a format's name, or that of another definition after its kind: `machines/release`.
        yes: don't ask.
        as_json: print what was trusted as JSON, and show the definition on stderr.

    Raises:
        HoldfastError: there is no such file, it can't be read, or nobody agreed.
    """
    kind, slash, last = name.partition("/")
    kind, name = (kind, last) if slash and kind in formats.definition_kinds() else (formats.DESCRIPTIONS, name)
    folder = definitions.project_folder(project.root, kind)
    path = folder / f"{name}.toml"
    if path.parent != folder or not path.is_file():
        raise HoldfastError(f"{project.root} has no {kind.removesuffix('s')} {name!r}; it would be {path}")
    raw = definitions.content(project.root, path)
    for line in raw.decode(errors="backslashreplace").splitlines():
        click.echo(printable(line), err=as_json)  # click would remove control characters; here you must see them
    ask(f"Trust {path}?", yes=yes, on_stderr=as_json)
    trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(raw)}, [raw])
    if as_json:
        options.print_json({"name": name, "path": str(path), "trusted": True})
    else:
        options.say(f"Trusted: {path}. If its content changes, trust it again.")


def ask(question: str, *, yes: bool, on_stderr: bool = False) -> None:
    """Ask whether to trust what was shown, unless `yes` says so. Raises HoldfastError if nobody agrees."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise HoldfastError("there is no terminal to ask on; read what you would trust, then add --yes")
    if not click.confirm(question, err=on_stderr):
        raise HoldfastError("nothing was trusted")
