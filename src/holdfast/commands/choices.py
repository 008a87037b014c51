"""The commands to choose from where one has to name a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.errors import command_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.errors import ChoiceError

_METAVAR = "WORKFLOW"  # of arguments and options that take a workflow


def lines(error: ChoiceError, program: click.Command, arguments: Sequence[str]) -> Iterator[str]:
    """Yield a line for each workflow: what it is, and the command that was typed with its name, ready to copy.

    Args:
        error: what can be named.
        program: the `holdfast` command.
        arguments: what was typed after `holdfast`.
    """
    resumed = error.paused and arguments[:1] in (["next"], ["done"], ["update"])
    width = max((len(label) for _, label in error.choices), default=0)
    for name, label in error.choices:
        words = ["claim", name] if resumed else _named(program, arguments, name, error.wanted)
        yield f"  {label:<{width}}  {command_line(*words)}"
    if error.more:
        yield f"  and {error.more} more: holdfast status"


def _named(program: click.Command, arguments: Sequence[str], name: str, wanted: str | None) -> list[str]:
    """Return the arguments with a workflow's name in place of the wanted one or, if none was named, added."""
    if wanted is not None and wanted in arguments:
        last = len(arguments) - 1 - list(reversed(arguments)).index(wanted)
        return [*arguments[:last], name, *arguments[last + 1 :]]
    if wanted is not None:
        return [name if each == wanted else each.replace(f"={wanted}", f"={name}") for each in arguments]
    return [*arguments, *_option(program, arguments), name]


def _option(program: click.Command, arguments: Sequence[str]) -> list[str]:
    """Return the option that takes a workflow, if the command has one; none if its last argument is the workflow."""
    command, context = program, click.Context(program)
    for word in arguments:
        if isinstance(command, click.Group) and (found := command.get_command(context, word)):
            command = found
    options = [each for each in command.params if isinstance(each, click.Option)]
    return next((each.opts[:1] for each in options if each.metavar == _METAVAR), [])
