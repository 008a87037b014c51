"""`holdfast skills machines|trust`: which state machines there are, and which of the project's you trust."""

from __future__ import annotations

import sys

import click

from holdfast import trust as trusting
from holdfast.commands import options
from holdfast.errors import HoldfastError, StateError
from holdfast.formats.skills import library
from holdfast.workflow import wording

_ROW_LIMIT_CHARS = 8_000  # of phases and a path


@click.command()
@options.json_option
@options.project_option
def machines(as_json: bool, project_dir: str | None) -> None:
    """List the machines: yours, the project's and the shipped ones.

    If several have the same name, the first one is used.

    \b
    Example:
      holdfast skills machines
    """
    project = options.open_project(project_dir)
    found = library.listed(project.root)
    if as_json:
        rows = [
            {
                "skill": each.name,
                "path": str(each.path),
                "used": each.machine is not None,
                "reason": each.reason,
                "phases": [stage.name for stage in each.machine.stages] if each.machine else [],
            }
            for each in found
        ]
        options.print_json(rows)
        return
    lines = [_row(each) for each in found]
    lines.append(f"Your own are files: {library.user_folder() / 'NAME.toml'}.")
    options.say("\n".join(lines))


@click.command()
@click.argument("skill")
@click.option("--yes", is_flag=True, help="Don't ask.")
@options.project_option
def trust(skill: str, yes: bool, project_dir: str | None) -> None:
    """Trust the project's machine for SKILL.

    This is for people. Trust holds for exactly the content that the file has now.

    \b
    Example:
      holdfast skills trust release
    """
    project = options.open_project(project_dir)
    path = library.project_folder(project.root) / f"{skill}.toml"
    if path.parent != library.project_folder(project.root) or not path.is_file():
        raise HoldfastError(f"{project.root} has no machine {skill!r}; it would be {path}")
    try:
        raw = library.content(project.root, path)
    except StateError as error:
        raise HoldfastError(str(error)) from error
    options.say(raw.decode("utf-8", "replace"))
    if not yes and not sys.stdin.isatty():
        raise HoldfastError("there is no terminal to ask on; read the file, then add --yes")
    if not yes and not click.confirm(f"Trust {path}?"):
        raise HoldfastError("nothing was trusted")
    trusting.grant(project.root, {trusting.relative_name(project.root, path): trusting.digest(raw)}, [raw])
    click.echo(f"Trusted: {path}. If its content changes, trust it again.")


def _row(found: library.Listed) -> str:
    """Return a machine on one line, whatever the name of its file is."""
    used = " → ".join(stage.name for stage in found.machine.stages) if found.machine else f"not used: {found.reason}"
    said = wording.one_line(f"{used}  ({found.path})", _ROW_LIMIT_CHARS)
    return f"{wording.one_line(found.name):<10} {said}"


COMMANDS = (machines, trust)
