"""Run a tool's command line, with the same errors and exit codes as `holdfast`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from holdfast.errors import HoldfastError
from holdfast.process import reset_signals
from holdfast.process.terminal_text import guarded

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(command: click.Command, tool: str, arguments: Sequence[str] | None) -> None:
    """Run a tool and end the process: exit code 1 and a sentence for an error, 2 for wrong usage.

    Args:
        command: the tool's command.
        tool: its folder in `tools/`.
        arguments: the command line; None for the process's own.
    """
    reset_signals()
    with guarded():
        try:
            command(args=arguments, prog_name=f"python -m tools.{tool}")
        except (HoldfastError, OSError) as error:
            click.echo(f"tools.{tool}: {error}", err=True)
            sys.exit(1)
