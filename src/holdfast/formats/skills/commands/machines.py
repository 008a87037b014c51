"""`holdfast skills machines|trust`: which state machines there are, and which of the project's you trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast import paths
from holdfast.commands import definition_trust, options
from holdfast.formats.skills import library
from holdfast.workflow import definitions, wording

if TYPE_CHECKING:
    from holdfast.formats.skills.machine import Machine

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
    found = library.MACHINES.listed(project.root)
    if as_json:
        rows = [
            {
                "skill": each.name,
                "path": str(each.path),
                "used": each.value is not None,
                "reason": each.reason,
                "phases": [stage.name for stage in each.value.stages] if each.value else [],
            }
            for each in found
        ]
        options.print_json(rows)
        return
    lines = [_row(each) for each in found]
    lines.append(f"Your own are files: {definitions.user_folder(library.KIND) / 'NAME.toml'}.")
    options.say(paths.shown("\n".join(lines)))


@click.command()
@click.argument("skill")
@options.yes_option
@options.json_option
@options.project_option
def trust(skill: str, yes: bool, as_json: bool, project_dir: str | None) -> None:
    """Trust the project's machine for SKILL.

    This is for people. Trust holds for exactly the content that the file has now.

    \b
    Example:
      holdfast skills trust release
    """
    definition_trust.grant(options.open_project(project_dir), library.KIND, skill, yes=yes, as_json=as_json)


def _row(found: definitions.Listed[Machine]) -> str:
    """Return a machine on one line, whatever the name of its file is."""
    reason = found.reason.removeprefix(f"{found.path}: ")
    used = " → ".join(stage.name for stage in found.value.stages) if found.value else f"not used: {reason}"
    said = wording.one_line(f"{used}  ({found.path})", _ROW_LIMIT_CHARS)
    return f"{wording.one_line(found.name):<10} {said}"


COMMANDS = (machines, trust)
